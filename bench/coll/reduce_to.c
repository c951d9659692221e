// SPDX-License-Identifier: BSD-3-Clause
//
// Two reductions at once on overlapping sets of ranks: the example of Ali, Pai and Midkiff,
// "Advanced Collective Communication in Aspen" (2008), Figures 5 and 12. The four processes there
// are four quarters of the ranks here: the sum over all goes to the first ranks of the first and of
// the third quarter, the product over the second and third quarters to the first rank of the
// fourth, which contributes nothing to it.
//
// `one_by_one` is the example in MPI, as the paper codes it: MPI_Reduce on a communicator, then
// MPI_Bcast to the further receiver, or a message to one that is outside. `at_once` starts both
// with MPIX_Ireduce_to and waits for both; it is compiled only with BENCH_REDUCE_TO defined.
//
// A barrier separates the turns. The time of one is from the last rank's entry until the last has
// left; the median over the turns and then of the repetitions is printed. Results are checked.
#include "../p2p/bench.h"
#include "tree.h"

#include <mpi.h>
#ifdef BENCH_REDUCE_TO
#include <millet/coll.h>
#endif
#include <stdlib.h>

enum { TAG_RESULT = 7, MAX_TURNS = 4000 };

typedef struct setup {
    int rank;
    int ranks;
    int count; // of doubles
    bool sums_here;
    bool product_here;
    bool contributes;    // to the product
    MPI_Comm receivers;  // of the sum, or MPI_COMM_NULL
    MPI_Comm multiplies; // the contributors to the product, or MPI_COMM_NULL
    MPI_Group groups[4]; // all, receivers of the sum, contributors to the product, its receiver
    double *out[2];
    double *in[2];
} setup;

// The first rank of a quarter.
static int quarter(const setup *u, int which)
{
    return which * (u->ranks / 4);
}

