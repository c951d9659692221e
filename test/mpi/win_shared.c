// SPDX-License-Identifier: BSD-3-Clause
//
// Shared windows: the memory of all ranks of a host, read and written directly, contiguous or not;
// what MPI_Win_shared_query says of them and of other windows.

#include <stdatomic.h>

#include "win_check.h"

typedef struct part {
    MPI_Aint bytes;
    int unit;
    unsigned char *base;
} part;

static part query(MPI_Win win, int rank)
{
    part p = {-1, -1, NULL};
    CHECK_OK(MPI_Win_shared_query(win, rank, &p.bytes, &p.unit, &p.base));
#if MPI_VERSION >= 4
    part large = {-1, -1, NULL};
    MPI_Aint unit = -1;
    CHECK_OK(MPI_Win_shared_query_c(win, rank, &large.bytes, &unit, &large.base));
    CHECK_INT(large.bytes, p.bytes);
    CHECK_INT(unit, p.unit);
    CHECK(large.base == p.base);
#endif
    return p;
}

// What all have to do before they look at each other's stores.
static void meet(const box *b)
{
    CHECK_OK(MPI_Win_sync(b->win));
    CHECK_OK(MPI_Barrier(b->comm));
    CHECK_OK(MPI_Win_sync(b->win));
}

static void stores(MPI_Info info, int contiguous, size_t bytes)
{
    box b = box_new_with(SHARED, bytes, 1, info);
    unsigned char *end = NULL;
    CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, b.win));
    pattern_fill(b.base, bytes, (unsigned)b.rank);
    meet(&b);
    for (int i = 0; i < b.size; i++) {
        part p = query(b.win, i);
        CHECK_INT(p.bytes, (MPI_Aint)bytes);
        CHECK_INT(p.unit, 1);
        CHECK(i != b.rank || p.base == b.base);
        CHECK(!contiguous || end == NULL || p.base == end);
        end = p.base + bytes;
        CHECK_PATTERN(p.base, bytes, (unsigned)i);
    }
    meet(&b);
    part right = query(b.win, (b.rank + 1) % b.size);
    pattern_fill(right.base, bytes, (unsigned)(100 + b.rank));
    meet(&b);
    CHECK_PATTERN(b.base, bytes, (unsigned)(100 + (b.rank + b.size - 1) % b.size));
    CHECK_OK(MPI_Win_unlock_all(b.win));
    box_free(&b);
}

// Sizes of each rank's own; the first memory there is, by MPI_PROC_NULL.
static void uneven(void)
{
    MPI_Comm comm = flavor_comm(MPI_COMM_WORLD, SHARED);
    MPI_Win win;
    int rank, size, *base = NULL;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    MPI_Aint bytes = (rank % 2) * 24; // rank 0 has none
    CHECK_OK(MPI_Win_allocate_shared(bytes, 1 + rank, MPI_INFO_NULL, comm, &base, &win));
    for (int i = 0; i < size; i++) {
        part p = query(win, i);
        CHECK_INT(p.bytes, (i % 2) * 24);
        CHECK_INT(p.unit, 1 + i);
    }
    part first = query(win, MPI_PROC_NULL);
    if (size > 1) {
        CHECK_INT(first.bytes, 24);
        CHECK_INT(first.unit, 2);
        CHECK(first.base == query(win, 1).base);
    }
    CHECK_OK(MPI_Win_free(&win));
    CHECK_OK(MPI_Comm_free(&comm));
}

// Instructions and calls on the same words: both are atomic against each other in a shared window,
// if calls are instructions; what MPI promises is that each sees the others' results in the end.
static void calls_and_stores(void)
{
    box b = box_new(SHARED, 64, 8);
    int64_t value = 7 + b.rank, got = -1;
    int right = (b.rank + 1) % b.size, left = (b.rank + b.size - 1) % b.size;
    CHECK_OK(MPI_Win_fence(0, b.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right, 0, 1, MPI_INT64_T, b.win));
    CHECK_OK(MPI_Win_fence(0, b.win));
    part mine = query(b.win, b.rank), next = query(b.win, right);
    CHECK_INT(*(int64_t *)(void *)mine.base, 7 + left);
    CHECK_INT(*(int64_t *)(void *)next.base, 7 + b.rank);
    CHECK_OK(MPI_Win_fence(0, b.win));
    ((int64_t *)(void *)next.base)[1] = 1000 + b.rank;
    CHECK_OK(MPI_Win_fence(0, b.win));
    CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, right, 1, 1, MPI_INT64_T, b.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, b.win));
    CHECK_INT(got, 1000 + b.rank);
    box_free(&b);
}

// Windows that were not made shared: their memory can be reached, or they say that it cannot.
static void others(enum flavor flavor)
{
    box b = box_new(flavor, 64, 1);
    part lowest = query(b.win, 0), first = query(b.win, MPI_PROC_NULL);
    CHECK(first.bytes == lowest.bytes && first.base == lowest.base); // all ranks have memory
    pattern_fill(b.base, 64, (unsigned)b.rank);
    CHECK_OK(MPI_Barrier(b.comm));
    for (int i = 0; i < b.size; i++) {
        part p = query(b.win, i);
        CHECK(p.bytes == 0 ? p.base == NULL : p.bytes == 64);
        if (p.bytes == 64)
            CHECK_PATTERN(p.base, 64, (unsigned)i);
    }
    CHECK_OK(MPI_Barrier(b.comm));
    box_free(&b);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    stores(MPI_INFO_NULL, 1, 64);
    stores(MPI_INFO_NULL, 1, 100);
    stores(MPI_INFO_NULL, 1, 40000);
    stores(info, 0, 100);
    stores(info, 0, 40000);
    CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", "false"));
    stores(info, 1, 100);
    CHECK_OK(MPI_Info_free(&info));
    uneven();
    calls_and_stores();
#ifndef PEER // since MPI 4.1
    others(CREATE);
    others(ALLOCATE);
#else
    (void)others;
#endif
    CHECK_OK(MPI_Finalize());
    return 0;
}
