// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided transfers from rank 0 to rank 1, timed at rank 0. Rows are named operation_window_size:
//
//   put, get, accumulate      and a flush, within one epoch of locks; doubles are added
//   fetch_and_op, compare_and_swap   of 8 bytes, and a flush
//   burst                     64 puts and one flush, divided by 64
//   lock_put                  lock, put, unlock; the target is in a receive all the while
//   fence                     fence, put, fence: the time from one fence to the next
//   pscw                      post, start, put, complete, wait
//   direct                    of a shared window: memcpy to the other rank's memory
//   atomic                    of a shared window: an addition by the processor's instruction
//
// Windows are `allocate`, `create` (of memory that the program has allocated) and `shared`. --rows
// names what is measured. While rank 0 measures, rank 1 waits in a receive or takes part, as the
// operation wants. The data are checked before and after.
#include "../p2p/bench.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG = 1,
    WARM_UP = 20,
    BURST = 64,
};

struct window {
    MPI_Win win;
    MPI_Comm comm;
    MPI_Group other;
    int rank;
    size_t bytes;
    unsigned char *base;  // of this rank's memory
    unsigned char *there; // the other rank's, in a shared window
    unsigned char *data;
};

typedef void operation(const struct window *w, long count);

static void put(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
        MPI_Win_flush(1, w->win);
    }
}

static void get(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Get(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
        MPI_Win_flush(1, w->win);
    }
}

static void accumulate(const struct window *w, long count)
{
    int n = (int)(w->bytes / sizeof(double));
    for (long i = 0; i < count; i++) {
        MPI_Accumulate(w->data, n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, MPI_SUM, w->win);
        MPI_Win_flush(1, w->win);
    }
}

static void fetch_and_op(const struct window *w, long count)
{
    int64_t one = 1;
    int64_t was;
    for (long i = 0; i < count; i++) {
        MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 1, 0, MPI_SUM, w->win);
        MPI_Win_flush(1, w->win);
    }
}

static void compare_and_swap(const struct window *w, long count)
{
    int64_t was = 0;
    for (long i = 0; i < count; i++) {
        int64_t next = was + 1;
        int64_t found;
        MPI_Compare_and_swap(&next, &was, &found, MPI_INT64_T, 1, 0, w->win);
        MPI_Win_flush(1, w->win);
        was = found == was ? next : found;
    }
}

static void burst(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
        if (i % BURST == BURST - 1)
            MPI_Win_flush(1, w->win);
    }
    MPI_Win_flush(1, w->win);
}

static void lock_put(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w->win);
        MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
        MPI_Win_unlock(1, w->win);
    }
}

static void fence(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        MPI_Win_fence(0, w->win);
        if (w->rank == 0)
            MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
    }
    MPI_Win_fence(0, w->win);
}

static void pscw(const struct window *w, long count)
{
    for (long i = 0; i < count && w->rank == 0; i++) {
        MPI_Win_start(w->other, 0, w->win);
        MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
        MPI_Win_complete(w->win);
    }
    for (long i = 0; i < count && w->rank == 1; i++) {
        MPI_Win_post(w->other, 0, w->win);
        MPI_Win_wait(w->win);
    }
}

