// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_T and threads. With MPI_THREAD_MULTIPLE several threads of a rank use it at once, each with its
// session, while others send; callbacks come one at a time. A thread that may not call MPI is told
// that the rank's counts are not accessible.

#include <pthread.h>

#include "check.h"

enum { THREADS = 3, ROUNDS = 200 };

typedef struct shared {
    int rank, size, code, calls, inside, most_inside;
    MPI_Comm comm[THREADS];
} shared;

typedef struct job {
    shared *all;
    int number;
} job;

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void *user_data)
{
    shared *all = user_data;
    int source;
    // Plain variables: only one thread at a time is here, and the last one's writes are seen.
    int inside = ++all->inside;
    all->most_inside = inside > all->most_inside ? inside : all->most_inside;
    CHECK_INT(MPI_T_event_get_source(instance, &source), MPI_SUCCESS);
    all->calls++;
    all->inside--;
    (void)registration, (void)safety;
}

static void *count(void *arg)
{
    const job *j = arg;
    shared *all = j->all;
    MPI_Comm comm = all->comm[j->number];
    MPI_T_pvar_session s;
    MPI_T_pvar_handle h, bytes;
    unsigned long long sent = 0, sum = 0;
    int i, n, x = 1, y;
    CHECK_INT(MPI_T_pvar_session_create(&s), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_get_index("comm_sent", MPI_T_PVAR_CLASS_COUNTER, &i), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, &comm, &h, &n), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_get_index("comm_sent_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &i), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_handle_alloc(s, i, &comm, &bytes, &n), MPI_SUCCESS);
    CHECK_INT(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
    int to = (all->rank + 1) % all->size, from = (all->rank + all->size - 1) % all->size;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(
            MPI_Sendrecv(&x, 1, MPI_INT, to, 1, &y, 1, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE));
        CHECK_INT(MPI_T_pvar_read(s, h, &sent), MPI_SUCCESS);
        CHECK_INT(sent, round + 1);
    }
    CHECK_INT(MPI_T_pvar_read(s, bytes, &sum), MPI_SUCCESS);
    CHECK_INT(sum, ROUNDS * sizeof(int));
    CHECK_INT(MPI_T_pvar_session_free(&s), MPI_SUCCESS);
    return NULL;
}

static void check_multiple(shared *all)
{
    pthread_t threads[THREADS];
    job jobs[THREADS];
    MPI_T_event_registration r;
    int i, provided = -1;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    CHECK_INT(MPI_T_event_get_index("rank_parked", &i), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_handle_alloc(i, NULL, MPI_INFO_NULL, &r), MPI_SUCCESS);
    CHECK_INT(MPI_T_event_register_callback(r, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, all, on_event),
              MPI_SUCCESS);
    for (i = 0; i < THREADS; i++) {
        jobs[i] = (job){all, i};
        CHECK_INT(pthread_create(&threads[i], NULL, count, &jobs[i]), 0);
    }
    for (i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(MPI_T_event_handle_free(r, NULL, NULL), MPI_SUCCESS);
    CHECK(all->most_inside <= 1 && all->inside == 0);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
}

static void *ask(void *arg)
{
    int n = -1;
    *(int *)arg = MPI_T_pvar_get_num(&n);
    return NULL;
}

static void *begin(void *arg)
{
    int provided = -1;
    *(int *)arg = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    return NULL;
}

static int in_thread(void *(*function)(void *))
{
    int code = -1;
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, function, &code), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    return code;
}

static void check_kept_out(void)
{
    int provided = -1;
    CHECK_INT(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
    CHECK_INT(provided, MPI_THREAD_FUNNELED);
    CHECK_INT(in_thread(ask), MPI_T_ERR_NOT_ACCESSIBLE);
    CHECK_INT(in_thread(begin), MPI_T_ERR_CANNOT_INIT);
    CHECK_INT(MPI_T_finalize(), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    shared all = {.rank = -1};
    int provided = -1;
    CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    all.rank = world_rank();
    all.size = world_size();
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &all.comm[i]));
    if (provided == MPI_THREAD_MULTIPLE)
        check_multiple(&all);
    else
        check_kept_out();
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_free(&all.comm[i]));
    CHECK_OK(MPI_Finalize());
    return 0;
}
