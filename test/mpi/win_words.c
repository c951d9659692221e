// SPDX-License-Identifier: BSD-3-Clause
//
// Atomics on single words while rows are accumulated to the same words. Millet changes words by
// instructions of the processor until the first row comes (src/win/lock.h); so each window meets that
// moment once, and this program makes many windows. Nothing must be lost, whoever comes first: all
// ranks add to words of all ranks, in every way that there is, and the sums are checked.
//
// argv[1]: windows.
#include "win_check.h"

enum { WORDS = 8, STEPS = 200 };

// A window's words: so many of each kind, one after the other.
typedef struct words {
    int64_t whole[WORDS];
    double real[WORDS];
    int32_t half[WORDS];
    uint64_t bits[WORDS];
} words;

static void add_by_swaps(const box *b, int target, MPI_Aint at)
{
    int64_t was = 0, found;
    for (;;) {
        int64_t next = was + 1;
        CHECK_OK(MPI_Compare_and_swap(&next, &was, &found, MPI_INT64_T, target, at, b->win));
        CHECK_OK(MPI_Win_flush(target, b->win));
        if (found == was)
            return;
        was = found;
    }
}

// Adds 1 to a word of that rank.
static void add_one(const box *b, int target, int way, int word)
{
    int64_t one = 1, was;
    double real = 1, real_was;
    int32_t half = 1, half_was;
    MPI_Aint whole = box_disp(b, target, offsetof(words, whole) + (size_t)word * 8);
    MPI_Aint reals = box_disp(b, target, offsetof(words, real) + (size_t)word * 8);
    MPI_Aint halves = box_disp(b, target, offsetof(words, half) + (size_t)word * 4);
    if (way == 0)
        CHECK_OK(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, target, whole, MPI_SUM, b->win));
    else if (way == 1)
        CHECK_OK(
            MPI_Accumulate(&one, 1, MPI_INT64_T, target, whole, 1, MPI_INT64_T, MPI_SUM, b->win));
    else if (way == 2)
        add_by_swaps(b, target, whole);
    else if (way == 3)
        CHECK_OK(
            MPI_Accumulate(&real, 1, MPI_DOUBLE, target, reals, 1, MPI_DOUBLE, MPI_SUM, b->win));
    else if (way == 4)
        CHECK_OK(MPI_Fetch_and_op(&real, &real_was, MPI_DOUBLE, target, reals, MPI_SUM, b->win));
    else if (way == 5)
        CHECK_OK(MPI_Fetch_and_op(&half, &half_was, MPI_INT32_T, target, halves, MPI_SUM, b->win));
    else
        CHECK_OK(MPI_Get_accumulate(&half, 1, MPI_INT32_T, &half_was, 1, MPI_INT32_T, target,
                                    halves, 1, MPI_INT32_T, MPI_SUM, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
}

// Adds 1 to all words of that rank, a kind at a time.
static void add_rows(const box *b, int target)
{
    int64_t whole[WORDS];
    double real[WORDS];
    int32_t half[WORDS];
    for (int i = 0; i < WORDS; i++) {
        whole[i] = 1;
        real[i] = 1;
        half[i] = 1;
    }
    MPI_Aint at = box_disp(b, target, offsetof(words, whole));
    CHECK_OK(
        MPI_Accumulate(whole, WORDS, MPI_INT64_T, target, at, WORDS, MPI_INT64_T, MPI_SUM, b->win));
    at = box_disp(b, target, offsetof(words, real));
    CHECK_OK(
        MPI_Accumulate(real, WORDS, MPI_DOUBLE, target, at, WORDS, MPI_DOUBLE, MPI_SUM, b->win));
    at = box_disp(b, target, offsetof(words, half));
    CHECK_OK(
        MPI_Accumulate(half, WORDS, MPI_INT32_T, target, at, WORDS, MPI_INT32_T, MPI_SUM, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
}

// A bit of each rank, set and cleared again: what was there tells that no other rank's update has
// undone its own.
static void flip(const box *b, int target, int word)
{
    uint64_t bit = UINT64_C(1) << b->rank % 64, mask = ~bit, was = 0;
    MPI_Aint at = box_disp(b, target, offsetof(words, bits) + (size_t)word * 8);
    CHECK_OK(MPI_Fetch_and_op(&bit, &was, MPI_UINT64_T, target, at, MPI_BOR, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
    CHECK(!(was & bit));
    CHECK_OK(MPI_Fetch_and_op(NULL, &was, MPI_UINT64_T, target, at, MPI_NO_OP, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
    CHECK(was & bit);
    CHECK_OK(MPI_Fetch_and_op(&mask, &was, MPI_UINT64_T, target, at, MPI_BAND, b->win));
    CHECK_OK(MPI_Win_flush(target, b->win));
    CHECK(was & bit);
}

static void check_sums(const box *b, const long long *given, const long long *rows)
{
    long long all[3], all_rows, got[3] = {0}, sum[3];
    const words *w = (const words *)(const void *)b->base;
    CHECK_OK(MPI_Allreduce(given, all, 3, MPI_LONG_LONG, MPI_SUM, b->comm));
    CHECK_OK(MPI_Allreduce(rows, &all_rows, 1, MPI_LONG_LONG, MPI_SUM, b->comm));
    for (int i = 0; i < WORDS; i++) {
        got[0] += w->whole[i];
        got[1] += (long long)w->real[i];
        got[2] += w->half[i];
        CHECK(w->bits[i] == 0);
    }
    CHECK_OK(MPI_Allreduce(got, sum, 3, MPI_LONG_LONG, MPI_SUM, b->comm));
    for (int k = 0; k < 3; k++)
        CHECK_INT(sum[k], all[k] + all_rows * WORDS);
}

static void window(enum flavor flavor, uint64_t seed)
{
    box b = box_new(flavor, sizeof(words), 1);
    uint64_t random = seed * 1000003 + (uint64_t)b.rank;
    // Some windows see no row, some see rows of one rank, some of several.
    int from = random_below(&random, 3) == 0 ? STEPS : random_below(&random, STEPS);
    long long given[3] = {0}, rows = 0;
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    for (int step = 0; step < STEPS; step++) {
        int target = random_below(&random, b.size), way = random_below(&random, 7);
        add_one(&b, target, way, random_below(&random, WORDS));
        given[way < 3 ? 0 : way < 5 ? 1 : 2]++;
        if (b.size <= 64 && step % 16 == 0)
            flip(&b, target, random_below(&random, WORDS));
        if (step >= from && step % 8 == 0) {
            add_rows(&b, random_below(&random, b.size));
            rows++;
        }
    }
    CHECK_OK(MPI_Win_unlock_all(b.win));
    CHECK_OK(MPI_Barrier(b.comm));
    check_sums(&b, given, &rows);
    CHECK_OK(MPI_Barrier(b.comm));
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int windows = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 0; i < windows; i++)
        for (enum flavor flavor = CREATE; flavor < FLAVORS; flavor++)
            window(flavor, (uint64_t)i);
    CHECK_OK(MPI_Finalize());
    return 0;
}
