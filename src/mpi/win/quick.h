// SPDX-License-Identifier: BSD-3-Clause
// The everyday calls of one-sided communication, which the surface does by itself: named types
// without gaps, memory that the origin reaches, an epoch that is there. mlt_quick_NAME is true if it
// has done the call. False: it has done nothing, and the body looks at everything closely and raises
// what is wrong. So nothing is explained here, and each test is made once.
//
// The tests of a handle are branches, and what follows does not depend on them: a pointer that becomes
// NULL by a conditional move would make the processor wait for four loads, one after the other.
//
// An operation that is done here is done when the call returns; so a flush has nothing to wait for.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "mpi/self.h"
#include "mpi/win/win.h"
#include "type/type.h"
#include "win/apply.h"
#include "win/op.h"
#include "win/side.h"

// A named type without gaps, by its handle; NULL: it is another, or none.
static MLT_INLINE const mlt_type *mlt_quick_type(MPI_Datatype handle)
{
    const mlt_type *type = mlt_type_coded((uintptr_t)handle);
    return MLT_LIKELY((uintptr_t)handle < 1024 && type->contiguous) ? type : NULL;
}

// An epoch of the everyday kinds: of all, of one rank, or of a fence.
static MLT_INLINE bool mlt_quick_epoch(mlt_win *win, int target)
{
    uint32_t flags = win->side.flags;
    if (MLT_LIKELY(flags & MLT_WINF_LOCKED_ALL))
        return true;
    const mlt_win_busy *busy = win->side.busy;
    if (flags & MLT_WINF_LOCKED)
        return busy->held_count == 1 && busy->held->target == target && busy->held->taken;
    if (flags & MLT_WINF_STARTED)
        return busy->target_count == 1 && *busy->targets == target;
    win->side.flags |= flags & MLT_WINF_FENCED ? MLT_WINF_ACCESSED : 0;
    return flags & MLT_WINF_FENCED;
}

// Memory of a target, here.
typedef struct mlt_quick_spot {
    char *at; // NULL: none that can be used here
    mlt_win_descriptor *descriptor;
    uint64_t bytes;
} mlt_quick_spot;

// Of `count` elements of a named type, which are short, so their bytes fit into 64 bits.
static MLT_INLINE mlt_quick_spot mlt_quick_find(mlt_win *win, MPI_Count count, uint64_t size,
                                                int target, MPI_Aint disp)
{
    mlt_quick_spot spot = {.bytes = (uint64_t)count * size};
    if (MLT_LIKELY((uint64_t)count - 1 < UINT32_MAX &&
                   (uint32_t)target < (uint32_t)win->side.part->ranks &&
                   mlt_quick_epoch(win, target)))
        spot.at = mlt_win_plain(&win->side, target, disp, spot.bytes, &spot.descriptor);
    return spot;
}

static MLT_INLINE void mlt_quick_copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t)); // one instruction each
    else
        memcpy(to, from, bytes);
}

// A put or a get.
static MLT_INLINE bool mlt_quick_move(const mlt_rank *me, bool puts, void *buf, MPI_Count count,
                                      MPI_Datatype datatype, int target, MPI_Aint disp,
                                      MPI_Count there_count, MPI_Datatype there, MPI_Win handle)
{
    const mlt_type *type = mlt_quick_type(datatype);
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) || !type ||
                     (uintptr_t)buf <= (uintptr_t)MPI_IN_PLACE))
        return false;
    if (MLT_UNLIKELY(there != datatype || there_count != count)) {
        const mlt_type *other = mlt_quick_type(there);
        if (!other || (uint64_t)there_count >= UINT32_MAX ||
            (uint64_t)there_count * other->size != (uint64_t)count * type->size)
            return false;
    }
    mlt_quick_spot spot = mlt_quick_find((mlt_win *)handle, count, type->size, target, disp);
    if (MLT_UNLIKELY(!spot.at))
        return false;
    mlt_quick_copy(puts ? spot.at : buf, puts ? buf : spot.at, spot.bytes);
    return true;
}

static MLT_INLINE bool mlt_quick_Put(const mlt_rank *me, const void *origin_addr,
                                     MPI_Count origin_count, MPI_Datatype origin_datatype,
                                     int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                                     MPI_Datatype target_datatype, MPI_Win win)
{
    return mlt_quick_move(me, true, (void *)(uintptr_t)origin_addr, origin_count, origin_datatype,
                          target_rank, target_disp, target_count, target_datatype, win);
}

static MLT_INLINE bool mlt_quick_Get(const mlt_rank *me, void *origin_addr, MPI_Count origin_count,
                                     MPI_Datatype origin_datatype, int target_rank,
                                     MPI_Aint target_disp, MPI_Count target_count,
                                     MPI_Datatype target_datatype, MPI_Win win)
{
    return mlt_quick_move(me, false, origin_addr, origin_count, origin_datatype, target_rank,
                          target_disp, target_count, target_datatype, win);
}

// ---- accumulates: operation and type are those of the last call, which the body has looked up

static MLT_INLINE bool mlt_quick_knows(const mlt_mpi_worker *w, MPI_Op op, MPI_Datatype datatype)
{
    return MLT_LIKELY(w->last_operation.handle == op && w->last_operation.datatype == datatype &&
                      w->last_operation.size);
}

