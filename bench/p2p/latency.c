// SPDX-License-Identifier: BSD-3-Clause
//
// Half round trip between ranks 0 and 1: blocking send, blocking receive, the same buffers each
// time. For each size: one exchange whose data is checked, a warm-up that also tells how many
// round trips fill a repetition, then the repetitions, whose median is printed; and the data of
// the last round trip is checked once more.
#include "bench.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_DATA = 1,
    TAG_PLAN = 2,
    WARM_UP_TRIPS = 100,
};

struct pair {
    int rank;
    unsigned char *out;
    unsigned char *in;
};

static void trips(const struct pair *pair, size_t bytes, long count)
{
    int n = (int)bytes;
    for (long i = 0; i < count && pair->rank == 0; i++) {
        MPI_Send(pair->out, n, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD);
        MPI_Recv(pair->in, n, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (long i = 0; i < count && pair->rank == 1; i++) {
        MPI_Recv(pair->in, n, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(pair->out, n, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD);
    }
}

static void checked_trip(const struct pair *pair, size_t bytes, unsigned seed)
{
    unsigned mine = seed + (unsigned)pair->rank;
    unsigned theirs = seed + 1 - (unsigned)pair->rank;
    memset(pair->in, 0, bytes);
    bench_pattern_fill(pair->out, bytes, mine);
    trips(pair, bytes, 1);
    bench_require(bench_pattern_holds(pair->in, bytes, theirs),
                  "latency: the received data is wrong");
}

// Rank 0 decides from the warm-up how many round trips make a repetition; rank 1 is told.
static long trips_planned(const struct pair *pair, size_t bytes, double rep_s)
{
    long count = 0;
    trips(pair, bytes, WARM_UP_TRIPS);
    double start = bench_now();
    trips(pair, bytes, WARM_UP_TRIPS);
    double once_s = (bench_now() - start) / WARM_UP_TRIPS;
    if (pair->rank == 0) {
        count = bench_repeats(once_s, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

static void measure(const struct pair *pair, size_t bytes, int reps, double rep_s)
{
    double half_us[BENCH_MAX_REPS];
    checked_trip(pair, bytes, 3);
    long count = trips_planned(pair, bytes, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        double start = bench_now();
        trips(pair, bytes, count);
        half_us[rep] = (bench_now() - start) / (double)count / 2 * 1e6;
    }
    checked_trip(pair, bytes, 7);
    if (pair->rank == 0)
        bench_print_size("latency", bytes, bench_median(half_us, reps), "us");
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
    struct bench_sizes sizes = {7, {8, 64, 1024, 8192, 65536, 1048576, 4194304}};
    bench_options_read(argc, argv, options, &sizes);

    int ranks;
    struct pair pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "latency: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "latency: --reps must be 1 to 101");

    for (int i = 0; i < sizes.count; i++) {
        pair.out = bench_buffer_new(sizes.bytes[i]);
        pair.in = bench_buffer_new(sizes.bytes[i]);
        measure(&pair, sizes.bytes[i], (int)reps, rep_ms / 1000);
        free(pair.out);
        free(pair.in);
    }
    MPI_Finalize();
    return 0;
}
