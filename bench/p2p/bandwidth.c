// SPDX-License-Identifier: BSD-3-Clause
//
// Bandwidth from rank 0 to rank 1: a window of nonblocking sends against nonblocking receives, then
// one empty message back that ends the window. Receives have a buffer each, as MPI demands of
// receives that are open at the same time, and the window shrinks with the size so that all of them
// fit in a cache: 64 up to 256 KiB, 16 of 1 MiB, 4 of 4 MiB. The data of a first and a last
// window is checked.
//
// `--shared 1 --window 64` is what osu_bw does instead: all receives go to one buffer. An MPI that
// works on many messages in turns then copies small pieces to the same place over and over, in
// the nearest cache, and shows up to 1.5 times what it reaches with data that anybody could use.
//
// With `--memcpy 1` rank 0 also times plain memcpy of the same size between buffers that were
// made like those of the messages, repetition by repetition beside MPI's: what one copy costs
// in this very process at this very moment. Between fibers that is the floor.
#include "bench.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_DATA = 1,
    TAG_ACK = 2,
    TAG_PLAN = 3,
    MIN_WINDOW = 4,
    MAX_WINDOW = 64,
};

struct stream {
    int rank;
    size_t bytes;
    int window;
    size_t stride; // from one receive of a window to the next: 0 or bytes
    unsigned char *out;
    unsigned char *in;
    MPI_Request requests[MAX_WINDOW];
};

static int window_for(size_t bytes)
{
    const size_t most_in_flight = (size_t)16 << 20;
    size_t window = most_in_flight / bytes;
    if (window > MAX_WINDOW)
        return MAX_WINDOW;
    return window < MIN_WINDOW ? MIN_WINDOW : (int)window;
}

static void windows(struct stream *stream, long count)
{
    int n = (int)stream->bytes;
    for (long i = 0; i < count && stream->rank == 0; i++) {
        for (int k = 0; k < stream->window; k++)
            MPI_Isend(stream->out, n, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &stream->requests[k]);
        MPI_Waitall(stream->window, stream->requests, MPI_STATUSES_IGNORE);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (long i = 0; i < count && stream->rank == 1; i++) {
        for (int k = 0; k < stream->window; k++)
            MPI_Irecv(stream->in + stream->stride * (size_t)k, n, MPI_BYTE, 0, TAG_DATA,
                      MPI_COMM_WORLD, &stream->requests[k]);
        MPI_Waitall(stream->window, stream->requests, MPI_STATUSES_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
    }
}

static void copies(const struct stream *stream, long windows_count)
{
    for (long i = 0; i < windows_count; i++) {
        for (int k = 0; k < stream->window; k++) {
            unsigned char *target = stream->in + stream->stride * (size_t)k;
            memcpy(target, stream->out, stream->bytes);
            // Somebody might look at the copy here: the compiler must not drop or merge any.
            __asm__ volatile("" : : "r"(target) : "memory");
        }
    }
}

static void checked_window(struct stream *stream, unsigned seed)
{
    size_t last = stream->stride * (size_t)(stream->window - 1);
    bench_pattern_fill(stream->out, stream->bytes, seed);
    memset(stream->in, 0, stream->bytes);
    memset(stream->in + last, 0, stream->bytes);
    windows(stream, 1);
    if (stream->rank == 1)
        bench_require(bench_pattern_holds(stream->in, stream->bytes, seed) &&
                          bench_pattern_holds(stream->in + last, stream->bytes, seed),
                      "bandwidth: the received data is wrong");
}

static long windows_planned(struct stream *stream, double rep_s)
{
    long count = 0;
    windows(stream, 1);
    double start = bench_now();
    windows(stream, 2);
    double once_s = (bench_now() - start) / 2;
    if (stream->rank == 0) {
        count = bench_repeats(once_s, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

static void measure(struct stream *stream, int reps, double rep_s, bool with_memcpy)
{
    double message_gbs[BENCH_MAX_REPS];
    double memcpy_gbs[BENCH_MAX_REPS];
    checked_window(stream, 3);
    long count = windows_planned(stream, rep_s);
    double rep_gb = (double)count * stream->window * (double)stream->bytes / 1e9;
    for (int rep = 0; rep < reps; rep++) {
        windows(stream, 1);
        double start = bench_now();
        windows(stream, count);
        message_gbs[rep] = rep_gb / (bench_now() - start);
        if (with_memcpy && stream->rank == 0) {
            copies(stream, 1);
            start = bench_now();
            copies(stream, count);
            memcpy_gbs[rep] = rep_gb / (bench_now() - start);
        }
    }
    checked_window(stream, 7);
    if (stream->rank != 0)
        return;
    bench_print_size("bandwidth", stream->bytes, bench_median(message_gbs, reps), "GB/s");
    if (with_memcpy)
        bench_print_size("memcpy", stream->bytes, bench_median(memcpy_gbs, reps), "GB/s");
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 20;
    double with_memcpy = 0;
    double shared = 0;
    double window = 0;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each size"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {"--memcpy", &with_memcpy, "1: time plain memcpy as well"},
        {"--shared", &shared, "1: all receives of a window have the same buffer"},
        {"--window", &window, "messages in flight; 0: chosen by size"},
        {NULL, NULL, NULL},
    };
    struct bench_sizes sizes = {4, {65536, 262144, 1048576, 4194304}};
    bench_options_read(argc, argv, options, &sizes);

    int ranks;
    struct stream stream;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &stream.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "bandwidth: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "bandwidth: --reps must be 1 to 101");
    bench_require(window <= MAX_WINDOW, "bandwidth: --window must be 0 to 64");

    for (int i = 0; i < sizes.count; i++) {
        stream.bytes = sizes.bytes[i];
        stream.window = window > 0 ? (int)window : window_for(stream.bytes);
        stream.stride = shared != 0 ? 0 : stream.bytes;
        stream.out = bench_buffer_new(stream.bytes);
        stream.in = bench_buffer_new(stream.bytes + stream.stride * (size_t)(stream.window - 1));
        measure(&stream, (int)reps, rep_ms / 1000, with_memcpy != 0);
        free(stream.out);
        free(stream.in);
    }
    MPI_Finalize();
    return 0;
}
