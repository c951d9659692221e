// SPDX-License-Identifier: BSD-3-Clause
//
// Message rate from rank 0 to rank 1: a window of 64 nonblocking sends against 64 nonblocking
// receives, each with its own few bytes of buffer, then one empty message back that ends the
// window. The data of the first and the last window is checked.
#include "bench.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_DATA = 1,
    TAG_ACK = 2,
    TAG_PLAN = 3,
    WINDOW = 64,
    WARM_UP_WINDOWS = 50,
};

struct stream {
    int rank;
    size_t bytes;
    unsigned char *buffer; // WINDOW slots of bytes
    MPI_Request requests[WINDOW];
};

static void windows(struct stream *stream, long count)
{
    int n = (int)stream->bytes;
    for (long i = 0; i < count && stream->rank == 0; i++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Isend(stream->buffer + stream->bytes * (size_t)k, n, MPI_BYTE, 1, TAG_DATA,
                      MPI_COMM_WORLD, &stream->requests[k]);
        MPI_Waitall(WINDOW, stream->requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (long i = 0; i < count && stream->rank == 1; i++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(stream->buffer + stream->bytes * (size_t)k, n, MPI_BYTE, 0, TAG_DATA,
                      MPI_COMM_WORLD, &stream->requests[k]);
        MPI_Waitall(WINDOW, stream->requests, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
}

static void checked_window(struct stream *stream, unsigned seed)
{
    size_t all = stream->bytes * WINDOW;
    if (stream->rank == 0)
        bench_pattern_fill(stream->buffer, all, seed);
    else
        memset(stream->buffer, 0, all);
    windows(stream, 1);
    bench_require(bench_pattern_holds(stream->buffer, all, seed),
                  "rate: the received data is wrong or out of order");
}

static long windows_planned(struct stream *stream, double rep_s)
{
    long count = 0;
    windows(stream, WARM_UP_WINDOWS);
    double start = bench_now();
    windows(stream, WARM_UP_WINDOWS);
    double once_s = (bench_now() - start) / WARM_UP_WINDOWS;
    if (stream->rank == 0) {
        count = bench_repeats(once_s, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

static void measure(struct stream *stream, int reps, double rep_s)
{
    double million_per_s[BENCH_MAX_REPS];
    checked_window(stream, 3);
    long count = windows_planned(stream, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        double start = bench_now();
        windows(stream, count);
        million_per_s[rep] = (double)count * WINDOW / (bench_now() - start) / 1e6;
    }
    checked_window(stream, 7);
    if (stream->rank == 0)
        bench_print_size("rate", stream->bytes, bench_median(million_per_s, reps), "M/s");
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 20;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {1, {8}};
    bench_options_read(argc, argv, options, &sizes);

    int ranks;
    struct stream stream;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &stream.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "rate: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "rate: --reps must be 1 to 101");

    for (int i = 0; i < sizes.count; i++) {
        stream.bytes = sizes.bytes[i];
        stream.buffer = bench_buffer_new(stream.bytes * WINDOW);
        measure(&stream, (int)reps, rep_ms / 1000);
        free(stream.buffer);
    }
    MPI_Finalize();
    return 0;
}
