// SPDX-License-Identifier: BSD-3-Clause
// Processes and threads. A rank that is alone in its worker and has processes gets
// MPI_THREAD_FUNNELED at most, and one that begins with them later keeps its threads out of MPI from
// then on (those that `called` before, too); one that has MPI_THREAD_MULTIPLE gets no processes. Ranks
// that `share` a worker have both at once. A thread of the program has no processes.
#include <millet/csp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "check.h"

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void *makes(void *arg)
{
    (void)arg;
    csp_chan_new("of a thread", 4);
    return NULL;
}

typedef struct visitor {
    bool calls_before;
    _Atomic bool there, goes_on;
} visitor;

static void *visits(void *arg)
{
    visitor *my = arg;
    int size;
    if (my->calls_before)
        CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    my->there = true;
    while (!my->goes_on)
        sched_yield();
    MPI_Barrier(MPI_COMM_SELF);
    return NULL;
}

// A thread that may call MPI, until its rank has processes.
static void begins_late(bool calls_before)
{
    int provided;
    visitor v = {.calls_before = calls_before};
    pthread_t thread;
    CHECK_OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided));
    CHECK_INT(provided, MPI_THREAD_SERIALIZED);
    CHECK_INT(pthread_create(&thread, NULL, visits, &v), 0);
    while (!v.there)
        sched_yield();
    CHECK_INT(CSP_PAR({nothing, NULL}), 0);
    CHECK_OK(MPI_Barrier(MPI_COMM_SELF)); // its own thread may
    v.goes_on = true;
    pthread_join(thread, NULL);
}

static void *talks(void *arg)
{
    int rank = world_rank(), size = world_size(), got = -1;
    (void)arg;
    for (int i = 0; i < 100; i++)
        CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT,
                              (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(got, (rank + size - 1) % size);
    return NULL;
}

static int reads(void *arg)
{
    int sum = 0, value;
    for (int i = 0; i < 100; i++) {
        CHECK_INT(csp_read(arg, &value), CSP_OK);
        sum += value;
    }
    CHECK_INT(sum, 4950);
    return 0;
}

static int writes(void *arg)
{
    for (int i = 0; i < 100; i++) {
        CHECK_INT(csp_write(arg, &i), CSP_OK);
        if (i % 10 == 0)
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    return 0;
}

// A thread of the rank and its processes call MPI, and wait, at once.
static void share(void)
{
    int provided;
    pthread_t thread;
    CHECK_INT(CSP_PAR({nothing, NULL}), 0);
    CHECK_OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    CHECK_INT(pthread_create(&thread, NULL, talks, NULL), 0);
    csp_chan *chan = csp_chan_new("numbers", sizeof(int));
    CHECK_INT(CSP_PAR({reads, csp_chan_in(chan)}, {writes, csp_chan_out(chan)}), 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_OK(MPI_Finalize());
}

int main(int argc, char **argv)
{
    int provided;
    CHECK(argc == 2);
    if (strcmp(argv[1], "share") == 0) {
        share();
        return 0;
    }
    if (strcmp(argv[1], "first") == 0) {
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        CHECK_INT(provided, MPI_THREAD_FUNNELED);
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_OK(MPI_Finalize());
    } else if (strcmp(argv[1], "multiple") == 0) {
        CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
        CHECK_INT(provided, MPI_THREAD_MULTIPLE);
        CSP_PAR({nothing, NULL});
    } else if (strcmp(argv[1], "late") == 0 || strcmp(argv[1], "called") == 0) {
        begins_late(strcmp(argv[1], "called") == 0);
    } else {
        pthread_t thread;
        CHECK_INT(CSP_PAR({nothing, NULL}), 0);
        CHECK_INT(pthread_create(&thread, NULL, makes, NULL), 0);
        pthread_join(thread, NULL);
    }
    return 0;
}
