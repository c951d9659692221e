// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack of noncontiguous data by one rank: bytes of data by the time of a call.
// For each shape and size: a round trip that is checked, a warm-up that also tells how many calls
// fill a repetition, then the repetitions, whose median is printed.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "../p2p/bench.h"
#include "shapes.h"

enum { WARM_UP_CALLS = 10 };

struct work {
    struct shape shape;
    size_t bytes;
    unsigned char *memory, *packed;
};

static void pack(const struct work *work, long times)
{
    for (long i = 0; i < times; i++) {
        int position = 0;
        MPI_Pack(work->memory, work->shape.count, work->shape.type, work->packed, (int)work->bytes,
                 &position, MPI_COMM_WORLD);
    }
}

static void unpack(const struct work *work, long times)
{
    for (long i = 0; i < times; i++) {
        int position = 0;
        MPI_Unpack(work->packed, (int)work->bytes, &position, work->memory, work->shape.count,
                   work->shape.type, MPI_COMM_WORLD);
    }
}

static void check(const struct work *work, unsigned seed)
{
    shape_fill(&work->shape, work->memory, seed);
    pack(work, 1);
    memset(work->memory, 0xA5, work->shape.span);
    unpack(work, 1);
    bench_require(shape_holds(&work->shape, work->memory, seed),
                  "pack: the unpacked data is wrong");
}

static void measure(const struct work *work, void (*call)(const struct work *, long),
                    const char *what, const char *shape, int reps, double rep_s)
{
    double rates[BENCH_MAX_REPS];
    char name[32];
    call(work, WARM_UP_CALLS);
    double start = bench_now();
    call(work, WARM_UP_CALLS);
    long times = bench_repeats((bench_now() - start) / WARM_UP_CALLS, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        start = bench_now();
        call(work, times);
        rates[rep] = (double)work->bytes * (double)times / (bench_now() - start) / 1e9;
    }
    strcpy(name, what);
    strcat(name, shape);
    bench_print_size(name, work->bytes, bench_median(rates, reps), "GB/s");
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 5;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {5, {1024, 8192, 65536, 524288, 4194304}};
    bench_options_read(argc, argv, options, &sizes);
    MPI_Init(&argc, &argv);
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "pack: --reps must be 1 to 101");

    for (int which = 0; shape_names[which]; which++) {
        for (int i = 0; i < sizes.count; i++) {
            struct work work = {shape_new(which, sizes.bytes[i]), sizes.bytes[i], NULL, NULL};
            work.memory = bench_buffer_new(work.shape.span);
            work.packed = bench_buffer_new(work.bytes);
            check(&work, 3);
            measure(&work, pack, "pack_", shape_names[which], (int)reps, rep_ms / 1000);
            measure(&work, unpack, "unpack_", shape_names[which], (int)reps, rep_ms / 1000);
            check(&work, 7);
            free(work.memory);
            free(work.packed);
            shape_free(&work.shape);
        }
    }
    MPI_Finalize();
    return 0;
}
