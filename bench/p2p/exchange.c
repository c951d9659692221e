// SPDX-License-Identifier: BSD-3-Clause
//
// Two ranks exchange blocks by MPI_Sendrecv, both ways at once, as the transposition of a matrix
// does (HPCC's PTRANS). Blocks lie together, or are the columns of a part of a larger matrix: half
// of each column of 16 KiB, on both sides. Before each exchange a rank writes its block, and after
// it the other's is read, as a program would. The figure is bytes that a rank receives by the time
// of the exchange alone. The data of every exchange are checked by their sum.
#include "bench.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    TAG_BLOCK = 1,
    COLUMN = 1024, // doubles of a column that are sent
    STRIDE = 2048, // doubles from one column to the next
    WARM_UP = 30,  // exchanges: memory that an MPI uses in turns has been touched then
};

struct block {
    int rank;
    size_t bytes;
    int columns, stride, count;
    MPI_Datatype type;
    double *out, *in;
};

static size_t words_of(const struct block *b)
{
    return (size_t)b->columns * (size_t)b->stride;
}

static void fill(struct block *b, double first)
{
    for (int c = 0; c < b->columns; c++)
        for (int i = 0; i < COLUMN; i++)
            b->out[(size_t)c * (size_t)b->stride + (size_t)i] = first + c + i;
}

static double sum(const struct block *b, const double *words)
{
    double all = 0;
    for (int c = 0; c < b->columns; c++)
        for (int i = 0; i < COLUMN; i++)
            all += words[(size_t)c * (size_t)b->stride + (size_t)i];
    return all;
}

// The seconds of one exchange.
static double exchange(struct block *b, int round)
{
    fill(b, round + b->rank);
    double due = sum(b, b->out) + (b->rank == 0 ? 1 : -1) * (double)b->columns * COLUMN;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = bench_now();
    MPI_Sendrecv(b->out, b->count, b->type, !b->rank, TAG_BLOCK, b->in, b->count, b->type, !b->rank,
                 TAG_BLOCK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double seconds = bench_now() - start;
    bench_require(sum(b, b->in) == due, "exchange: the received block is wrong");
    return seconds;
}

static void measure(struct block *b, const char *what, int reps, int turns)
{
    double gbs[BENCH_MAX_REPS];
    b->out = (double *)bench_buffer_new(words_of(b) * sizeof *b->out);
    b->in = (double *)bench_buffer_new(words_of(b) * sizeof *b->in);
    for (int turn = 0; turn < WARM_UP; turn++)
        (void)exchange(b, turn);
    for (int rep = 0; rep < reps; rep++) {
        double seconds = 0;
        for (int turn = 0; turn < turns; turn++)
            seconds += exchange(b, rep + turn);
        gbs[rep] = turns * (double)b->bytes / seconds / 1e9;
    }
    if (b->rank == 0)
        bench_print_size(what, b->bytes, bench_median(gbs, reps), "GB/s");
    free(b->out);
    free(b->in);
}

int main(int argc, char **argv)
{
    double reps = 21;
    double turns = 10;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--turns", &turns, "exchanges a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {3, {65536, 1048576, 4194304}};
    bench_options_read(argc, argv, options, &sizes);

    int ranks;
    struct block block;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &block.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "exchange: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "exchange: --reps must be 1 to 101");
    for (int i = 0; i < sizes.count; i++) {
        block.bytes = sizes.bytes[i];
        block.columns = (int)(block.bytes / (COLUMN * sizeof(double)));
        bench_require(block.columns > 0, "exchange: a block has at least 8192 bytes");
        block.stride = COLUMN;
        block.count = block.columns * COLUMN;
        block.type = MPI_DOUBLE;
        measure(&block, "exchange", (int)reps, (int)turns);
        MPI_Type_vector(block.columns, COLUMN, STRIDE, MPI_DOUBLE, &block.type);
        MPI_Type_commit(&block.type);
        block.stride = STRIDE;
        block.count = 1;
        measure(&block, "exchange_columns", (int)reps, (int)turns);
        MPI_Type_free(&block.type);
    }
    MPI_Finalize();
    return 0;
}
