// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of a rank use a window at the same time: each its own part of it, then all the same
// counter; and locks of different targets, each by its own thread.

#include "threads.h"
#include "win_check.h"

enum { THREADS = 4, ROUNDS = 100 };

typedef struct job {
    box b;
    int kind;
} job;

static void parts(const box *b, int thread)
{
    int right = (b->rank + 1) % b->size;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t value = 1000 * thread + i, got = -1;
        MPI_Aint at = box_disp(b, right, (size_t)thread * 8);
        CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_flush(right, b->win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, right, at, 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_flush(right, b->win));
        CHECK_INT(got, value);
    }
}

static void counter(const box *b)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t one = 1, was = -1;
        MPI_Request r;
        MPI_Aint at = box_disp(b, 0, THREADS * 8);
        if (i % 2) {
            CHECK_OK(MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 0, at, MPI_SUM, b->win));
            CHECK_OK(MPI_Win_flush(0, b->win));
        } else {
            CHECK_OK(MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &was, 1, MPI_INT64_T, 0, at, 1,
                                         MPI_INT64_T, MPI_SUM, b->win, &r));
            CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        CHECK(was >= 0 && was < (int64_t)THREADS * ROUNDS * b->size);
    }
}

// Thread i locks target i, of all ranks at once.
static void locks(const box *b, int thread)
{
    for (int i = 0; i < ROUNDS && thread < b->size; i++) {
        int64_t value = -1;
        MPI_Aint at = box_disp(b, thread, 0);
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, thread, 0, b->win));
        CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, thread, at, 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_flush(thread, b->win));
        value++;
        CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, thread, at, 1, MPI_INT64_T, b->win));
        CHECK_OK(MPI_Win_unlock(thread, b->win));
    }
}

static void work(team *t, int index)
{
    job *j = t->data;
    if (j->kind == 0)
        parts(&j->b, index);
    if (j->kind == 1)
        counter(&j->b);
    if (j->kind == 2)
        locks(&j->b, index);
}

static void all_of(enum flavor flavor, int kind)
{
    job j = {.b = box_new(flavor, (THREADS + 1) * 8, 8), .kind = kind};
    team t = {.work = work, .data = &j};
    if (kind < 2)
        CHECK_OK(MPI_Win_lock_all(0, j.b.win));
    team_start(&t, THREADS);
    team_join(&t);
    if (kind < 2)
        CHECK_OK(MPI_Win_unlock_all(j.b.win));
    CHECK_OK(MPI_Barrier(j.b.comm));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, j.b.rank, 0, j.b.win));
    const int64_t *words = (const int64_t *)(const void *)j.b.base;
    if (kind == 1)
        CHECK_INT(words[THREADS], j.b.rank == 0 ? (int64_t)THREADS * ROUNDS * j.b.size : 0);
    if (kind == 2)
        CHECK_INT(words[0], j.b.rank < THREADS ? (int64_t)ROUNDS * j.b.size : 0);
    CHECK_OK(MPI_Win_unlock(j.b.rank, j.b.win));
    box_free(&j.b);
}

int main(void)
{
    init_level(MPI_THREAD_MULTIPLE);
    for (int flavor = 0; flavor < FLAVORS; flavor++)
        for (int kind = 0; kind < 3; kind++)
            all_of((enum flavor)flavor, kind);
    CHECK_OK(MPI_Finalize());
    return 0;
}
