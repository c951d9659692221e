// SPDX-License-Identifier: BSD-3-Clause
//
// The rank's own thread waits, outside of MPI, for a thread of the rank that is in MPI and waits for a
// thread of the next rank. Where ranks share a worker, all of them do so on one thread of the system.
//
// join: in pthread_join. mutex, cond, barrier: in what POSIX has. spin: it looks at a variable. yield:
// it looks, and calls sched_yield. computes: it works on, and calls MPI now and then. mixed: each rank
// another way. deep: it waits in a function that a function of MPI has called. variables: what threads
// keep for themselves stays theirs, in functions that MPI calls, too.

#define _GNU_SOURCE // beyond C11: barriers of threads

#include <sched.h>
#include <stdatomic.h>

#include "threads.h"

#define WORLD MPI_COMM_WORLD

enum { ROUNDS = 20 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_barrier_t both;
    _Atomic int done;
} with[64]; // by rank: where ranks share their variables, these are shared, too

static _Thread_local int mine;

// The token goes round, from thread to thread.
static void turn(const team *of, int index)
{
    int right = (of->rank + 1) % of->size, left = (of->rank + of->size - 1) % of->size;
    for (int i = 0; i < ROUNDS; i++) {
        int value = -1, sent = i + index;
        CHECK_OK(MPI_Sendrecv(&sent, 1, MPI_INT, right, index, &value, 1, MPI_INT, left, index,
                              WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(value, sent);
    }
}

static void only_turns(team *of, int index)
{
    turn(of, index);
}

static void sets(team *of, int index)
{
    turn(of, index);
    with[of->rank].done = 1;
}

static void holds_lock(team *of, int index)
{
    pthread_mutex_lock(&with[of->rank].lock);
    with[of->rank].done = 1;
    turn(of, index);
    pthread_mutex_unlock(&with[of->rank].lock);
}

static void signals(team *of, int index)
{
    turn(of, index);
    pthread_mutex_lock(&with[of->rank].lock);
    with[of->rank].done = 1;
    pthread_cond_signal(&with[of->rank].changed);
    pthread_mutex_unlock(&with[of->rank].lock);
}

static void meets(team *of, int index)
{
    turn(of, index);
    pthread_barrier_wait(&with[of->rank].both);
}

static void until_done(const team *of, void (*meanwhile)(void))
{
    while (!with[of->rank].done)
        if (meanwhile)
            meanwhile();
}

static void yields(void)
{
    sched_yield();
}

static void computes(void)
{
    volatile double sum = 0;
    int flag;
    for (int i = 0; i < 100000; i++)
        sum = sum + (double)i / 3;
    CHECK(sum > 0);
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, 4711, WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

static void wait_by(const char *way)
{
    team t = {.rank = world_rank()};
    int me = t.rank;
    with[me].done = 0;
    CHECK(pthread_mutex_init(&with[me].lock, NULL) == 0);
    CHECK(pthread_cond_init(&with[me].changed, NULL) == 0);
    CHECK(pthread_barrier_init(&with[me].both, NULL, 2) == 0);
    t.work = strcmp(way, "join") == 0      ? only_turns
             : strcmp(way, "mutex") == 0   ? holds_lock
             : strcmp(way, "cond") == 0    ? signals
             : strcmp(way, "barrier") == 0 ? meets
                                           : sets;
    team_start(&t, 1);
    if (t.work == holds_lock) {
        until_done(&t, NULL);
        pthread_mutex_lock(&with[me].lock);
        pthread_mutex_unlock(&with[me].lock);
    } else if (t.work == signals) {
        pthread_mutex_lock(&with[me].lock);
        while (!with[me].done)
            pthread_cond_wait(&with[me].changed, &with[me].lock);
        pthread_mutex_unlock(&with[me].lock);
    } else if (t.work == meets) {
        pthread_barrier_wait(&with[me].both);
    } else if (t.work == sets) {
        until_done(&t, strcmp(way, "yield") == 0      ? yields
                       : strcmp(way, "computes") == 0 ? computes
                                                      : NULL);
    }
    team_join(&t);
    pthread_barrier_destroy(&with[me].both);
    pthread_cond_destroy(&with[me].changed);
    pthread_mutex_destroy(&with[me].lock);
}

static void mixed(void)
{
    static const char *const ways[] = {"join", "mutex", "cond",    "barrier",
                                       "spin", "yield", "computes"};
    enum { WAYS = sizeof ways / sizeof *ways };
    for (int i = 0; i < WAYS; i++)
        wait_by(ways[(i + world_rank()) % WAYS]);
}

// ---- functions that MPI calls

static int copies(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)in;
    *(void **)out = extra;
    *flag = 1;
    wait_by("cond");
    return MPI_SUCCESS;
}

static void deep(void)
{
    int key, value = 7;
    MPI_Comm dup;
    CHECK_OK(MPI_Comm_create_keyval(copies, MPI_COMM_NULL_DELETE_FN, &key, &value));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &value));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &dup));
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    CHECK_OK(MPI_Comm_free_keyval(&key));
}

static void looks(MPI_Comm *comm, int *code, ...)
{
    int rank = world_rank();
    (void)comm, (void)code;
    CHECK_INT(mine / 100, rank);
    mine++;
}

static void knows_its_own(team *of, int index)
{
    MPI_Request request;
    int value, before;
    mine = before = of->rank * 100 + index * 10;
    for (int i = 0; i < 5; i++) {
        CHECK(MPI_Irecv(&value, -1, MPI_INT, 0, 0, WORLD, &request) != MPI_SUCCESS);
        turn(of, 10 + index);
        CHECK_INT(mine, before + i + 1);
    }
}

static void variables(void)
{
    team t = {.work = knows_its_own};
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_create_errhandler(looks, &handler));
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, handler));
    mine = -1;
    team_start(&t, 3);
    team_join(&t);
    CHECK_INT(mine, -1);
    CHECK_OK(MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL));
    CHECK_OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    init_level(MPI_THREAD_MULTIPLE);
    CHECK(world_size() <= (int)(sizeof with / sizeof *with));
    if (strcmp(argv[1], "mixed") == 0)
        mixed();
    else if (strcmp(argv[1], "deep") == 0)
        deep();
    else if (strcmp(argv[1], "variables") == 0)
        variables();
    else
        for (int i = 0; i < 5; i++)
            wait_by(argv[1]);
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
