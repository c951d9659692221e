// SPDX-License-Identifier: BSD-3-Clause
//
// The time of collectives. `--rows allreduce_8B,bcast_64KiB,barrier` names what is measured; the
// size is count times datatype as the call is given them: the whole vector of a broadcast or an
// all-reduce, one block where there is a block for each rank.
//
// Calls that no rank can leave before all have entered are made back to back; the slowest rank's
// time of the loop is divided by the calls. With a root that would measure how far it can run
// ahead, so there a barrier separates the calls, and the time of one is from the root's entry until
// the last rank has left (to a root: from the last rank's entry until the root has left); all ranks
// are on one machine, whose clock they share. The median over the calls counts. To add up the time
// that each rank is in the call, as the OSU benchmarks do, would measure the barrier as well: how
// much earlier than the root it lets the others go on. Printed is the median of the repetitions.
//
// Every result is checked, byte for byte, before the clock starts and after it has stopped; the
// reductions sum whole numbers, which are exact in any order.
#include "../p2p/bench.h"
#include "tree.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROWS = 64,
    MAX_STAMPED = 4000, // calls in a repetition whose beginning and end are noted
    FEW_CALLS = 16,     // fewer are too few to tell what a call takes
};

typedef struct setting {
    int rank;
    int ranks;
    int count;    // of doubles, or of bytes where nothing is reduced
    size_t bytes; // of a block
    unsigned char *out;
    unsigned char *in;
    int *counts; // for MPI_Reduce_scatter: `count` for each rank
} setting;

// How many blocks a rank has in `out` or `in`; ALL is one for each rank.
typedef enum shape { NONE, ONE, ONE_AT_ROOT, ONE_ELSEWHERE, ALL, ALL_AT_ROOT } shape;

typedef struct collective {
    const char *name;
    void (*call)(const setting *s);
    shape out;
    shape in;
    bool reduces;
    enum { NO_ROOT, FROM_ROOT, TO_ROOT } root;
    bool per_rank; // the time is divided by the ranks, and printed in nanoseconds
} collective;

typedef struct row {
    const collective *what;
    size_t bytes;
} row;

