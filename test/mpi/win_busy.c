// SPDX-License-Identifier: BSD-3-Clause
//
// A target that computes holds nobody up: rank 1 does not call MPI while it looks at a word of its
// own window, and rank 0 locks, puts, gets, accumulates, flushes and unlocks meanwhile. Only then
// rank 0 sets the word. If a call needed the target's help, neither rank would ever go on.
//
// In memory that MPI allocates, or within a process in any. Ranks are alone in their workers.
// argv[1]: shared, allocate or create.

#include <stdatomic.h>

#include "win_check.h"

enum { WORDS = 1000 };

static void origin(const box *b)
{
    int64_t *out = must_alloc(WORDS * 8), one = 1, was = -1, got = -1, none = 0;
    for (int i = 0; i < WORDS; i++)
        out[i] = i;
    for (int round = 0; round < 3; round++) {
        CHECK_OK(MPI_Win_lock(round ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, b->win));
        CHECK_OK(MPI_Put(out + 1, WORDS - 1, MPI_INT64_T, 1, 1, WORDS - 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_OK(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 1, 5, MPI_SUM, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_INT(was, 5);
        CHECK_OK(MPI_Accumulate(out, WORDS - 10, MPI_INT64_T, 1, 10, WORDS - 10, MPI_INT64_T,
                                MPI_SUM, b->win));
        CHECK_OK(MPI_Win_flush(1, b->win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, 1, 20, 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_unlock(1, b->win));
        CHECK_INT(got, 30);
    }
    CHECK_OK(MPI_Win_lock_all(0, b->win));
    CHECK_OK(MPI_Compare_and_swap(&one, &none, &was, MPI_INT64_T, 1, 0, b->win));
    CHECK_OK(MPI_Win_unlock_all(b->win));
    free(out);
}

static void target(const box *b)
{
    _Atomic int64_t *flag = (_Atomic int64_t *)(void *)b->base;
    while (atomic_load_explicit(flag, memory_order_acquire) == 0)
        continue;
    CHECK_INT(((int64_t *)(void *)b->base)[20], 30);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    const char *which = argc > 1 ? argv[1] : "shared";
    enum flavor flavor = strcmp(which, "create") == 0     ? CREATE
                         : strcmp(which, "allocate") == 0 ? ALLOCATE
                                                          : SHARED;
    box b = box_new(flavor, WORDS * 8, 8);
    CHECK_INT(b.size, 2);
    if (b.rank == 0)
        origin(&b);
    else
        target(&b);
    CHECK_OK(MPI_Barrier(b.comm));
    box_free(&b);
    CHECK_OK(MPI_Finalize());
    return 0;
}
