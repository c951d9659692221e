// SPDX-License-Identifier: BSD-3-Clause
//
// Half round trip of a partitioned message between ranks 0 and 1. Rows are named
// ready_S_R_size and arrived_S_R_size: S partitions at the sender and R at the receiver make up a
// message of that size. The sender starts, says MPI_Pready of each partition, the last one first,
// and waits. The receiver waits (ready), or asks MPI_Parrived for each partition before it waits
// (arrived). --rows names what is measured; data are checked before and after.
#include "../p2p/bench.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_DATA = 1,
    TAG_PLAN = 2,
    WARM_UP = 50,
};

struct channel {
    int rank;
    bool asks; // for each partition
    int out_parts, in_parts;
    size_t bytes;
    unsigned char *out, *in;
    MPI_Request send, recv;
};

static void channel_open(struct channel *c)
{
    MPI_Count each_out = (MPI_Count)(c->bytes / (size_t)c->out_parts);
    MPI_Count each_in = (MPI_Count)(c->bytes / (size_t)c->in_parts);
    int other = 1 - c->rank;
    c->out = bench_buffer_new(c->bytes);
    c->in = bench_buffer_new(c->bytes);
    MPI_Psend_init(c->out, c->out_parts, each_out, MPI_BYTE, other, TAG_DATA, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &c->send);
    MPI_Precv_init(c->in, c->in_parts, each_in, MPI_BYTE, other, TAG_DATA, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &c->recv);
}

static void channel_close(struct channel *c)
{
    MPI_Request_free(&c->send);
    MPI_Request_free(&c->recv);
    free(c->out);
    free(c->in);
}

static void send(struct channel *c)
{
    MPI_Start(&c->send);
    for (int i = c->out_parts - 1; i >= 0; i--)
        MPI_Pready(i, c->send);
    MPI_Wait(&c->send, MPI_STATUS_IGNORE);
}

static void receive(struct channel *c)
{
    MPI_Start(&c->recv);
    for (int i = 0; c->asks && i < c->in_parts; i++) {
        int here = 0;
        while (!here)
            MPI_Parrived(c->recv, i, &here);
    }
    MPI_Wait(&c->recv, MPI_STATUS_IGNORE);
}

static void trips(struct channel *c, long count)
{
    for (long i = 0; i < count && c->rank == 0; i++) {
        send(c);
        receive(c);
    }
    for (long i = 0; i < count && c->rank == 1; i++) {
        receive(c);
        send(c);
    }
}

static void check(struct channel *c, unsigned seed)
{
    memset(c->in, 0, c->bytes);
    bench_pattern_fill(c->out, c->bytes, seed + (unsigned)c->rank);
    trips(c, 1);
    bench_require(bench_pattern_holds(c->in, c->bytes, seed + 1 - (unsigned)c->rank),
                  "partitioned: the received data is wrong");
}

// Rank 0 decides from the warm-up how many round trips make a repetition; rank 1 is told.
static long planned(struct channel *c, double rep_s)
{
    long count = 0;
    trips(c, WARM_UP);
    double start = bench_now();
    trips(c, WARM_UP);
    double once_s = (bench_now() - start) / WARM_UP;
    if (c->rank == 0) {
        count = bench_repeats(once_s, rep_s);
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

static double measure(struct channel *c, int reps, double rep_s)
{
    double half_us[BENCH_MAX_REPS];
    channel_open(c);
    check(c, 3);
    long count = planned(c, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        double start = bench_now();
        trips(c, count);
        half_us[rep] = (bench_now() - start) / (double)count / 2 * 1e6;
    }
    check(c, 7);
    channel_close(c);
    return bench_median(half_us, reps);
}

static void row(struct channel *c, const char *name, int reps, double rep_s)
{
    char way[16], unit[8];
    int parts =
        sscanf(name, "%15[a-z]_%d_%d_%zu%7s", way, &c->out_parts, &c->in_parts, &c->bytes, unit);
    bench_require(parts == 5 && (strcmp(way, "ready") == 0 || strcmp(way, "arrived") == 0),
                  "partitioned: --rows wants names as in ready_16_4_64KiB");
    c->bytes <<= unit[0] == 'K' ? 10 : unit[0] == 'M' ? 20 : 0;
    c->asks = strcmp(way, "arrived") == 0;
    double us = measure(c, reps, rep_s);
    if (c->rank == 0)
        printf("%s %.6g us\n", name, us);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double reps = 9;
    double rep_ms = 10;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each row"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    const char *names = "ready_16_16_64KiB,ready_16_4_64KiB,arrived_16_16_64KiB";
    int kept = 1;
    for (int i = 1; i < argc; i++) { // --rows is a text, so it is taken out
        if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            names = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    bench_options_read(kept, argv, options, NULL);
    int ranks;
    struct channel c = {.rank = -1};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "partitioned: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "partitioned: --reps must be 1 to 101");
    while (names) {
        char name[64] = "";
        size_t n = strcspn(names, ",");
        bench_require(n < sizeof name, "partitioned: --rows has a name that is too long");
        memcpy(name, names, n);
        row(&c, name, (int)reps, rep_ms / 1000);
        names = names[n] == ',' ? names + n + 1 : NULL;
    }
    MPI_Finalize();
    return 0;
}