static void one_by_one(const setup *u)
{
    MPI_Reduce(u->out[0], u->in[0], u->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (u->sums_here)
        MPI_Bcast(u->in[0], u->count, MPI_DOUBLE, 0, u->receivers);
    int first = quarter(u, 1), receiver = quarter(u, 3);
    if (u->contributes)
        MPI_Reduce(u->out[1], u->in[1], u->count, MPI_DOUBLE, MPI_PROD, 0, u->multiplies);
    if (u->rank == first)
        MPI_Send(u->in[1], u->count, MPI_DOUBLE, receiver, TAG_RESULT, MPI_COMM_WORLD);
    if (u->product_here)
        MPI_Recv(u->in[1], u->count, MPI_DOUBLE, first, TAG_RESULT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

#ifdef BENCH_REDUCE_TO
static void at_once(const setup *u)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPIX_Ireduce_to(u->out[0], u->in[0], u->count, MPI_DOUBLE, MPI_SUM, u->groups[0], u->groups[1],
                    MPI_COMM_WORLD, &requests[0]);
    if (u->contributes || u->product_here)
        MPIX_Ireduce_to(u->out[1], u->in[1], u->count, MPI_DOUBLE, MPI_PROD, u->groups[2],
                        u->groups[3], MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
#endif

// Powers of two, so that the product is exact in any order.
static double factor_of(int rank, int i)
{
    return (rank + i) % 2 == 0 ? 2 : 1;
}

static void check(const setup *u, void (*turn)(const setup *))
{
    for (int i = 0; i < u->count; i++) {
        u->out[0][i] = i % 1021 + u->rank;
        u->out[1][i] = factor_of(u->rank, i);
        u->in[0][i] = u->in[1][i] = -1;
    }
    turn(u);
    for (int i = 0; i < u->count; i++) {
        double sum = (double)(i % 1021) * u->ranks + (double)u->ranks * (u->ranks - 1) / 2;
        double product = 1;
        for (int rank = quarter(u, 1); rank < quarter(u, 3); rank++)
            product *= factor_of(rank, i);
        bench_require(!u->sums_here || u->in[0][i] == sum, "reduce_to: a wrong sum");
        bench_require(!u->product_here || u->in[1][i] == product, "reduce_to: a wrong product");
    }
}

// Median seconds of a turn, at rank 0.
static double loop(const setup *u, void (*turn)(const setup *), int turns)
{
    double *stamps = malloc(2 * (size_t)turns * sizeof *stamps);
    bench_require(stamps != NULL, "reduce_to: out of memory");
    for (int i = 0; i < turns; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        stamps[i] = bench_now();
        turn(u);
        stamps[turns + i] = bench_now();
    }
    tree_max_at_0(u->rank, u->ranks, stamps, 2 * turns);
    for (int i = 0; i < turns; i++)
        stamps[i] = stamps[turns + i] - stamps[i];
    double median = bench_median(stamps, turns);
    free(stamps);
    return median;
}

static void measure(const setup *u, const char *name, void (*turn)(const setup *), int reps,
                    double rep_s)
{
    double times[BENCH_MAX_REPS];
    const int warm_up = 10;
    check(u, turn);
    loop(u, turn, warm_up);
    double start = bench_now();
    loop(u, turn, warm_up);
    long turns = bench_repeats((bench_now() - start) / warm_up, rep_s);
    turns = (long)tree_from_0(u->rank, u->ranks, (double)(turns > MAX_TURNS ? MAX_TURNS : turns));
    for (int rep = 0; rep < reps; rep++)
        times[rep] = loop(u, turn, (int)turns);
    check(u, turn);
    if (u->rank == 0)
        bench_print_size(name, (size_t)u->count * sizeof(double), bench_median(times, reps) * 1e6,
                         "us");
}

static void sets_make(setup *u)
{
    int all[1][3] = {{0, u->ranks - 1, 1}};
    int to[2] = {0, quarter(u, 2)};
    int factors[1][3] = {{quarter(u, 1), quarter(u, 3) - 1, 1}};
    int receiver[1] = {quarter(u, 3)};
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, all, &u->groups[0]);
    MPI_Group_incl(world, 2, to, &u->groups[1]);
    MPI_Group_range_incl(world, 1, factors, &u->groups[2]);
    MPI_Group_incl(world, 1, receiver, &u->groups[3]);
    MPI_Group_free(&world);
    u->sums_here = u->rank == to[0] || u->rank == to[1];
    u->product_here = u->rank == receiver[0];
    u->contributes = u->rank >= quarter(u, 1) && u->rank < quarter(u, 3);
    MPI_Comm_split(MPI_COMM_WORLD, u->sums_here ? 0 : MPI_UNDEFINED, u->rank, &u->receivers);
    MPI_Comm_split(MPI_COMM_WORLD, u->contributes ? 0 : MPI_UNDEFINED, u->rank, &u->multiplies);
}

static void sets_free(setup *u)
{
    for (int i = 0; i < 4; i++)
        MPI_Group_free(&u->groups[i]);
    if (u->receivers != MPI_COMM_NULL)
        MPI_Comm_free(&u->receivers);
    if (u->multiplies != MPI_COMM_NULL)
        MPI_Comm_free(&u->multiplies);
}

int main(int argc, char **argv)
{
    double reps = 9, rep_ms = 10;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {3, {8, 4096, 65536}};
    bench_options_read(argc, argv, options, &sizes);
    setup u;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &u.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &u.ranks);
    bench_require(u.ranks >= 4 && u.ranks % 4 == 0, "reduce_to: needs a multiple of four ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "reduce_to: --reps must be 1 to 101");
    sets_make(&u);
    for (int i = 0; i < sizes.count; i++) {
        u.count = (int)(sizes.bytes[i] / sizeof(double));
        for (int j = 0; j < 2; j++) {
            u.out[j] = (double *)(void *)bench_buffer_new(sizes.bytes[i]);
            u.in[j] = (double *)(void *)bench_buffer_new(sizes.bytes[i]);
        }
        measure(&u, "one_by_one", one_by_one, (int)reps, rep_ms / 1000);
#ifdef BENCH_REDUCE_TO
        measure(&u, "at_once", at_once, (int)reps, rep_ms / 1000);
#endif
        for (int j = 0; j < 2; j++) {
            free(u.out[j]);
            free(u.in[j]);
        }
    }
    sets_free(&u);
    MPI_Finalize();
    return 0;
}
