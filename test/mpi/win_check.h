// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of one-sided communication share: windows of every flavor behind one set of calls,
// and epochs of every kind in which each rank may reach all others.

#pragma once

#include <stddef.h>

#include "check.h"

enum flavor { CREATE, ALLOCATE, SHARED, DYNAMIC, FLAVORS };

enum epoch { FENCE, GROUPS, LOCK, LOCK_ALL, EPOCHS };

// A window, and what a rank must know of it.
typedef struct box {
    MPI_Win win;
    MPI_Comm comm;   // its own
    MPI_Group group; // of all its ranks
    enum flavor flavor;
    int rank, size, unit;
    size_t bytes;
    unsigned char *base;
    MPI_Aint *bases; // of a dynamic window: where each rank's memory is
} box;

static inline const char *flavor_name(enum flavor flavor)
{
    static const char *const names[] = {"create", "allocate", "shared", "dynamic"};
    return names[flavor];
}

// The communicator of a window: ranks of several hosts have no shared windows, so these are a host's.
OUT_OF_LINE static MPI_Comm flavor_comm(MPI_Comm all, enum flavor flavor)
{
    MPI_Comm comm;
    if (flavor == SHARED)
        CHECK_OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    else
        CHECK_OK(MPI_Comm_dup(all, &comm));
    return comm;
}

static inline void box_attach(box *b)
{
    MPI_Aint at;
    b->base = must_alloc(b->bytes);
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, b->comm, &b->win));
    if (b->bytes > 0)
        CHECK_OK(MPI_Win_attach(b->win, b->base, (MPI_Aint)b->bytes));
    CHECK_OK(MPI_Get_address(b->base, &at));
    b->bases = must_alloc((size_t)b->size * sizeof *b->bases);
    CHECK_OK(MPI_Allgather(&at, 1, MPI_AINT, b->bases, 1, MPI_AINT, b->comm));
}

// A window of the ranks of `all` with so many bytes of this rank, all 0. Errors return.
OUT_OF_LINE static box box_new_on(MPI_Comm all, enum flavor flavor, size_t bytes, int unit,
                                  MPI_Info info)
{
    box b = {.flavor = flavor, .bytes = bytes, .unit = flavor == DYNAMIC ? 1 : unit};
    b.comm = flavor_comm(all, flavor);
    CHECK_OK(MPI_Comm_rank(b.comm, &b.rank));
    CHECK_OK(MPI_Comm_size(b.comm, &b.size));
    MPI_Aint n = (MPI_Aint)bytes;
    switch (flavor) {
    case CREATE:
        b.base = must_alloc(bytes);
        CHECK_OK(MPI_Win_create(b.base, n, unit, info, b.comm, &b.win));
        break;
    case ALLOCATE:
        CHECK_OK(MPI_Win_allocate(n, unit, info, b.comm, &b.base, &b.win));
        break;
    case SHARED:
        CHECK_OK(MPI_Win_allocate_shared(n, unit, info, b.comm, &b.base, &b.win));
        break;
    default:
        box_attach(&b);
    }
    CHECK_OK(MPI_Win_set_errhandler(b.win, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Win_get_group(b.win, &b.group));
    if (bytes > 0)
        memset(b.base, 0, bytes);
    CHECK_OK(MPI_Barrier(b.comm));
    return b;
}

static inline box box_new_with(enum flavor flavor, size_t bytes, int unit, MPI_Info info)
{
    return box_new_on(MPI_COMM_WORLD, flavor, bytes, unit, info);
}

static inline box box_new(enum flavor flavor, size_t bytes, int unit)
{
    return box_new_with(flavor, bytes, unit, MPI_INFO_NULL);
}

OUT_OF_LINE static void box_free(box *b)
{
    CHECK_OK(MPI_Group_free(&b->group));
    if (b->flavor == DYNAMIC)
        CHECK_OK(MPI_Barrier(b->comm));
    if (b->flavor == DYNAMIC && b->bytes > 0)
        CHECK_OK(MPI_Win_detach(b->win, b->base));
    CHECK_OK(MPI_Win_free(&b->win));
    CHECK(b->win == MPI_WIN_NULL);
    if (b->flavor == CREATE || b->flavor == DYNAMIC)
        free(b->base);
    free(b->bases);
    CHECK_OK(MPI_Comm_free(&b->comm));
}

// The displacement of a rank's byte `at`, which is a multiple of the unit.
static inline MPI_Aint box_disp(const box *b, int rank, size_t at)
{
    if (b->flavor == DYNAMIC)
        return MPI_Aint_add(b->bases[rank], (MPI_Aint)at);
    return (MPI_Aint)(at / (size_t)b->unit);
}

// Opens an epoch in which every rank may reach every other; all ranks call it.
OUT_OF_LINE static void epoch_open(const box *b, enum epoch kind)
{
    if (kind == FENCE)
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, b->win));
    if (kind == GROUPS) {
        CHECK_OK(MPI_Win_post(b->group, 0, b->win));
        CHECK_OK(MPI_Win_start(b->group, 0, b->win));
    }
    if (kind == LOCK || kind == LOCK_ALL) // what a rank stores before must be there
        CHECK_OK(MPI_Barrier(b->comm));
    for (int i = 0; kind == LOCK && i < b->size; i++)
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, i, 0, b->win));
    if (kind == LOCK_ALL)
        CHECK_OK(MPI_Win_lock_all(0, b->win));
}

// Afterwards all transfers of all ranks are done, and memory may be read.
OUT_OF_LINE static void epoch_close(const box *b, enum epoch kind)
{
    if (kind == FENCE)
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, b->win));
    if (kind == GROUPS) {
        CHECK_OK(MPI_Win_complete(b->win));
        CHECK_OK(MPI_Win_wait(b->win));
    }
    for (int i = 0; kind == LOCK && i < b->size; i++)
        CHECK_OK(MPI_Win_unlock(i, b->win));
    if (kind == LOCK_ALL)
        CHECK_OK(MPI_Win_unlock_all(b->win));
    if (kind == LOCK || kind == LOCK_ALL) {
        CHECK_OK(MPI_Barrier(b->comm));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, b->rank, 0, b->win)); // for separate copies
        CHECK_OK(MPI_Win_unlock(b->rank, b->win));
    }
}

// An attribute that is an int behind a pointer.
static inline int win_int_attr(MPI_Win win, int key)
{
    int *value = NULL, found = 0;
    CHECK_OK(MPI_Win_get_attr(win, key, &value, &found));
    CHECK(found && value != NULL);
    return *value;
}
