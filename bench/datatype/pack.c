// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Pack and MPI_Unpack of noncontiguous data by one rank, in turns: bytes of data by the time of
// a call. For each shape and size: a pair of calls that is checked, a warm-up that also tells how
// many pairs fill a repetition, then the repetitions, whose median is printed. `--only 1` times
// MPI_Pack alone, 2 MPI_Unpack.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "../p2p/bench.h"
#include "shapes.h"

enum { WARM_UP_CALLS = 10, PACK = 1, UNPACK = 2 };

struct work {
    struct shape shape;
    size_t bytes;
    unsigned char *memory, *packed;
};

static void pack(const struct work *work)
{
    int position = 0;
    MPI_Pack(work->memory, work->shape.count, work->shape.type, work->packed, (int)work->bytes,
             &position, MPI_COMM_WORLD);
}

static void unpack(const struct work *work)
{
    int position = 0;
    MPI_Unpack(work->packed, (int)work->bytes, &position, work->memory, work->shape.count,
               work->shape.type, MPI_COMM_WORLD);
}

static void calls(const struct work *work, int which, long times)
{
    for (long i = 0; i < times; i++) {
        if (which & PACK)
            pack(work);
        if (which & UNPACK)
            unpack(work);
    }
}

static void check(const struct work *work, unsigned seed)
{
    shape_fill(&work->shape, work->memory, seed);
    pack(work);
    memset(work->memory, 0xA5, work->shape.span);
    unpack(work);
    bench_require(shape_holds(&work->shape, work->memory, seed),
                  "pack: the unpacked data is wrong");
}

static double rate(const struct work *work, int which, int reps, double rep_s)
{
    double rates[BENCH_MAX_REPS];
    calls(work, which, WARM_UP_CALLS);
    double start = bench_now();
    calls(work, which, WARM_UP_CALLS);
    long times = bench_repeats((bench_now() - start) / WARM_UP_CALLS, rep_s);
    double bytes = (double)work->bytes * (double)times * (which == (PACK | UNPACK) ? 2 : 1);
    for (int rep = 0; rep < reps; rep++) {
        start = bench_now();
        calls(work, which, times);
        rates[rep] = bytes / (bench_now() - start) / 1e9;
    }
    return bench_median(rates, reps);
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 5;
    double only = PACK | UNPACK;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {"--only", &only, "1: MPI_Pack, 2: MPI_Unpack, 3: both in turns"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {5, {1024, 8192, 65536, 524288, 4194304}};
    bench_options_read(argc, argv, options, &sizes);
    MPI_Init(&argc, &argv);
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "pack: --reps must be 1 to 101");
    bench_require(only >= 1 && only <= 3, "pack: --only must be 1, 2 or 3");

    for (int which = 0; shape_names[which]; which++) {
        for (int i = 0; i < sizes.count; i++) {
            struct work work = {shape_new(which, sizes.bytes[i]), sizes.bytes[i], NULL, NULL};
            work.memory = bench_buffer_new(work.shape.span);
            work.packed = bench_buffer_new(work.bytes);
            check(&work, 3);
            double result = rate(&work, (int)only, (int)reps, rep_ms / 1000);
            check(&work, 7);
            char name[32] = "pack_";
            strcat(name, shape_names[which]);
            bench_print_size(name, work.bytes, result, "GB/s");
            free(work.memory);
            free(work.packed);
            shape_free(&work.shape);
        }
    }
    MPI_Finalize();
    return 0;
}
