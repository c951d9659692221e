// SPDX-License-Identifier: BSD-3-Clause
//
// Fences with all assertions; post, start, complete, wait and test between groups of all sizes;
// several windows at once; epochs that follow each other.

#include "win_check.h"

static int *ints(const box *b)
{
    return (int *)(void *)b->base;
}

// A value travels round, a fence a hop; assertions say what is true.
static void fences(enum flavor flavor)
{
    box b = box_new(flavor, 2 * sizeof(int), sizeof(int));
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size, out = b.rank;
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, b.win));
    for (int hop = 1; hop <= 3 * b.size; hop++) {
        int last = hop == 3 * b.size, assert = last ? MPI_MODE_NOSUCCEED : 0;
        CHECK_OK(MPI_Put(&out, 1, MPI_INT, right, box_disp(&b, right, 0), 1, MPI_INT, b.win));
        CHECK_OK(MPI_Win_fence(assert, b.win));
        CHECK_INT(ints(&b)[0], (b.rank - hop % b.size + b.size) % b.size);
        out = ints(&b)[0];
        if (!last) // nobody may write what is being read
            CHECK_OK(MPI_Win_fence(MPI_MODE_NOSTORE | (hop % 2 ? MPI_MODE_NOPUT : 0), b.win));
        if (hop % 2 && !last) { // an epoch of gets only
            int got = -1;
            CHECK_OK(MPI_Get(&got, 1, MPI_INT, left, box_disp(&b, left, 0), 1, MPI_INT, b.win));
            CHECK_OK(MPI_Win_fence(MPI_MODE_NOSTORE, b.win));
            CHECK_INT(got, (left - hop % b.size + b.size) % b.size);
        }
    }
    for (int i = 0; i < 100; i++) // empty ones
        CHECK_OK(MPI_Win_fence(0, b.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, b.win));
    box_free(&b);
}

// Neighbours in a ring: each exposes to its left, and writes to its right.
static void ring(enum flavor flavor, int way)
{
    box b = box_new(flavor, sizeof(int), sizeof(int));
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    MPI_Group to, from;
    CHECK_OK(MPI_Group_incl(b.group, 1, &right, &to));
    CHECK_OK(MPI_Group_incl(b.group, 1, &left, &from));
    for (int round = 0; round < 50; round++) {
        int out = 1000 * round + b.rank, done = 0;
        CHECK_OK(MPI_Win_post(from, round % 2 ? MPI_MODE_NOSTORE : 0, b.win));
        if (way == 2) // with NOCHECK the posts must have been called before
            CHECK_OK(MPI_Barrier(b.comm));
        CHECK_OK(MPI_Win_start(to, way == 2 ? MPI_MODE_NOCHECK : 0, b.win));
        CHECK_OK(MPI_Put(&out, 1, MPI_INT, right, box_disp(&b, right, 0), 1, MPI_INT, b.win));
        CHECK_OK(MPI_Win_complete(b.win));
        while (way == 1 && !done)
            CHECK_OK(MPI_Win_test(b.win, &done));
        if (way != 1)
            CHECK_OK(MPI_Win_wait(b.win));
        CHECK_INT(ints(&b)[0], 1000 * round + left);
    }
    CHECK_OK(MPI_Group_free(&to));
    CHECK_OK(MPI_Group_free(&from));
    box_free(&b);
}

// One target of all others, and one origin to all others; the others come when they like.
static void stars(enum flavor flavor)
{
    size_t bytes = (size_t)world_size() * sizeof(int);
    box b = box_new(flavor, bytes, sizeof(int));
    for (int middle = 0; middle < b.size && b.size > 1; middle++) {
        MPI_Group one, others;
        int value = 10 * middle + b.rank + 1;
        CHECK_OK(MPI_Group_incl(b.group, 1, &middle, &one));
        CHECK_OK(MPI_Group_excl(b.group, 1, &middle, &others));
        if (b.rank == middle) {
            memset(b.base, 0, bytes);
            CHECK_OK(MPI_Win_post(others, 0, b.win));
            CHECK_OK(MPI_Win_wait(b.win));
            for (int i = 0; i < b.size; i++)
                CHECK_INT(ints(&b)[i], i == middle ? 0 : 10 * middle + i + 1);
            CHECK_OK(MPI_Win_start(others, 0, b.win));
            for (int i = 0; i < b.size; i++)
                if (i != middle)
                    CHECK_OK(MPI_Put(&value, 1, MPI_INT, i, box_disp(&b, i, 0), 1, MPI_INT, b.win));
            CHECK_OK(MPI_Win_complete(b.win));
        } else {
            CHECK_OK(MPI_Win_start(one, 0, b.win));
            CHECK_OK(MPI_Put(&value, 1, MPI_INT, middle,
                             box_disp(&b, middle, (size_t)b.rank * sizeof(int)), 1, MPI_INT,
                             b.win));
            CHECK_OK(MPI_Win_complete(b.win));
            CHECK_OK(MPI_Win_post(one, 0, b.win));
            CHECK_OK(MPI_Win_wait(b.win));
            CHECK_INT(ints(&b)[0], 10 * middle + middle + 1);
        }
        CHECK_OK(MPI_Group_free(&one));
        CHECK_OK(MPI_Group_free(&others));
    }
    box_free(&b);
}

