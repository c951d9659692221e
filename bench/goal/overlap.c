// SPDX-License-Identifier: BSD-3-Clause
//
// How much of a communication hides behind computation, time-based, as Hoefler and Lumsdaine
// measure it
// ("Message Progression in Parallel Computing - To Thread or not to Thread?", 2008): a broadcast
// takes t_comm; started, followed by a computation of about that time and then waited for, the
// whole takes t_all. Overlap is (t_comm + t_comp - t_all) / t_comm: 1 if all of it was hidden.
//
// The broadcast is a pipeline of pieces of 1 MiB from rank 0 to rank 1, rank 1 sends each piece
// back, so that both have something to do when a message has come. With and without GOAL_OFFLOAD.
#include "../p2p/bench.h"

#include <millet/goal.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BYTES = 1 << 20, REPS = 31 };

// Rank 1 sends what it gets back: the pipeline goes on through it.
static GOAL_Sched pipeline(int rank, unsigned char *buf, unsigned char *back, long pieces)
{
    GOAL_Goal g = GOAL_Create();
    size_t piece = BYTES / (size_t)pieces;
    GOAL_id last = -1;
    for (long i = 0; i < pieces; i++) {
        unsigned char *at = buf + (size_t)i * piece;
        if (rank == 0) {
            GOAL_id send = GOAL_Send(g, at, piece, 1);
            if (last >= 0)
                GOAL_Requ(g, send, last); // in order: a pipeline
            last = send;
            GOAL_Recv(g, back + (size_t)i * piece, piece, 1);
        } else {
            GOAL_id recv = GOAL_Recv(g, at, piece, 0), send = GOAL_Send(g, at, piece, 0);
            GOAL_Requ(g, send, recv);
        }
    }
    GOAL_Sched s = GOAL_Compile(g);
    GOAL_Free(&g);
    return s;
}

// Work that stays in registers.
static double compute(double seconds)
{
    double until = bench_now() + seconds, x = 1;
    while (bench_now() < until)
        for (int i = 0; i < 200; i++)
            x = x * 1.0000001 + 1e-9;
    return x;
}

static double once(GOAL_Sched s, double work_s, double *sum)
{
    MPI_Request r;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = bench_now();
    GOAL_Sched_start(s, &r);
    if (work_s > 0)
        *sum += compute(work_s);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    return bench_now() - start;
}

static double median_of(GOAL_Sched s, double work_s, double *sum)
{
    double t[REPS];
    for (int i = 0; i < 5; i++)
        once(s, work_s, sum);
    for (int i = 0; i < REPS; i++)
        t[i] = once(s, work_s, sum);
    return bench_median(t, REPS);
}

static void measure(int rank, int offload, unsigned char *buf, unsigned char *back, long pieces)
{
    double sum = 0;
    GOAL_Sched s = pipeline(rank, buf, back, pieces);
    GOAL_Sched_set(s, GOAL_OFFLOAD, offload);
    double comm = median_of(s, 0, &sum);
    // Both ranks compute for the time that rank 0 saw.
    if (rank == 0)
        MPI_Send(&comm, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&comm, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double all = median_of(s, comm, &sum);
    const char *name = offload ? "thread" : "plain";
    if (rank == 0) {
        printf("comm_%s %.1f us\n", name, comm * 1e6);
        printf("all_%s %.1f us\n", name, all * 1e6);
        printf("overlap_%s %.1f %%\n", name, (2 * comm - all) / comm * 100);
        if (sum == 42)
            printf("never\n");
    }
    GOAL_Sched_free(&s);
}

int main(int argc, char **argv)
{
    double pieces = 16;
    const struct bench_option options[] = {
        {"--pieces", &pieces, "pieces of the pipeline"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "overlap: needs exactly two ranks");
    unsigned char *buf = bench_buffer_new(BYTES), *back = bench_buffer_new(BYTES);
    if (rank == 0)
        bench_pattern_fill(buf, BYTES, 5);
    measure(rank, 0, buf, back, (long)pieces);
    measure(rank, 1, buf, back, (long)pieces);
    bench_require(bench_pattern_holds(rank == 0 ? back : buf, BYTES, 5),
                  "overlap: the received data is wrong");
    free(buf);
    free(back);
    MPI_Finalize();
    return 0;
}