static void call_barrier(const setting *s)
{
    (void)s;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_bcast(const setting *s)
{
    MPI_Bcast(s->rank == 0 ? s->out : s->in, s->count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_allreduce(const setting *s)
{
    MPI_Allreduce(s->out, s->in, s->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_allgather(const setting *s)
{
    MPI_Allgather(s->out, s->count, MPI_BYTE, s->in, s->count, MPI_BYTE, MPI_COMM_WORLD);
}

static void call_alltoall(const setting *s)
{
    MPI_Alltoall(s->out, s->count, MPI_BYTE, s->in, s->count, MPI_BYTE, MPI_COMM_WORLD);
}

static void call_reduce_scatter(const setting *s)
{
    MPI_Reduce_scatter(s->out, s->in, s->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_reduce_scatter_block(const setting *s)
{
    MPI_Reduce_scatter_block(s->out, s->in, s->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_reduce(const setting *s)
{
    MPI_Reduce(s->out, s->in, s->count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void call_gather(const setting *s)
{
    MPI_Gather(s->out, s->count, MPI_BYTE, s->in, s->count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_scatter(const setting *s)
{
    MPI_Scatter(s->out, s->count, MPI_BYTE, s->in, s->count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static const collective collectives[] = {
    {"barrier", call_barrier, NONE, NONE, false, NO_ROOT, false},
    {"barrier_a_rank", call_barrier, NONE, NONE, false, NO_ROOT, true},
    {"bcast", call_bcast, ONE_AT_ROOT, ONE_ELSEWHERE, false, FROM_ROOT, false},
    {"allreduce", call_allreduce, ONE, ONE, true, NO_ROOT, false},
    {"allgather", call_allgather, ONE, ALL, false, NO_ROOT, false},
    {"alltoall", call_alltoall, ALL, ALL, false, NO_ROOT, false},
    {"reduce_scatter", call_reduce_scatter, ALL, ONE, true, NO_ROOT, false},
    {"reduce_scatter_block", call_reduce_scatter_block, ALL, ONE, true, NO_ROOT, false},
    {"reduce", call_reduce, ONE, ONE_AT_ROOT, true, TO_ROOT, false},
    {"gather", call_gather, ONE, ALL_AT_ROOT, false, TO_ROOT, false},
    {"scatter", call_scatter, ALL_AT_ROOT, ONE, false, FROM_ROOT, false},
    {NULL, NULL, NONE, NONE, false, NO_ROOT, false},
};

// ---------------------------------------------------------------------------------------------
// Data and their check: bytes, or whole numbers, that depend on the rank they come from, on the
// block and on the turn.

static bool is_all(shape kind)
{
    return kind == ALL || kind == ALL_AT_ROOT;
}

static size_t blocks_of(shape kind, const setting *s)
{
    bool root = s->rank == 0;
    bool here = kind == ONE_AT_ROOT || kind == ALL_AT_ROOT ? root
                : kind == ONE_ELSEWHERE                    ? !root
                                                           : kind != NONE;
    return !here ? 0 : is_all(kind) ? (size_t)s->ranks : 1;
}

static unsigned seed_of(int rank, int block, unsigned turn)
{
    return (unsigned)rank * 7 + (unsigned)block * 3 + turn;
}

// Eight bytes of the pattern; much data is checked here, so it is made by the word.
static uint64_t word_at(size_t i, unsigned seed)
{
    return (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xC2B2AE3D27D4EB4Fu;
}

static void pattern_fill(unsigned char *buffer, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = word_at(at, seed);
        memcpy(buffer + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}

static bool pattern_holds(const unsigned char *buffer, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = word_at(at, seed);
        if (memcmp(buffer + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word) != 0)
            return false;
    }
    return true;
}

static double number_at(size_t i, int rank, size_t block, unsigned turn)
{
    return (double)((i * 5 + block + turn) % 1021 + (size_t)rank % 64);
}

static void fill(const collective *c, const setting *s, unsigned turn)
{
    for (size_t block = 0; block < blocks_of(c->out, s); block++) {
        unsigned char *at = s->out + block * s->bytes;
        if (!c->reduces)
            pattern_fill(at, s->bytes, seed_of(s->rank, (int)block, turn));
        for (size_t i = 0; c->reduces && i < (size_t)s->count; i++) {
            double number = number_at(i, s->rank, block, turn);
            memcpy(at + i * sizeof number, &number, sizeof number);
        }
    }
}

// The sums over all ranks; what of a number depends on the rank is known for whole rounds of 64.
static bool sums_hold(const setting *s, size_t block, unsigned turn)
{
    double of_ranks = (double)(s->ranks / 64) * (63 * 64 / 2);
    for (int rank = 0; rank < s->ranks % 64; rank++)
        of_ranks += rank;
    for (size_t i = 0; i < (size_t)s->count; i++) {
        double number;
        memcpy(&number, s->in + i * sizeof number, sizeof number);
        if (number != number_at(i, 0, block, turn) * s->ranks + of_ranks)
            return false;
    }
    return true;
}

static bool result_holds(const collective *c, const setting *s, unsigned turn)
{
    int block = is_all(c->out) ? s->rank : 0; // the one that was for this rank
    for (size_t i = 0; i < blocks_of(c->in, s); i++) {
        int from = is_all(c->in) ? (int)i : 0;
        if (c->reduces ? !sums_hold(s, (size_t)block, turn)
                       : !pattern_holds(s->in + i * s->bytes, s->bytes, seed_of(from, block, turn)))
            return false;
    }
    return true;
}

static void check(const collective *c, const setting *s, unsigned turn)
{
    fill(c, s, turn);
    memset(s->in, 0, s->bytes * blocks_of(c->in, s));
    c->call(s);
    bool right = result_holds(c, s, turn);
    if (!right)
        fprintf(stderr, "coll: %s of %zu B is wrong at rank %d\n", c->name, s->bytes, s->rank);
    bench_require(right, "coll: a wrong result");
}

// ---------------------------------------------------------------------------------------------
// Times

// Seconds a call, at rank 0; calls back to back.
static double loop_together(const collective *c, const setting *s, long calls)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = bench_now();
    for (long i = 0; i < calls; i++)
        c->call(s);
    double passed = bench_now() - start;
    tree_max_at_0(s->rank, s->ranks, &passed, 1);
    return passed / (double)calls;
}

// The same for calls with a root, which begin and end at different times.
static double loop_apart(const collective *c, const setting *s, long calls)
{
    bool begins = c->root == TO_ROOT || s->rank == 0;
    bool ends = c->root == FROM_ROOT || s->rank == 0;
    double *stamps = malloc(2 * (size_t)calls * sizeof *stamps);
    bench_require(stamps != NULL, "coll: out of memory");
    for (long i = 0; i < calls; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        stamps[i] = begins ? bench_now() : 0;
        c->call(s);
        stamps[calls + i] = ends ? bench_now() : 0;
    }
    tree_max_at_0(s->rank, s->ranks, stamps, 2 * (int)calls);
    for (long i = 0; i < calls; i++)
        stamps[i] = stamps[calls + i] - stamps[i];
    double median = bench_median(stamps, (int)calls);
    free(stamps);
    return median;
}

static double loop(const collective *c, const setting *s, long calls)
{
    return c->root == NO_ROOT ? loop_together(c, s, calls) : loop_apart(c, s, calls);
}

// Warms up, longer each time, until rank 0 can tell how many calls fill a repetition. What a few
// calls took is believed only if it is far more than that: where ranks share cores the first ones
// wait for whoever has not been scheduled yet.
static long calls_planned(const collective *c, const setting *s, double rep_s)
{
    for (long calls = 1;; calls *= 4) {
        double start = bench_now();
        loop(c, s, calls);
        double passed = bench_now() - start;
        bool enough = passed > (calls < FEW_CALLS ? 4 * rep_s : rep_s / 4);
        long planned = enough ? bench_repeats(passed / (double)calls, rep_s) : 0;
        if (c->root != NO_ROOT && (planned > MAX_STAMPED || calls > MAX_STAMPED / 4))
            planned = MAX_STAMPED;
        planned = (long)tree_from_0(s->rank, s->ranks, (double)planned);
        if (planned > 0)
            return planned;
    }
}

static void print(const row *r, double seconds, int ranks, bool in_seconds)
{
    double value = in_seconds ? seconds : seconds * 1e6;
    const char *unit = in_seconds ? "s" : "us";
    if (r->what->per_rank)
        printf("%s %.6g ns\n", r->what->name, seconds * 1e9 / ranks);
    else if (r->bytes == 0)
        printf("%s %.6g %s\n", r->what->name, value, unit);
    else
        bench_print_size(r->what->name, r->bytes, value, unit);
    fflush(stdout);
}

// A buffer whose pages have been written; small ones are not pages, for a million ranks have them.
static unsigned char *buffer_new(size_t bytes)
{
    const size_t small = 2048;
    if (bytes > small)
        return bench_buffer_new(bytes);
    unsigned char *buffer = malloc(bytes + 1);
    bench_require(buffer != NULL, "coll: out of memory");
    memset(buffer, 0xA5, bytes + 1);
    return buffer;
}

static void measure(const row *r, setting *s, int reps, double rep_s, bool in_seconds)
{
    double times[BENCH_MAX_REPS];
    const collective *c = r->what;
    s->bytes = r->bytes;
    s->count = (int)(c->reduces ? r->bytes / sizeof(double) : r->bytes);
    s->out = buffer_new(s->bytes * blocks_of(c->out, s));
    s->in = buffer_new(s->bytes * blocks_of(c->in, s));
    if (c->call == call_reduce_scatter) {
        s->counts = malloc((size_t)s->ranks * sizeof *s->counts);
        bench_require(s->counts != NULL, "coll: out of memory");
        for (int i = 0; i < s->ranks; i++)
            s->counts[i] = s->count;
    }
    check(c, s, 3);
    long calls = calls_planned(c, s, rep_s);
    for (int rep = 0; rep < reps; rep++)
        times[rep] = loop(c, s, calls);
    check(c, s, 11);
    if (s->rank == 0)
        print(r, bench_median(times, reps), s->ranks, in_seconds);
    free(s->out);
    free(s->in);
    free(s->counts);
    s->counts = NULL;
}

// ---------------------------------------------------------------------------------------------
// The command line

// Reads one of the --rows, `length` characters: a name, and `_8B`, `_4KiB` or `_1MiB` unless it is
// a barrier. Returns whether it is one.
static bool row_read(const char *text, size_t length, row *r)
{
    static const char *const units[] = {"B", "KiB", "MiB"};
    for (const collective *c = collectives; c->name; c++) {
        size_t name = strlen(c->name);
        if (name > length || strncmp(text, c->name, name) != 0)
            continue;
        *r = (row){c, 0};
        if (c->out == NONE && name == length)
            return true;
        char *unit;
        if (c->out == NONE || text[name] != '_' || text[name + 1] < '1' || text[name + 1] > '9')
            continue;
        unsigned long long number = strtoull(text + name + 1, &unit, 10);
        size_t rest = length - (size_t)(unit - text);
        for (int i = 0; i < 3; i++) {
            if (strlen(units[i]) != rest || strncmp(unit, units[i], rest) != 0)
                continue;
            r->bytes = (size_t)number << (10 * i);
            return r->bytes <= 1 << 30 && (!c->reduces || r->bytes % sizeof(double) == 0);
        }
    }
    return false;
}

static int rows_read(const char *text, row rows[MAX_ROWS])
{
    int count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (count == MAX_ROWS || !row_read(text, length, &rows[count])) {
            fprintf(stderr,
                    "--rows: expected up to %d as in allreduce_8B,bcast_4KiB,barrier (reductions "
                    "are of doubles), got '%s'\n",
                    MAX_ROWS, text);
            exit(2);
        }
        count++;
        if (text[length] == '\0')
            return count;
        text += length + 1;
    }
}

// Takes `--rows LIST` out of the command line; returns the list, or NULL.
static const char *rows_take(int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i += 2) {
        if (strcmp(argv[i], "--rows") != 0)
            continue;
        const char *list = argv[i + 1];
        for (int j = i; j + 2 <= *argc; j++)
            argv[j] = argv[j + 2]; // up to and with the NULL at the end
        *argc -= 2;
        return list;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    double reps = 9, rep_ms = 5, in_seconds = 0;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each row"},
        {"--ms", &rep_ms, "milliseconds a repetition, at least one call"},
        {"--seconds", &in_seconds, "1: print seconds, not microseconds"},
        {NULL, NULL, NULL},
    };
    row rows[MAX_ROWS];
    const char *list = rows_take(&argc, argv);
    bench_options_read(argc, argv, options, NULL);
    if (!list)
        list = "barrier,bcast_8B,allreduce_8B,allgather_8B,alltoall_8B,reduce_scatter_8B";
    int count = rows_read(list, rows);

    setting s = {.counts = NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "coll: --reps must be 1 to 101");
    for (int i = 0; i < count; i++)
        measure(&rows[i], &s, (int)reps, rep_ms / 1000, in_seconds != 0);
    MPI_Finalize();
    return 0;
}