static void direct(const struct window *w, long count)
{
    for (long i = 0; i < count; i++) {
        memcpy(w->there, w->data, w->bytes);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void atomic(const struct window *w, long count)
{
    _Atomic int64_t *word = (_Atomic int64_t *)(void *)w->there;
    for (long i = 0; i < count; i++)
        atomic_fetch_add(word, 1);
}

// The kinds of epochs around an operation.
enum around {
    LOCKED,  // rank 0 has locked all; rank 1 waits in a receive
    WAITING, // rank 1 waits in a receive
    BOTH,    // both ranks call the operation
};

static const struct row {
    const char *name;
    operation *run;
    enum around around;
} rows[] = {
    {"put", put, LOCKED},
    {"get", get, LOCKED},
    {"accumulate", accumulate, LOCKED},
    {"fetch_and_op", fetch_and_op, LOCKED},
    {"compare_and_swap", compare_and_swap, LOCKED},
    {"burst", burst, LOCKED},
    {"lock_put", lock_put, WAITING},
    {"fence", fence, BOTH},
    {"pscw", pscw, BOTH},
    {"direct", direct, LOCKED},
    {"atomic", atomic, LOCKED},
};

static void window_open(struct window *w, const char *kind, size_t bytes)
{
    MPI_Group all;
    int other = 1 - w->rank;
    int unit;
    MPI_Aint size;
    MPI_Aint whole = (MPI_Aint)(bytes + 4095) / 4096 * 4096; // MPICH 4.0 loses puts to odd sizes
    w->bytes = bytes;
    w->there = NULL;
    w->data = bench_buffer_new(bytes);
    if (strcmp(kind, "create") == 0) {
        w->base = bench_buffer_new(bytes);
        MPI_Win_create(w->base, whole, 1, MPI_INFO_NULL, w->comm, &w->win);
    } else if (strcmp(kind, "shared") == 0) {
        MPI_Win_allocate_shared(whole, 1, MPI_INFO_NULL, w->comm, &w->base, &w->win);
        MPI_Win_shared_query(w->win, other, &size, &unit, &w->there);
    } else {
        MPI_Win_allocate(whole, 1, MPI_INFO_NULL, w->comm, &w->base, &w->win);
    }
    memset(w->base, 0, bytes);
    memset(w->data, 0, bytes);
    MPI_Win_get_group(w->win, &all);
    MPI_Group_incl(all, 1, &other, &w->other);
    MPI_Group_free(&all);
    MPI_Barrier(w->comm);
}

static void window_close(struct window *w, const char *kind)
{
    MPI_Group_free(&w->other);
    MPI_Win_free(&w->win);
    if (strcmp(kind, "create") == 0)
        free(w->base);
    free(w->data);
}

// A put that arrives.
static void check(const struct window *w, unsigned seed)
{
    if (w->rank == 0)
        bench_pattern_fill(w->data, w->bytes, seed);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
    if (w->rank == 0)
        MPI_Put(w->data, (int)w->bytes, MPI_BYTE, 1, 0, (int)w->bytes, MPI_BYTE, w->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    MPI_Barrier(w->comm);
    if (w->rank == 1)
        bench_require(bench_pattern_holds(w->base, w->bytes, seed), "rma: the data is wrong");
    if (w->rank == 1)
        memset(w->base, 0, w->bytes);
    memset(w->data, 0, w->bytes);
    MPI_Barrier(w->comm);
}

// Rank 1 while rank 0 measures.
static void serve(const struct window *w, const struct row *row)
{
    char nothing;
    long plan[2];
    if (row->around != BOTH) {
        MPI_Recv(&nothing, 1, MPI_CHAR, 0, TAG, w->comm, MPI_STATUS_IGNORE);
        return;
    }
    for (;;) {
        MPI_Bcast(plan, 2, MPI_LONG, 0, w->comm);
        if (plan[0] == 0)
            return;
        row->run(w, plan[0]);
        row->run(w, plan[1]);
    }
}

// Warms up by `before` calls, and times `count`; returns the seconds of one.
static double session(const struct window *w, const struct row *row, long before, long count)
{
    long plan[2] = {before, count};
    if (row->around == BOTH)
        MPI_Bcast(plan, 2, MPI_LONG, 0, w->comm);
    row->run(w, before);
    double start = bench_now();
    row->run(w, count);
    return (bench_now() - start) / (double)count;
}

static void finish(const struct window *w, const struct row *row)
{
    char nothing = 0;
    long plan[2] = {0, 0};
    if (row->around == BOTH)
        MPI_Bcast(plan, 2, MPI_LONG, 0, w->comm);
    else
        MPI_Send(&nothing, 1, MPI_CHAR, 1, TAG, w->comm);
}

static double measure(const struct window *w, const struct row *row, int reps, double rep_s)
{
    double us[BENCH_MAX_REPS];
    if (w->rank == 1) {
        serve(w, row);
        return 0;
    }
    if (row->around == LOCKED)
        MPI_Win_lock_all(0, w->win);
    long count = bench_repeats(session(w, row, WARM_UP, WARM_UP), rep_s);
    for (int rep = 0; rep < reps; rep++)
        us[rep] = session(w, row, WARM_UP, count) * 1e6;
    if (row->around == LOCKED)
        MPI_Win_unlock_all(w->win);
    finish(w, row);
    return bench_median(us, reps);
}

// Splits `operation_window_size`; returns the row, or NULL.
static const struct row *row_of(const char *text, char kind[16], size_t *bytes)
{
    static const char *const kinds[] = {"allocate", "create", "shared"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].name);
        if (strncmp(text, rows[i].name, n) != 0 || text[n] != '_')
            continue;
        for (int k = 0; k < 3; k++) {
            size_t m = strlen(kinds[k]);
            if (strncmp(text + n + 1, kinds[k], m) != 0 || text[n + 1 + m] != '_')
                continue;
            char *unit;
            *bytes = (size_t)strtoull(text + n + m + 2, &unit, 10);
            *bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
            strcpy(kind, kinds[k]);
            return *bytes > 0 ? &rows[i] : NULL;
        }
    }
    return NULL;
}

// The first of the names, and where the others begin; NULL after the last.
static const char *next_name(const char *names, char name[64])
{
    size_t n = strcspn(names, ",");
    bench_require(n > 0 && n < 64, "rma: --rows has an empty name, or one that is too long");
    memcpy(name, names, n);
    name[n] = '\0';
    return names[n] == ',' ? names + n + 1 : NULL;
}

static void all_rows(struct window *w, const char *names, int reps, double rep_s)
{
    char name[64];
    while (names) {
        names = next_name(names, name);
        char kind[16];
        size_t bytes = 0;
        const struct row *row = row_of(name, kind, &bytes);
        bench_require(row != NULL, "rma: --rows has a name that is no operation_window_size");
        window_open(w, kind, bytes);
        check(w, 3);
        double us = measure(w, row, reps, rep_s);
        MPI_Barrier(w->comm);
        check(w, 7);
        if (w->rank == 0)
            printf("%s %.6g us\n", name, us);
        fflush(stdout);
        window_close(w, kind);
    }
}

int main(int argc, char **argv)
{
    double reps = 7;
    double rep_ms = 5;
    const struct bench_option options[] = {
        {"--reps", &reps, "timed repetitions of each row"},
        {"--ms", &rep_ms, "milliseconds a repetition"},
        {NULL, NULL, NULL},
    };
    const char *names =
        "put_allocate_8B,get_allocate_8B,lock_put_allocate_8B,fence_allocate_8B,pscw_allocate_8B";
    int kept = 1;
    for (int i = 1; i < argc; i++) { // --rows is a text, so it is taken out
        if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            names = argv[++i];
        else
            argv[kept++] = argv[i];
    }
    bench_options_read(kept, argv, options, NULL);
    int ranks;
    struct window w = {.comm = MPI_COMM_WORLD};
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bench_require(ranks == 2, "rma: needs exactly two ranks");
    bench_require(reps >= 1 && reps <= BENCH_MAX_REPS, "rma: --reps must be 1 to 101");
    all_rows(&w, names, (int)reps, rep_ms / 1000);
    MPI_Finalize();
    return 0;
}