static MLT_INLINE bool mlt_quick_Accumulate(const mlt_rank *me, const void *origin_addr,
                                            MPI_Count origin_count, MPI_Datatype origin_datatype,
                                            int target_rank, MPI_Aint target_disp,
                                            MPI_Count target_count, MPI_Datatype target_datatype,
                                            MPI_Op op, MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    const mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) || !mlt_quick_knows(w, op, target_datatype) ||
                     w->last_operation.operation.op == MLT_REDUCE_NO_OP ||
                     origin_datatype != target_datatype || origin_count != target_count ||
                     (uintptr_t)origin_addr <= (uintptr_t)MPI_IN_PLACE))
        return false;
    mlt_quick_spot spot =
        mlt_quick_find(win, target_count, w->last_operation.size, target_rank, target_disp);
    if (MLT_UNLIKELY(!spot.at))
        return false;
    mlt_win_accumulate(win->side.part, spot.descriptor, &w->last_operation.operation, spot.at,
                       (uint64_t)target_count, origin_addr);
    return true;
}

static MLT_INLINE bool mlt_quick_Fetch_and_op(const mlt_rank *me, const void *origin_addr,
                                              void *result_addr, MPI_Datatype datatype,
                                              int target_rank, MPI_Aint target_disp, MPI_Op op,
                                              MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    const mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) || !mlt_quick_knows(w, op, datatype) ||
                     (uintptr_t)result_addr <= (uintptr_t)MPI_IN_PLACE ||
                     ((uintptr_t)origin_addr <= (uintptr_t)MPI_IN_PLACE &&
                      w->last_operation.operation.op != MLT_REDUCE_NO_OP)))
        return false;
    mlt_quick_spot spot = mlt_quick_find(win, 1, w->last_operation.size, target_rank, target_disp);
    if (MLT_UNLIKELY(!spot.at))
        return false;
    mlt_win_fetch_one(win->side.part, spot.descriptor, &w->last_operation.operation, spot.at,
                      origin_addr, result_addr);
    return true;
}

static MLT_INLINE bool mlt_quick_Compare_and_swap(const mlt_rank *me, const void *origin_addr,
                                                  const void *compare_addr, void *result_addr,
                                                  MPI_Datatype datatype, int target_rank,
                                                  MPI_Aint target_disp, MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    const mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) || w->last_swap.datatype != datatype ||
                     !w->last_swap.size || (uintptr_t)origin_addr <= (uintptr_t)MPI_IN_PLACE ||
                     (uintptr_t)compare_addr <= (uintptr_t)MPI_IN_PLACE ||
                     (uintptr_t)result_addr <= (uintptr_t)MPI_IN_PLACE))
        return false;
    mlt_quick_spot spot = mlt_quick_find(win, 1, w->last_swap.size, target_rank, target_disp);
    if (MLT_UNLIKELY(!spot.at))
        return false;
    mlt_win_swap_one(win->side.part, spot.descriptor, spot.bytes, spot.at, origin_addr,
                     compare_addr, result_addr);
    return true;
}

// ---- locks and flush

static MLT_INLINE bool mlt_quick_Win_lock(const mlt_rank *me, int lock_type, int rank, int assert,
                                          MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) ||
                     (uint32_t)rank >= (uint32_t)win->side.part->ranks || assert != 0 ||
                     (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED) ||
                     win->side.flags & ~(uint32_t)(MLT_WINF_FENCED | MLT_WINF_POSTED) ||
                     mlt_win_shared_of(win)->no_locks ||
                     !mlt_win_lock_at_once(&win->side, rank,
                                           lock_type == MPI_LOCK_SHARED ? MLT_WIN_SHARED
                                                                        : MLT_WIN_EXCLUSIVE)))
        return false;
    // A fence only ended an epoch if there is one.
    win->side.flags = (win->side.flags & ~(uint32_t)MLT_WINF_FENCED) | MLT_WINF_LOCKED;
    return true;
}

static MLT_INLINE bool mlt_quick_Win_unlock(const mlt_rank *me, int rank, MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) ||
                     (uint32_t)rank >= (uint32_t)win->side.part->ranks ||
                     !(win->side.flags & MLT_WINF_LOCKED) || mlt_mpi_yield_due(me) ||
                     !mlt_win_unlock_at_once(&win->side, rank)))
        return false;
    win->side.flags &= ~(uint32_t)MLT_WINF_LOCKED;
    return true;
}

static MLT_INLINE bool mlt_quick_Win_flush(const mlt_rank *me, int rank, MPI_Win handle)
{
    mlt_win *win = (mlt_win *)handle;
    if (MLT_UNLIKELY(!mlt_win_is_mine(me, handle) ||
                     (uint32_t)rank >= (uint32_t)win->side.part->ranks ||
                     !(win->side.flags & MLT_WINF_LOCKED_ALL) || win->side.pending ||
                     (win->side.busy && win->side.busy->fault) || mlt_mpi_yield_due(me)))
        return false;
    // What the rank has stored into others' memory comes before what it stores next.
    mlt_arch_order();
    return true;
}
