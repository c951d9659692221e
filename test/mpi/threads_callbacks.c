// SPDX-License-Identifier: BSD-3-Clause
//
// A function of the user's waits for a lock of the program's, which another thread of the rank
// holds while it calls MPI: the functions of generalized requests, attributes, error handlers and
// operations.

#include <semaphore.h>
#include <stdbool.h>

#include "threads.h"

typedef struct shared {
    pthread_mutex_t lock;
    sem_t held;   // the other thread has the lock
    sem_t called; // a function of the user's wants it
    int calls, key;
    MPI_Request request;
} shared;

static void want_lock(shared *s)
{
    CHECK(sem_post(&s->called) == 0);
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    s->calls++;
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
}

static int on_query(void *extra, MPI_Status *status)
{
    want_lock(extra);
    CHECK_OK(MPI_Status_set_elements(status, MPI_INT, 7));
    CHECK_OK(MPI_Status_set_cancelled(status, 0));
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int on_free(void *extra)
{
    want_lock(extra);
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    CHECK_INT(complete, 0);
    want_lock(extra);
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    CHECK(comm != MPI_COMM_NULL && key == ((shared *)extra)->key);
    want_lock(extra);
    *flag = 1;
    *(void **)out = in;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    CHECK(comm != MPI_COMM_NULL && key == ((shared *)extra)->key && value == extra);
    want_lock(extra);
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int flag = 0, key;
    shared *s = NULL;
    char text[MPI_MAX_ERROR_STRING];
    CHECK_OK(MPI_Error_string(*code, text, &key));
    CHECK(sscanf(strstr(text, "tag is -"), "tag is -%d", &key) == 1);
    CHECK_OK(MPI_Comm_get_attr(*comm, key, &s, &flag));
    CHECK(flag);
    want_lock(s);
}

// The address of what is shared is the data.
static void on_reduce(void *in, void *inout, int *len, MPI_Datatype *type)
{
    CHECK(*len == 1 && *type == MPI_AINT);
    want_lock((shared *)*(MPI_Aint *)in);
    ++*(MPI_Aint *)inout;
}

// What the other thread does: a call of MPI with the lock held, while a function waits for it.
static void hold(team *t, int index)
{
    shared *s = t->data;
    int rank = -1;
    CHECK_INT(index, 0);
    CHECK(pthread_mutex_lock(&s->lock) == 0);
    CHECK(sem_post(&s->held) == 0);
    CHECK(sem_wait(&s->called) == 0);
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_INT(rank, t->rank);
    CHECK(pthread_mutex_unlock(&s->lock) == 0);
}

static void begin(team *t, shared *s)
{
    *t = (team){.work = hold, .data = s};
    team_start(t, 1);
    CHECK(sem_wait(&s->held) == 0);
}

// Every function was called once more, and nobody waits.
static void end(team *t, shared *s, int calls)
{
    team_join(t);
    CHECK_INT(s->calls, calls);
    while (sem_trywait(&s->called) == 0)
        ;
    s->calls = 0;
}

static void generalized(shared *s)
{
    team t;
    MPI_Status status;
    CHECK_OK(MPI_Grequest_start(on_query, on_free, on_cancel, s, &s->request));
    begin(&t, s);
    CHECK_OK(MPI_Cancel(&s->request));
    end(&t, s, 1);
    CHECK_OK(MPI_Grequest_complete(s->request));
    begin(&t, s);
    CHECK_OK(MPI_Wait(&s->request, &status));
    end(&t, s, 2);
    CHECK(s->request == MPI_REQUEST_NULL);
    CHECK_INT(status.MPI_SOURCE, 3);
    CHECK_OK(MPI_Grequest_start(on_query, on_free, on_cancel, s, &s->request));
    MPI_Request handle = s->request;
    CHECK_OK(MPI_Request_free(&s->request));
    begin(&t, s);
    CHECK_OK(MPI_Grequest_complete(handle)); // frees it
    end(&t, s, 1);
}

static void attributes(shared *s)
{
    team t;
    MPI_Comm comm, copy;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Comm_create_keyval(on_copy, on_delete, &s->key, s));
    CHECK_OK(MPI_Comm_set_attr(comm, s->key, s));
    begin(&t, s);
    CHECK_OK(MPI_Comm_dup(comm, &copy));
    end(&t, s, 1);
    begin(&t, s);
    CHECK_OK(MPI_Comm_free(&copy));
    end(&t, s, 1);
    begin(&t, s);
    CHECK_OK(MPI_Comm_delete_attr(comm, s->key));
    end(&t, s, 1);
    CHECK_OK(MPI_Comm_free_keyval(&s->key));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void errors(shared *s)
{
    team t;
    MPI_Comm comm;
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(comm, handler));
    CHECK_OK(MPI_Errhandler_free(&handler));
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &s->key, NULL));
    CHECK_OK(MPI_Comm_set_attr(comm, s->key, s));
    begin(&t, s);
    int code = MPI_Send(NULL, 0, MPI_INT, 0, -s->key, comm), class = MPI_SUCCESS;
    end(&t, s, 1);
    CHECK_OK(MPI_Error_class(code, &class));
    CHECK_INT(class, MPI_ERR_TAG);
    CHECK_OK(MPI_Comm_free_keyval(&s->key));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void reductions(shared *s)
{
    team t;
    MPI_Op op;
    MPI_Aint in = (MPI_Aint)s, out = 7;
    CHECK_OK(MPI_Op_create(on_reduce, 1, &op));
    begin(&t, s);
    CHECK_OK(MPI_Reduce_local(&in, &out, 1, MPI_AINT, op));
    end(&t, s, 1);
    CHECK(out == 8);
    CHECK_OK(MPI_Op_free(&op));
}

int main(void)
{
    shared s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    init_level(MPI_THREAD_MULTIPLE);
    CHECK(sem_init(&s.held, 0, 0) == 0 && sem_init(&s.called, 0, 0) == 0);
    for (int i = 0; i < 3; i++) {
        generalized(&s);
        attributes(&s);
        errors(&s);
        reductions(&s);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
