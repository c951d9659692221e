// SPDX-License-Identifier: BSD-3-Clause
//
// Locks: an exclusive one keeps all others out, shared ones do not; all forms of flush; counters and
// lists that many ranks change at once; locks that many ranks wait for are all given, in the end.

#include "win_check.h"

static int64_t *words(const box *b)
{
    return (int64_t *)(void *)b->base;
}

static MPI_Aint word(const box *b, int rank, int i)
{
    return box_disp(b, rank, (size_t)i * 8);
}

static int64_t get_word(const box *b, int rank, int i)
{
    int64_t value = -1;
    CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, rank, word(b, rank, i), 1, MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_flush(rank, b->win));
    return value;
}

static void put_word(const box *b, int rank, int i, int64_t value)
{
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, rank, word(b, rank, i), 1, MPI_INT64_T, b->win));
    CHECK_OK(MPI_Win_flush(rank, b->win));
}

static int64_t fetch(const box *b, int rank, int i, MPI_Op op, int64_t value)
{
    int64_t was = -1;
    CHECK_OK(MPI_Fetch_and_op(&value, &was, MPI_INT64_T, rank, word(b, rank, i), op, b->win));
    CHECK_OK(MPI_Win_flush(rank, b->win));
    return was;
}

// What a target holds, read by the rank itself.
static int64_t own_word(const box *b, int i)
{
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, b->rank, 0, b->win));
    int64_t value = words(b)[i];
    CHECK_OK(MPI_Win_unlock(b->rank, b->win));
    return value;
}

// Reads and writes that would lose counts if two ranks were in at once, and a mark that tells.
static void exclusive(enum flavor flavor, int times)
{
    box b = box_new(flavor, 16, 8);
    for (int i = 0; i < times; i++)
        for (int target = 0; target < b.size; target += 1 + b.size / 2) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, b.win));
            CHECK_INT(get_word(&b, target, 1), 0);
            put_word(&b, target, 1, b.rank + 1);
            int64_t value = get_word(&b, target, 0);
            put_word(&b, target, 0, value + 1);
            CHECK_INT(get_word(&b, target, 1), b.rank + 1);
            put_word(&b, target, 1, 0);
            CHECK_OK(MPI_Win_unlock(target, b.win));
        }
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_INT(own_word(&b, 0), b.rank % (1 + b.size / 2) == 0 ? (int64_t)times * b.size : 0);
    box_free(&b);
}

// Readers and writers: word 0 counts readers that are in, word 1 is odd while a writer is.
static void readers(enum flavor flavor, int times)
{
    box b = box_new(flavor, 16, 8);
    for (int i = 0; i < times; i++) {
        int writes = (i + b.rank) % 3 == 0;
        CHECK_OK(MPI_Win_lock(writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, b.win));
        if (writes) {
            CHECK_INT(fetch(&b, 0, 0, MPI_NO_OP, 0), 0);
            CHECK_INT(fetch(&b, 0, 1, MPI_SUM, 1) % 2, 0);
            CHECK_INT(fetch(&b, 0, 1, MPI_SUM, 1) % 2, 1);
        } else {
            fetch(&b, 0, 0, MPI_SUM, 1);
            CHECK_INT(fetch(&b, 0, 1, MPI_NO_OP, 0) % 2, 0);
            fetch(&b, 0, 0, MPI_SUM, -1);
        }
        CHECK_OK(MPI_Win_unlock(0, b.win));
    }
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_INT(own_word(&b, 0), 0);
    box_free(&b);
}

// All are in at once: each waits, in its lock, for all others.
static void together(enum flavor flavor, int all)
{
    box b = box_new(flavor, 8, 8);
    if (all)
        CHECK_OK(MPI_Win_lock_all(0, b.win));
    else
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, b.win));
    CHECK_OK(MPI_Barrier(b.comm));
    fetch(&b, 0, 0, MPI_SUM, 1);
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_INT(fetch(&b, 0, 0, MPI_NO_OP, 0), b.size);
    if (all)
        CHECK_OK(MPI_Win_unlock_all(b.win));
    else
        CHECK_OK(MPI_Win_unlock(0, b.win));
    box_free(&b);
}

// Tickets: every number is given once.
static void tickets(enum flavor flavor, int times)
{
    box b = box_new(flavor, 8, 8);
    char *mine = must_alloc((size_t)(times * b.size)), *all = must_alloc((size_t)(times * b.size));
    int64_t last = -1;
    memset(mine, 0, (size_t)(times * b.size));
    CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, b.win));
    for (int i = 0; i < times; i++) {
        int64_t ticket = fetch(&b, 0, 0, MPI_SUM, 1);
        CHECK(ticket > last && ticket < (int64_t)times * b.size);
        mine[ticket] = 1;
        last = ticket;
    }
    CHECK_OK(MPI_Win_unlock_all(b.win));
    CHECK_OK(MPI_Allreduce(mine, all, times * b.size, MPI_SIGNED_CHAR, MPI_SUM, b.comm));
    for (int i = 0; i < times * b.size; i++)
        CHECK_INT(all[i], 1);
    free(mine);
    free(all);
    box_free(&b);
}

// A counter by compare and swap alone.
static void swaps(enum flavor flavor, int times)
{
    box b = box_new(flavor, 8, 8);
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    for (int done = 0; done < times;) {
        int64_t was = fetch(&b, 0, 0, MPI_NO_OP, 0), next = was + 1, found = -1;
        CHECK_OK(MPI_Compare_and_swap(&next, &was, &found, MPI_INT64_T, 0, word(&b, 0, 0), b.win));
        CHECK_OK(MPI_Win_flush(0, b.win));
        done += found == was;
    }
    CHECK_OK(MPI_Win_unlock_all(b.win));
    CHECK_OK(MPI_Barrier(b.comm));
    CHECK_INT(own_word(&b, 0), b.rank == 0 ? (int64_t)times * b.size : 0);
    box_free(&b);
}

