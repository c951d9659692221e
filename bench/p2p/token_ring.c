// SPDX-License-Identifier: BSD-3-Clause
//
// One token goes round all ranks; printed is the time from one rank to the next. Only the rank
// that holds the token has anything to do, so with more ranks than cores this measures how fast
// a waiting rank gets a core.
//
// The length is a time, not a number of laps: an MPI whose waiting ranks spin may need a second a
// lap where another needs a millisecond. Rank 0 watches the clock and sends a last token round
// that tells all to stop. The token counts its hops, and every rank checks the count. A period's
// value is the mean of its laps, since in this setting the rare slow laps are what a user feels;
// the median of the periods is printed.
#include "bench.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { TAG_TOKEN = 1 };

struct token {
    int64_t hops;
    int64_t stop;
};

struct ring {
    int rank;
    int ranks;
    int64_t expected; // hops that the next token to arrive here must show
};

static void token_send(const struct ring *ring, struct token token)
{
    token.hops++;
    MPI_Send(&token, 2, MPI_INT64_T, (ring->rank + 1) % ring->ranks, TAG_TOKEN, MPI_COMM_WORLD);
}

static struct token token_receive(struct ring *ring)
{
    struct token token;
    int left = (ring->rank + ring->ranks - 1) % ring->ranks;
    MPI_Recv(&token, 2, MPI_INT64_T, left, TAG_TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_require(token.hops == ring->expected, "token_ring: a token was lost or came twice");
    ring->expected += ring->ranks;
    return token;
}

static struct token lap(struct ring *ring, struct token token)
{
    token_send(ring, token);
    return token_receive(ring);
}

static void lead(struct ring *ring, int periods, double period_s)
{
    struct token token = {0, 0};
    double hop_us[BENCH_MAX_REPS];
    long laps_in_all = 0;
    token = lap(ring, token);
    for (int period = 0; period < periods; period++) {
        long laps = 0;
        double start = bench_now();
        double passed;
        do {
            token = lap(ring, token);
            laps++;
            passed = bench_now() - start;
        } while (passed < period_s);
        hop_us[period] = passed / (double)laps / ring->ranks * 1e6;
        laps_in_all += laps;
    }
    token.stop = 1;
    lap(ring, token);
    printf("token_hop %.6g us\n", bench_median(hop_us, periods));
    printf("token_laps %ld laps\n", laps_in_all);
    fflush(stdout);
}

static void follow(struct ring *ring)
{
    struct token token;
    do {
        token = token_receive(ring);
        token_send(ring, token);
    } while (!token.stop);
}

int main(int argc, char **argv)
{
    double periods = 5;
    double period_ms = 200;
    const struct bench_option options[] = {
        {"--periods", &periods, "timed periods, of at least one lap each"},
        {"--ms", &period_ms, "milliseconds a period"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    struct ring ring;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ring.ranks);
    bench_require(ring.ranks >= 2, "token_ring: needs two ranks or more");
    bench_require(periods >= 1 && periods <= BENCH_MAX_REPS,
                  "token_ring: --periods must be 1 to 101");
    ring.expected = ring.rank == 0 ? ring.ranks : ring.rank;
    if (ring.rank == 0)
        lead(&ring, (int)periods, period_ms / 1000);
    else
        follow(&ring);
    MPI_Finalize();
    return 0;
}