// A post to nobody, a start of nobody; a group in another order; this rank alone.
static void odd_groups(enum flavor flavor)
{
    box b = box_new(flavor, sizeof(int), sizeof(int));
    MPI_Group back, own;
    int range[1][3] = {{b.size - 1, 0, -1}}, value = 5 + b.rank;
    CHECK_OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, b.win));
    CHECK_OK(MPI_Win_wait(b.win));
    CHECK_OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, b.win));
    CHECK_OK(MPI_Win_complete(b.win));
    CHECK_OK(MPI_Group_range_incl(b.group, 1, range, &back));
    CHECK_OK(MPI_Win_post(back, 0, b.win));
    CHECK_OK(MPI_Win_start(back, 0, b.win));
    CHECK_OK(MPI_Win_complete(b.win));
    CHECK_OK(MPI_Win_wait(b.win));
    CHECK_OK(MPI_Group_incl(b.group, 1, &b.rank, &own));
    CHECK_OK(MPI_Win_post(own, 0, b.win));
    CHECK_OK(MPI_Win_start(own, 0, b.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, b.rank, box_disp(&b, b.rank, 0), 1, MPI_INT, b.win));
    CHECK_OK(MPI_Win_complete(b.win));
    CHECK_OK(MPI_Win_wait(b.win));
    CHECK_INT(ints(&b)[0], value);
    CHECK_OK(MPI_Group_free(&back));
    CHECK_OK(MPI_Group_free(&own));
    box_free(&b);
}

// Epochs of two windows at once: the origin of one is the target of the other.
static void two_windows(void)
{
    box a = box_new(ALLOCATE, sizeof(int), sizeof(int)),
        b = box_new(CREATE, sizeof(int), sizeof(int));
    int right = (a.rank + 1) % a.size, left = (a.rank + a.size - 1) % a.size, out = a.rank,
        got = -1;
    MPI_Group to, from;
    CHECK_OK(MPI_Group_incl(a.group, 1, &right, &to));
    CHECK_OK(MPI_Group_incl(a.group, 1, &left, &from));
    CHECK_OK(MPI_Win_fence(0, b.win));
    CHECK_OK(MPI_Win_post(from, 0, a.win));
    CHECK_OK(MPI_Win_start(to, 0, a.win));
    CHECK_OK(MPI_Put(&out, 1, MPI_INT, right, 0, 1, MPI_INT, a.win));
    CHECK_OK(MPI_Put(&out, 1, MPI_INT, left, 0, 1, MPI_INT, b.win));
    CHECK_OK(MPI_Win_complete(a.win));
    CHECK_OK(MPI_Win_wait(a.win));
    CHECK_INT(ints(&a)[0], left);
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, b.win));
    CHECK_INT(ints(&b)[0], right);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_lock_all(0, a.win)); // and two kinds of locks
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, left, 0, b.win));
    CHECK_OK(MPI_Get(&got, 1, MPI_INT, left, 0, 1, MPI_INT, b.win));
    CHECK_OK(MPI_Win_unlock(left, b.win));
    CHECK_INT(got, a.rank);
    CHECK_OK(MPI_Win_unlock_all(a.win));
    CHECK_OK(MPI_Group_free(&to));
    CHECK_OK(MPI_Group_free(&from));
    box_free(&b);
    box_free(&a);
}

// Every kind of epoch after every other, in one window.
static void changing(enum flavor flavor)
{
    box b = box_new(flavor, sizeof(int), sizeof(int));
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    for (int first = 0; first < EPOCHS; first++)
        for (int second = 0; second < EPOCHS; second++)
            for (int i = 0; i < 2; i++) {
                enum epoch kind = (enum epoch)(i ? second : first);
                int out = 100 * first + 10 * second + b.rank;
                epoch_open(&b, kind);
                CHECK_OK(
                    MPI_Put(&out, 1, MPI_INT, right, box_disp(&b, right, 0), 1, MPI_INT, b.win));
                epoch_close(&b, kind);
                CHECK_INT(ints(&b)[0], 100 * first + 10 * second + left);
                CHECK_OK(MPI_Barrier(b.comm));
            }
    box_free(&b);
}

// MPI_Win_test says no until the origin is done, and that only once.
static void tests(void)
{
    box b = box_new(ALLOCATE, sizeof(int), sizeof(int));
    MPI_Group zero, one;
    int ranks[] = {0, 1}, flag = -1, value = 3;
    if (b.size > 1) {
        CHECK_OK(MPI_Group_incl(b.group, 1, &ranks[0], &zero));
        CHECK_OK(MPI_Group_incl(b.group, 1, &ranks[1], &one));
        if (b.rank == 0) {
            CHECK_OK(MPI_Win_post(one, 0, b.win));
            CHECK_OK(MPI_Win_test(b.win, &flag));
            CHECK_INT(flag, 0); // rank 1 waits for the message
            CHECK_OK(MPI_Send(&value, 1, MPI_INT, 1, 1, b.comm));
            while (!flag)
                CHECK_OK(MPI_Win_test(b.win, &flag));
            CHECK_INT(ints(&b)[0], 4);
        } else if (b.rank == 1) {
            CHECK_OK(MPI_Win_start(zero, 0, b.win));
            CHECK_OK(MPI_Recv(&value, 1, MPI_INT, 0, 1, b.comm, MPI_STATUS_IGNORE));
            value++;
            CHECK_OK(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, b.win));
            CHECK_OK(MPI_Win_complete(b.win));
        }
        CHECK_OK(MPI_Group_free(&zero));
        CHECK_OK(MPI_Group_free(&one));
    }
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int flavor = 0; flavor < FLAVORS; flavor++) {
        fences((enum flavor)flavor);
        for (int way = 0; way < 3; way++)
            ring((enum flavor)flavor, way);
        stars((enum flavor)flavor);
        odd_groups((enum flavor)flavor);
        changing((enum flavor)flavor);
    }
    two_windows();
    tests();
    CHECK_OK(MPI_Finalize());
    return 0;
}
