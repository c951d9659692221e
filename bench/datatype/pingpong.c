// SPDX-License-Identifier: BSD-3-Clause
//
// Noncontiguous data between ranks 0 and 1, back and forth with blocking send and receive, the same
// type on both sides: bytes of data by half the time of a round trip. For each shape and size: a
// trip that is checked, a warm-up that also tells how many trips fill a repetition, then the
// repetitions, whose median is printed.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "../p2p/bench.h"
#include "shapes.h"

enum {
    TAG_DATA = 1,
    TAG_PLAN = 2,
    WARM_UP_TRIPS = 10,
};

struct pair {
    int rank;
    struct shape shape;
    size_t bytes;
    unsigned char *out, *in;
};

static void trips(const struct pair *pair, long count)
{
    const struct shape *s = &pair->shape;
    for (long i = 0; i < count && pair->rank == 0; i++) {
        MPI_Send(pair->out, s->count, s->type, 1, TAG_DATA, MPI_COMM_WORLD);
        MPI_Recv(pair->in, s->count, s->type, 1, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (long i = 0; i < count && pair->rank == 1; i++) {
        MPI_Recv(pair->in, s->count, s->type, 0, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(pair->out, s->count, s->type, 0, TAG_DATA, MPI_COMM_WORLD);
    }
}

static void checked_trip(const struct pair *pair, unsigned seed)
{
    shape_fill(&pair->shape, pair->out, seed + (unsigned)pair->rank);
    memset(pair->in, 0xA5, pair->shape.span);
    trips(pair, 1);
    bench_require(shape_holds(&pair->shape, pair->in, seed + 1 - (unsigned)pair->rank),
                  "pingpong: the received data is wrong");
}

// Rank 0 decides from the warm-up how many round trips make a repetition; rank 1 is told.
static long trips_planned(const struct pair *pair, double rep_s)
{
    long count = 0;
    trips(pair, WARM_UP_TRIPS);
    double start = bench_now();
    trips(pair, WARM_UP_TRIPS);
    double once_s = (bench_now() - start) / WARM_UP_TRIPS;
    if (pair->rank == 0) {
        count = bench_repeats(once_s, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

static void measure(const struct pair *pair, const char *shape, int reps, double rep_s)
{
    double rates[BENCH_MAX_REPS];
    char name[32] = "pingpong_";
    checked_trip(pair, 3);
    long count = trips_planned(pair, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        double start = bench_now();
        trips(pair, count);
        rates[rep] = (double)pair->bytes * 2 * (double)count / (bench_now() - start) / 1e9;
    }
    checked_trip(pair, 7);
    strcat(name, shape);
    if (pair->rank == 0)
        bench_print_size(name, pair->bytes, bench_median(rates, reps), "GB/s");
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 10;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {5, {1024, 8192, 65536, 524288, 4194304}};
    bench_options_read(argc, argv, options, &sizes);

    int ranks;
    struct pair pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "pingpong: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "pingpong: --reps must be 1 to 101");

    for (int which = 0; shape_names[which]; which++) {
        for (int i = 0; i < sizes.count; i++) {
            pair.bytes = sizes.bytes[i];
            pair.shape = shape_new(which, pair.bytes);
            pair.out = bench_buffer_new(pair.shape.span);
            pair.in = bench_buffer_new(pair.shape.span);
            measure(&pair, shape_names[which], (int)reps, rep_ms / 1000);
            free(pair.out);
            free(pair.in);
            shape_free(&pair.shape);
        }
    }
    MPI_Finalize();
    return 0;
}
