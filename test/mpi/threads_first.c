// SPDX-License-Identifier: BSD-3-Clause
//
// Before and while MPI begins: with `sessions`, threads open the process's first sessions at once;
// with `anytime`, threads make the calls that are always allowed, while another one runs MPI from
// MPI_Init_thread to MPI_Finalize. Needs threads before there is a rank, so that each has its own
// process.

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "threads.h"

enum { THREADS = 4, ROUNDS = 50 };

typedef struct shared {
    pthread_barrier_t all;
    _Atomic bool stop;
    _Atomic int begun;
} shared;

static void *in_session(void *arg)
{
    shared *s = arg;
    MPI_Info info;
    MPI_Session session;
    MPI_Group group;
    char level[32];
    int room = sizeof level, flag = 0, size = 0;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    pthread_barrier_wait(&s->all);
    CHECK_OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Session_get_info(session, &info));
    CHECK_OK(MPI_Info_get_string(info, "thread_level", &room, level, &flag));
    CHECK(flag && strcmp(level, "MPI_THREAD_MULTIPLE") == 0);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    CHECK_OK(MPI_Group_size(group, &size));
    CHECK_INT(size, 1);
    CHECK_OK(MPI_Group_free(&group));
    pthread_barrier_wait(&s->all); // the first one's thread ends no sooner than all have begun
    CHECK_OK(MPI_Session_finalize(&session));
    return NULL;
}

static void *at_any_time(void *arg)
{
    shared *s = arg;
    int was_inited = 0, was_finalized = 0, inited, finalized, class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Info info;
    atomic_fetch_add(&s->begun, 1);
    while (!atomic_load(&s->stop)) {
        CHECK_OK(MPI_Finalized(&finalized));
        CHECK_OK(MPI_Initialized(&inited));
        CHECK(inited >= was_inited && finalized >= was_finalized && inited >= finalized);
        was_inited = inited;
        was_finalized = finalized;
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, "key", "value"));
        CHECK_OK(MPI_Info_free(&info));
        CHECK_OK(MPI_Add_error_class(&class));
        CHECK_OK(MPI_Add_error_string(class, "mine"));
        CHECK_OK(MPI_Error_string(class, text, &length));
        CHECK(strcmp(text, "mine") == 0);
        CHECK_OK(MPI_Remove_error_string(class));
        CHECK_OK(MPI_Remove_error_class(class));
    }
    return NULL;
}

static void run_mpi(shared *s)
{
    while (atomic_load(&s->begun) < THREADS)
        usleep(1000);
    init_level(MPI_THREAD_MULTIPLE);
    int rank = world_rank(), got = -1;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_OK(MPI_Sendrecv(&i, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
        CHECK_INT(got, i);
    }
    CHECK_OK(MPI_Finalize());
    usleep(10000);
    atomic_store(&s->stop, true);
}

int main(int argc, char **argv)
{
    bool sessions = argc > 1 && strcmp(argv[1], "sessions") == 0;
    shared s = {.stop = false};
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&s.all, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, sessions ? in_session : at_any_time, &s) == 0);
    if (!sessions)
        run_mpi(&s);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