// Every flush: what it completes may be seen, and origin buffers may be used again.
static void flushes(enum flavor flavor)
{
    box b = box_new(flavor, 64, 8);
    int right = (b.rank + 1) % b.size;
    int64_t value = 1, got = -1;
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    CHECK_OK(MPI_Win_flush_all(b.win)); // nothing to do
    CHECK_OK(MPI_Win_flush_local_all(b.win));
    CHECK_OK(MPI_Win_sync(b.win));
    for (int way = 0; way < 4; way++) {
        int64_t was = value;
        CHECK_OK(
            MPI_Put(&value, 1, MPI_INT64_T, right, word(&b, right, way), 1, MPI_INT64_T, b.win));
        if (way == 0)
            CHECK_OK(MPI_Win_flush(right, b.win));
        if (way == 1)
            CHECK_OK(MPI_Win_flush_all(b.win));
        if (way == 2)
            CHECK_OK(MPI_Win_flush_local(right, b.win));
        if (way == 3)
            CHECK_OK(MPI_Win_flush_local_all(b.win));
        value = -77; // the origin's buffer is free
        if (way >= 2)
            CHECK_OK(MPI_Win_flush(right, b.win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, right, word(&b, right, way), 1, MPI_INT64_T, b.win));
        if (way % 2)
            CHECK_OK(MPI_Win_flush_local(right, b.win));
        else
            CHECK_OK(MPI_Win_flush_all(b.win));
        CHECK_INT(got, was);
        value = was + 1;
    }
    CHECK_OK(MPI_Win_unlock_all(b.win));
    box_free(&b);
}

// A flush makes a put visible to a third rank that is told of it by a message.
static void told(enum flavor flavor)
{
    box b = box_new(flavor, 8, 8);
    int64_t value = 0;
    CHECK_OK(MPI_Win_lock_all(0, b.win));
    for (int i = 0; i < 20 && b.size > 2; i++) {
        if (b.rank == 0) {
            put_word(&b, 1, 0, i + 1);
            CHECK_OK(MPI_Send(&value, 1, MPI_INT64_T, 2, 1, b.comm));
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT64_T, 2, 1, b.comm, MPI_STATUS_IGNORE));
        } else if (b.rank == 2) {
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT64_T, 0, 1, b.comm, MPI_STATUS_IGNORE));
            CHECK_INT(get_word(&b, 1, 0), i + 1);
            CHECK_OK(MPI_Send(&value, 1, MPI_INT64_T, 0, 1, b.comm));
        }
    }
    CHECK_OK(MPI_Win_unlock_all(b.win));
    box_free(&b);
}

// Several targets at once, in rising order, so that nobody waits in a circle.
static void several(enum flavor flavor)
{
    box b = box_new(flavor, 8, 8);
    for (int round = 0; round < 10; round++) {
        int step = 1 + (b.rank + round) % 3;
        for (int i = 0; i < b.size; i += step)
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i, 0, b.win));
        for (int i = 0; i < b.size; i += step) {
            int64_t value = get_word(&b, i, 0);
            put_word(&b, i, 0, value + 1);
        }
        for (int i = 0; i < b.size; i += step)
            CHECK_OK(MPI_Win_unlock(i, b.win));
    }
    CHECK_OK(MPI_Barrier(b.comm));
    int64_t want = 0;
    for (int rank = 0; rank < b.size; rank++)
        for (int round = 0; round < 10; round++)
            want += b.rank % (1 + (rank + round) % 3) == 0;
    CHECK_INT(own_word(&b, 0), want);
    box_free(&b);
}

// The target does nothing but wait in a call that has nothing to do with the window.
static void elsewhere(enum flavor flavor, int how)
{
    box b = box_new(flavor, 8, 8);
    int64_t token = 0;
    MPI_Request r;
    MPI_Status status;
    if (b.rank == 0 && b.size > 1) {
        if (how == 0)
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT64_T, 1, 1, b.comm, MPI_STATUS_IGNORE));
        if (how == 1) {
            CHECK_OK(MPI_Irecv(&token, 1, MPI_INT64_T, 1, 1, b.comm, &r));
            CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        }
        if (how == 2) {
            CHECK_OK(MPI_Probe(1, 1, b.comm, &status));
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT64_T, 1, 1, b.comm, MPI_STATUS_IGNORE));
        }
        CHECK_INT(own_word(&b, 0), 100);
    } else if (b.rank == 1) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, b.win));
        for (int i = 0; i < 100; i++) {
            int64_t value = get_word(&b, 0, 0);
            put_word(&b, 0, 0, value + 1);
        }
        CHECK_OK(MPI_Win_unlock(0, b.win));
        CHECK_OK(MPI_Send(&token, 1, MPI_INT64_T, 0, 1, b.comm));
    }
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int times = argc > 1 ? atoi(argv[1]) : 20;
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        enum flavor f = (enum flavor)flavor;
        exclusive(f, times);
        readers(f, times);
        together(f, 0);
        together(f, 1);
        tickets(f, times);
        swaps(f, times);
        flushes(f);
        told(f);
        several(f);
        for (int how = 0; how < 3; how++)
            elsewhere(f, how);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
