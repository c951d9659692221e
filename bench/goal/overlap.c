// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a communication hides behind computation, time-based, as Hoefler and Lumsdaine
// measure it ("Message Progression in Parallel Computing - To Thread or not to Thread?", 2008): a
// broadcast alone takes t_comm, an amount of work alone about as long, t_comp; started, followed by
// that work and then waited for, the whole takes t_all. Overlap is (t_comm + t_comp - t_all) /
// t_comm: 1 if all of it was hidden, 0 if nothing was.
//
// The broadcast is of 1 MiB (--mib) from rank 0 to rank 1, a pipeline of pieces, each sent after the one
// before. With and without GOAL_OFFLOAD. Work is arithmetic in registers, a fixed number of steps;
// it and the thread that drives need a core each, in both processes. With --idle 1 it is sleep: as
// if a device did the work, so that the rank's own core is the spare one.
//
// Where the two ranks share a worker (-n 1 -nfg 2), work is done in turn, so it is for both; with --mib 64
// waking the thread does not count.
#include <millet/goal.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../p2p/bench.h"

enum { REPS = 41, WARM_UP = 10 };

typedef struct setup {
    int rank;
    bool idle;
    long pieces;
    size_t bytes;
    unsigned char *buf;
} setup;

static GOAL_Sched pipeline(const setup *u)
{
    GOAL_Goal g = GOAL_Create();
    size_t piece = u->bytes / (size_t)u->pieces;
    GOAL_id last = -1;
    for (long i = 0; i < u->pieces; i++) {
        unsigned char *at = u->buf + (size_t)i * piece;
        if (u->rank == 1) {
            GOAL_Recv(g, at, piece, 0);
            continue;
        }
        GOAL_id send = GOAL_Send(g, at, piece, 1);
        if (last >= 0)
            GOAL_Requ(g, send, last);
        last = send;
    }
    GOAL_Sched s = GOAL_Compile(g);
    GOAL_Free(&g);
    return s;
}

// Steps of arithmetic, or nanoseconds of sleep.
static double work(const setup *u, long amount)
{
    double x = 1;
    if (u->idle) {
        struct timespec t = {amount / 1000000000, amount % 1000000000};
        if (amount > 0)
            nanosleep(&t, NULL);
        return x;
    }
    for (long i = 0; i < amount; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

// Both start together; the time until both are done. It begins when the round before is over, since of two
// ranks that share a worker the other may be the first to run.
static double median_of(const setup *u, GOAL_Sched s, long amount, double *sum)
{
    double t[REPS], last = 0;
    MPI_Request r = MPI_REQUEST_NULL;
    for (int i = -WARM_UP; i < REPS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (s)
            GOAL_Sched_start(s, &r);
        *sum += work(u, amount);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        double now = bench_now();
        t[i < 0 ? 0 : i] = now - last;
        last = now;
    }
    return bench_median(t, REPS);
}

// Rank 0 decides.
static long agree(const setup *u, long value)
{
    if (u->rank == 0)
        MPI_Send(&value, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}

static void measure(const setup *u, int offload)
{
    double sum = 0;
    GOAL_Sched s = pipeline(u);
    GOAL_Sched_set(s, GOAL_OFFLOAD, offload);
    double comm = median_of(u, s, 0, &sum);
    long amount = (long)(comm * 1e9);
    if (!u->idle) { // as many steps as fill that time
        double start = bench_now();
        sum += work(u, 1000000);
        amount = (long)(comm / (bench_now() - start) * 1000000);
    }
    amount = agree(u, amount);
    double comp = median_of(u, NULL, amount, &sum);
    double all = median_of(u, s, amount, &sum);
    const char *name = offload ? "thread" : "plain";
    if (u->rank == 0) {
        printf("comm_%s %.1f us\n", name, comm * 1e6);
        printf("comp_%s %.1f us\n", name, comp * 1e6);
        printf("all_%s %.1f us\n", name, all * 1e6);
        printf("overlap_%s %.1f %%\n", name, (comm + comp - all) / comm * 100);
        if (sum == 42) // the compiler must not leave the work out
            printf("never\n");
    }
    GOAL_Sched_free(&s);
}

int main(int argc, char **argv)
{
    double pieces = 16, idle = 0, mib = 1;
    const struct bench_option options[] = {
        {"--pieces", &pieces, "pieces of the pipeline"},
        {"--mib", &mib, "MiB of the broadcast"},
        {"--idle", &idle, "1: the work leaves the rank's core free"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);
    int ranks;
    setup u = {.idle = idle != 0, .pieces = (long)pieces, .bytes = (size_t)mib << 20};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &u.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "overlap: needs exactly two ranks");
    u.buf = bench_buffer_new(u.bytes);
    if (u.rank == 0)
        bench_pattern_fill(u.buf, u.bytes, 5);
    measure(&u, 0);
    measure(&u, 1);
    bench_require(bench_pattern_holds(u.buf, u.bytes, 5), "overlap: the received data is wrong");
    free(u.buf);
    MPI_Finalize();
    return 0;
}
