// SPDX-License-Identifier: BSD-3-Clause
//
// Random updates of a table that all ranks share out, as HPCC's MPIRandomAccess makes them: one
// update after the other is either made in the own part or put into a bundle for its owner, and
// before each one the rank asks with MPI_Test whether a bundle has come, by a receive from anybody
// with any tag. A full bundle (8 KiB with two ranks) leaves when the one before it has left. So
// most calls find nothing, and what they cost is most of the time. The table is made small enough
// for a near cache: in HPCC, its misses hide part of that. Whoever makes all updates twice finds
// the table as it was, which is checked.
#include "bench.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG_UPDATES = 1,
    TAG_END = 2,
    TAG_PLAN = 3,
    BUNDLE = 1024,
    OWN_WORDS = 1 << 16,
    WARM_UP = 100000,
};

struct table {
    int rank, ranks;
    uint64_t *words; // OWN_WORDS, those of this rank
    uint64_t *out;   // what is on its way
    uint64_t *next;  // the bundle that is being filled
    uint64_t *in;
    int filled;
    int senders; // that have not said that they have ended
    MPI_Request receive, send;
};

static void post(struct table *t)
{
    MPI_Irecv(t->in, BUNDLE, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
              &t->receive);
}

static void update(struct table *t, uint64_t value)
{
    t->words[value % OWN_WORDS] ^= value;
}

static void take(struct table *t, const MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_UINT64_T, &count);
    for (int i = 0; i < count; i++)
        update(t, t->in[i]);
    if (status->MPI_TAG == TAG_END)
        t->senders--;
    if (t->senders > 0)
        post(t);
}

static void look(struct table *t)
{
    int done = 1;
    while (done && t->senders > 0) {
        MPI_Status status;
        MPI_Test(&t->receive, &done, &status);
        if (done)
            take(t, &status);
    }
}

// Sends what is there to the other rank, once the bundle before has left.
static void flush(struct table *t, int tag)
{
    int done = 0;
    for (;;) {
        MPI_Test(&t->send, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        look(t);
    }
    uint64_t *full = t->next;
    t->next = t->out;
    t->out = full;
    MPI_Isend(full, t->filled, MPI_UINT64_T, !t->rank, tag, MPI_COMM_WORLD, &t->send);
    t->filled = 0;
}

static void updates(struct table *t, long count)
{
    uint64_t value = (uint64_t)t->rank * UINT64_C(0x9E3779B97F4A7C15) + 1;
    t->filled = 0;
    t->senders = t->ranks - 1;
    t->send = MPI_REQUEST_NULL;
    post(t);
    for (long i = 0; i < count; i++) {
        look(t);
        value = value << 1 ^ (value >> 63 ? 7 : 0); // as HPCC does
        if ((int)(value / OWN_WORDS % 2) == t->rank)
            update(t, value);
        else
            t->next[t->filled++] = value;
        if (t->filled == BUNDLE)
            flush(t, TAG_UPDATES);
    }
    flush(t, TAG_END);
    while (t->senders > 0)
        look(t);
    MPI_Wait(&t->send, MPI_STATUS_IGNORE);
}

static long updates_planned(struct table *t, double rep_s)
{
    updates(t, WARM_UP);
    double start = bench_now();
    updates(t, WARM_UP);
    long count = WARM_UP * bench_repeats(bench_now() - start, rep_s);
    if (t->rank == 0)
        MPI_Send(&count, 1, MPI_LONG, 1, TAG_PLAN, MPI_COMM_WORLD);
    else
        MPI_Recv(&count, 1, MPI_LONG, 0, TAG_PLAN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return count;
}

static double measure(struct table *t, int reps, double rep_s)
{
    double million_per_s[BENCH_MAX_REPS];
    long count = updates_planned(t, rep_s);
    for (int rep = 0; rep < reps; rep++) {
        double start = bench_now();
        updates(t, count);
        million_per_s[rep] = (double)t->ranks * (double)count / (bench_now() - start) / 1e6;
        updates(t, count);
    }
    for (uint64_t i = 0; i < OWN_WORDS; i++)
        bench_require(t->words[i] == i,
                      "updates: the table is wrong, an update was lost or doubled");
    return bench_median(million_per_s, reps);
}

int main(int argc, char **argv)
{
    double reps = 11;
    double rep_ms = 20;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    bench_options_read(argc, argv, options, NULL);

    struct table t = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.ranks);
    bench_require(t.ranks == 2, "updates: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "updates: --reps must be 1 to 101");
    t.words = (uint64_t *)bench_buffer_new(OWN_WORDS * sizeof *t.words);
    t.out = (uint64_t *)bench_buffer_new(BUNDLE * sizeof *t.out);
    t.next = (uint64_t *)bench_buffer_new(BUNDLE * sizeof *t.next);
    t.in = (uint64_t *)bench_buffer_new(BUNDLE * sizeof *t.in);
    for (uint64_t i = 0; i < OWN_WORDS; i++)
        t.words[i] = i;
    double rate = measure(&t, (int)reps, rep_ms / 1000);
    if (t.rank == 0)
        bench_print_size("updates", BUNDLE * sizeof *t.out, rate, "M/s");
    free(t.words);
    free(t.out);
    free(t.next);
    free(t.in);
    MPI_Finalize();
    return 0;
}
