// SPDX-License-Identifier: BSD-3-Clause
//
// How much of an MPI_Iallreduce of doubles hides behind computation, as osu_iallreduce measures it:
// alone, started and waited for at once, it takes `pure`; work that takes about as long alone takes
// `compute`; started, followed by that work and then waited for, the whole takes `all`. What is
// printed is the time that was not hidden, left = all - compute, and which part that is of pure:
// 100 % if nothing was hidden; overlap is the rest. Once the work calls nothing (`plain`), once it
// is cut in pieces with an MPI_Test after each (`tests`).
//
// Work is arithmetic in registers, a fixed number of steps. With as many ranks as cores nobody else
// has a core to spare: the part that is copying and adding cannot be hidden there by anything.
//
// Each time is the slower rank's, the median of the repetitions; a barrier is before each.
#include "../p2p/bench.h"
#include "tree.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct setup {
    int rank;
    int ranks;
    int count; // of doubles
    int reps;
    double *out;
    double *in;
} setup;

typedef struct times {
    double pure;
    double compute;
    double all;
} times;

static double work(long steps)
{
    double x = 1;
    for (long i = 0; i < steps; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

// Median seconds, at rank 0, of work in `pieces` with a test after each but the last, with a
// reduction under way if `reduces`. Adds to *sum, lest the compiler leaves the work out.
static double median_of(const setup *u, bool reduces, long steps, int pieces, double *sum)
{
    double t[BENCH_MAX_REPS];
    const int warm_up = 5;
    for (int i = -warm_up; i < u->reps; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int done = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = bench_now();
        if (reduces)
            MPI_Iallreduce(u->out, u->in, u->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int piece = 0; piece < pieces; piece++) {
            *sum += work(steps / pieces);
            if (reduces && piece + 1 < pieces && !done)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        t[i < 0 ? 0 : i] = bench_now() - start;
    }
    tree_max_at_0(u->rank, u->ranks, t, u->reps);
    return bench_median(t, u->reps);
}

// How many steps of work fill a time, measured where both cores are busy. Rank 0 decides.
static long steps_for(const setup *u, double seconds, double *sum)
{
    const long trial = 1000000;
    double each = median_of(u, false, trial, 1, sum) / (double)trial;
    return (long)tree_from_0(u->rank, u->ranks, seconds / each);
}

static void check(const setup *u)
{
    for (int i = 0; i < u->count; i++) {
        u->out[i] = i % 1021 + u->rank;
        u->in[i] = -1;
    }
    MPI_Request request;
    MPI_Iallreduce(u->out, u->in, u->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < u->count; i++) {
        double right = (double)(i % 1021) * u->ranks + (double)u->ranks * (u->ranks - 1) / 2;
        bench_require(u->in[i] == right, "overlap: a wrong sum");
    }
}

static void measure(const setup *u, const char *name, int pieces)
{
    times t;
    double sum = 0;
    t.pure = median_of(u, true, 0, 1, &sum);
    long steps = steps_for(u, t.pure, &sum);
    t.compute = median_of(u, false, steps, pieces, &sum);
    t.all = median_of(u, true, steps, pieces, &sum);
    if (u->rank != 0)
        return;
    double exposed = (t.all - t.compute) / t.pure * 100;
    printf("pure_%s %.6g us\ncompute_%s %.6g us\nall_%s %.6g us\n", name, t.pure * 1e6, name,
           t.compute * 1e6, name, t.all * 1e6);
    double left = (t.all - t.compute) * 1e6;
    printf("left_%s %.6g us\nexposed_%s %.4g %%\n", name, left < 0.1 ? 0.1 : left, name,
           exposed < 0.1 ? 0.1 : exposed);
    if (sum == 42)
        printf("never\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double reps = 41, tests = 16, bytes = 1 << 20;
    const struct bench_option options[] = {
        {"--reps", &reps, "repetitions of each time"},
        {"--tests", &tests, "calls of MPI_Test in the work, where there are any"},
        {"--bytes", &bytes, "bytes of the vector"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);
    setup u = {.reps = (int)reps, .count = (int)(bytes / sizeof(double))};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &u.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &u.ranks);
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "overlap: --reps must be 1 to 101");
    u.out = (double *)(void *)bench_buffer_new((size_t)u.count * sizeof(double));
    u.in = (double *)(void *)bench_buffer_new((size_t)u.count * sizeof(double));
    check(&u);
    measure(&u, "plain", 1);
    measure(&u, "tests", (int)tests + 1);
    check(&u);
    free(u.out);
    free(u.in);
    MPI_Finalize();
    return 0;
}
