// SPDX-License-Identifier: BSD-3-Clause
// Epochs: fence; post, start, complete, wait; lock, flush, unlock.
#include <stdlib.h>

#include "arch/arch.h"
#include "base/memory.h"
#include "mpi/comm/group.h"
#include "mpi/self.h"
#include "mpi/win/cached.h"
#include "mpi/win/win.h"
#include "mpi_bodies.h"
#include "win/side.h"

enum { PASSIVE = MLT_WINF_LOCKED | MLT_WINF_LOCKED_ALL };

// ---- what is wrong

// "MPI_Win_lock: the rank is in an epoch of MPI_Win_start already"
static MLT_COLD int in_epoch(mlt_rank *me, mlt_win *win)
{
    uint32_t flags = win->side.flags;
    const char *by = flags & MLT_WINF_STARTED      ? "MPI_Win_start; call MPI_Win_complete"
                     : flags & MLT_WINF_LOCKED_ALL ? "MPI_Win_lock_all; call MPI_Win_unlock_all"
                     : flags & MLT_WINF_LOCKED     ? "MPI_Win_lock; call MPI_Win_unlock"
                     : flags & MLT_WINF_ACCESSED   ? "MPI_Win_fence; call MPI_Win_fence"
                                                   : "MPI_Win_post; call MPI_Win_wait";
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC, "the rank is in an epoch of %s of %s first", by,
                         mlt_win_called(win));
}

static MLT_COLD int sync_no_epoch(mlt_rank *me, mlt_win *win, const char *by)
{
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC, "the rank is in no epoch of %s of %s", by,
                         mlt_win_called(win));
}

static int check_assert(mlt_rank *me, mlt_win *win, int given, int allowed, const char *names)
{
    if (MLT_LIKELY(!(given & ~allowed)))
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_ASSERT, "argument assert is %d, but should be 0 or %s",
                         given, names);
}

static int check_rank(mlt_rank *me, mlt_win *win, int rank)
{
    if (MLT_LIKELY((uint32_t)rank < (uint32_t)win->side.part->ranks))
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_RANK,
                         "argument rank is %d, but should be a rank from 0 to %d of %s", rank,
                         win->side.part->ranks - 1, mlt_win_called(win));
}

static int check_locks(mlt_rank *me, mlt_win *win)
{
    if (MLT_LIKELY(!mlt_win_shared_of(win)->no_locks))
        return MPI_SUCCESS;
    return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC, "%s was made with the hint no_locks",
                         mlt_win_called(win));
}

// All operations on that rank, or on all (-1), are done, and what was wrong with them is raised.
static inline int sync_finish(mlt_rank *me, mlt_win *win, int rank)
{
    mlt_win_flush(&win->side, rank, mlt_mpi_call(me));
    mlt_win_cached_settle(win, rank, true);
    // What the rank has stored into others' memory comes before what it stores next.
    mlt_arch_order();
    mlt_mpi_yield_if_due(me);
    return mlt_win_faults(me, win);
}

// ---- fence

int mlt_mpi_Win_fence(mlt_rank *me, int assert, mlt_win *win)
{
    enum { BOTH = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED };
    int code = check_assert(me, win, assert, BOTH | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                            "a sum of MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and "
                            "MPI_MODE_NOSUCCEED");
    if (code != MPI_SUCCESS)
        return code;
    if (win->side.flags & (PASSIVE | MLT_WINF_STARTED | MLT_WINF_POSTED))
        return in_epoch(me, win);
    if (assert & MPI_MODE_NOPRECEDE && win->side.flags & MLT_WINF_ACCESSED)
        return mlt_win_raise(me, win, MPI_ERR_ASSERT,
                             "argument assert has MPI_MODE_NOPRECEDE, but the rank has called "
                             "operations on %s since the last fence",
                             mlt_win_called(win));
    mlt_win_flush(&win->side, -1, mlt_mpi_call(me));
    mlt_win_cached_settle(win, -1, false);
    mlt_win_barrier(me, win);
    win->side.flags &= ~(uint32_t)(MLT_WINF_FENCED | MLT_WINF_ACCESSED);
    if (!(assert &MPI_MODE_NOSUCCEED))
        win->side.flags |= MLT_WINF_FENCED;
    return mlt_win_faults(me, win);
}

// ---- locks

static int begin_passive(mlt_rank *me, mlt_win *win, int assert, uint32_t not_in)
{
    int code = check_assert(me, win, assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK");
    if (code == MPI_SUCCESS)
        code = check_locks(me, win);
    if (code == MPI_SUCCESS && win->side.flags & (not_in | MLT_WINF_STARTED | MLT_WINF_ACCESSED))
        code = in_epoch(me, win);
    if (code == MPI_SUCCESS)
        win->side.flags &= ~(uint32_t)MLT_WINF_FENCED; // that fence only ended an epoch
    return code;
}

int mlt_mpi_Win_lock(mlt_rank *me, int lock_type, int rank, int assert, mlt_win *win)
{
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int code = check_rank(me, win, rank);
    if (code != MPI_SUCCESS)
        return code;
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
        return mlt_win_raise(me, win, MPI_ERR_LOCKTYPE,
                             "argument lock_type is %d, but should be MPI_LOCK_SHARED or "
                             "MPI_LOCK_EXCLUSIVE",
                             lock_type);
    code = begin_passive(me, win, assert, MLT_WINF_LOCKED_ALL);
    if (code != MPI_SUCCESS)
        return code;
    if (MLT_UNLIKELY(win->side.flags & MLT_WINF_LOCKED) && mlt_win_find_held(&win->side, rank))
        return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC,
                             "the rank has locked rank %d of %s already; call MPI_Win_unlock first",
                             rank, mlt_win_called(win));
    mlt_win_lock_rank(&win->side, rank,
                      lock_type == MPI_LOCK_SHARED ? MLT_WIN_SHARED : MLT_WIN_EXCLUSIVE,
                      !(assert &MPI_MODE_NOCHECK), mlt_mpi_call(me));
    win->side.flags |= MLT_WINF_LOCKED;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_unlock(mlt_rank *me, int rank, mlt_win *win)
{
    if (rank == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int code = check_rank(me, win, rank);
    if (code != MPI_SUCCESS)
        return code;
    if (!(win->side.flags & MLT_WINF_LOCKED) || !mlt_win_holds(&win->side, rank))
        return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC,
                             "the rank has not locked rank %d of %s; call MPI_Win_lock first", rank,
                             mlt_win_called(win));
    mlt_win_flush(&win->side, rank, mlt_mpi_call(me));
    mlt_win_cached_settle(win, rank, false);
    mlt_win_unlock_rank(&win->side, rank);
    if (!win->side.busy || win->side.busy->held_count == 0)
        win->side.flags &= ~(uint32_t)MLT_WINF_LOCKED;
    mlt_mpi_yield_if_due(me);
    return mlt_win_faults(me, win);
}

int mlt_mpi_Win_lock_all(mlt_rank *me, int assert, mlt_win *win)
{
    int code = begin_passive(me, win, assert, PASSIVE);
    if (code != MPI_SUCCESS)
        return code;
    if (assert & MPI_MODE_NOCHECK)
        win->side.flags |= MLT_WINF_NOCHECK_ALL;
    else
        mlt_win_lock_every(&win->side, mlt_mpi_call(me));
    win->side.flags |= MLT_WINF_LOCKED_ALL;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_unlock_all(mlt_rank *me, mlt_win *win)
{
    if (!(win->side.flags & MLT_WINF_LOCKED_ALL))
        return sync_no_epoch(me, win, "MPI_Win_lock_all");
    mlt_win_flush(&win->side, -1, mlt_mpi_call(me));
    mlt_win_cached_settle(win, -1, false);
    if (!(win->side.flags & MLT_WINF_NOCHECK_ALL))
        mlt_win_unlock_every(&win->side);
    win->side.flags &= ~(uint32_t)(MLT_WINF_LOCKED_ALL | MLT_WINF_NOCHECK_ALL);
    mlt_mpi_yield_if_due(me);
    return mlt_win_faults(me, win);
}

// ---- flush

int mlt_mpi_Win_flush(mlt_rank *me, int rank, mlt_win *win)
{
    if (rank == MPI_PROC_NULL) {
        mlt_mpi_yield_if_due(me);
        return MPI_SUCCESS;
    }
    int code = check_rank(me, win, rank);
    if (code != MPI_SUCCESS)
        return code;
    if (!(win->side.flags & MLT_WINF_LOCKED_ALL) &&
        !(win->side.flags & MLT_WINF_LOCKED && mlt_win_holds(&win->side, rank)))
        return mlt_win_raise(me, win, MPI_ERR_RMA_SYNC,
                             "the rank has not locked rank %d of %s; call MPI_Win_lock or "
                             "MPI_Win_lock_all first",
                             rank, mlt_win_called(win));
    return sync_finish(me, win, rank);
}

int mlt_mpi_Win_flush_all(mlt_rank *me, mlt_win *win)
{
    if (!(win->side.flags & PASSIVE))
        return sync_no_epoch(me, win, "MPI_Win_lock or MPI_Win_lock_all");
    return sync_finish(me, win, -1);
}

// ---- post, start, complete, wait

// The ranks of the window that a group names, sorted.
typedef struct sync_names {
    int32_t *ranks;
    uint32_t count;
    int32_t few[8]; // where they are if there are few
} sync_names;

static void names_free(sync_names *n)
{
    if (n->ranks != n->few)
        free(n->ranks);
}

// MPI_SUCCESS, or what is raised; freed by names_free if it is MPI_SUCCESS.
static int names_of(mlt_rank *me, mlt_win *win, MPI_Group handle, sync_names *n)
{
    const mlt_group *group = mlt_group_of(me, handle);
    mlt_map *all = mlt_win_shared_of(win)->group;
    if (!group)
        return mlt_win_raise(me, win, MPI_ERR_GROUP,
                             "argument group is %p, which is no valid group handle",
                             (void *)handle);
    n->count = (uint32_t)group->map->size;
    bool few = n->count <= sizeof n->few / sizeof *n->few;
    n->ranks = few ? n->few : mlt_xcalloc(n->count, sizeof *n->ranks);
    for (uint32_t i = 0; i < n->count; i++) {
        n->ranks[i] = mlt_map_rank(all, mlt_map_world(group->map, (int32_t)i));
        if (n->ranks[i] < 0) {
            names_free(n);
            return mlt_win_raise(me, win, MPI_ERR_GROUP, "rank %u of the group is no rank of %s", i,
                                 mlt_win_called(win));
        }
    }
    if (n->count > 1)
        qsort(n->ranks, n->count, sizeof *n->ranks, mlt_map_by_rank);
    return MPI_SUCCESS;
}

int mlt_mpi_Win_post(mlt_rank *me, MPI_Group group, int assert, mlt_win *win)
{
    int code = check_assert(me, win, assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                            "a sum of MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT");
    if (code == MPI_SUCCESS && win->side.flags & (MLT_WINF_POSTED | MLT_WINF_ACCESSED))
        code = in_epoch(me, win);
    sync_names n;
    if (code == MPI_SUCCESS)
        code = names_of(me, win, group, &n);
    if (code != MPI_SUCCESS)
        return code;
    mlt_win_post(&win->side, n.ranks, n.count, !(assert &MPI_MODE_NOCHECK));
    names_free(&n);
    win->side.flags = (win->side.flags & ~(uint32_t)MLT_WINF_FENCED) | MLT_WINF_POSTED;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_start(mlt_rank *me, MPI_Group group, int assert, mlt_win *win)
{
    int code = check_assert(me, win, assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK");
    if (code == MPI_SUCCESS && win->side.flags & (PASSIVE | MLT_WINF_STARTED | MLT_WINF_ACCESSED))
        code = in_epoch(me, win);
    sync_names n;
    if (code == MPI_SUCCESS)
        code = names_of(me, win, group, &n);
    if (code != MPI_SUCCESS)
        return code;
    mlt_win_start(&win->side, n.ranks, n.count, !(assert &MPI_MODE_NOCHECK), mlt_mpi_call(me));
    names_free(&n);
    win->side.flags = (win->side.flags & ~(uint32_t)MLT_WINF_FENCED) | MLT_WINF_STARTED;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_complete(mlt_rank *me, mlt_win *win)
{
    if (!(win->side.flags & MLT_WINF_STARTED))
        return sync_no_epoch(me, win, "MPI_Win_start");
    mlt_win_flush(&win->side, -1, mlt_mpi_call(me));
    mlt_win_cached_settle(win, -1, false);
    mlt_win_complete(&win->side);
    win->side.flags &= ~(uint32_t)MLT_WINF_STARTED;
    return mlt_win_faults(me, win);
}

int mlt_mpi_Win_wait(mlt_rank *me, mlt_win *win)
{
    if (!(win->side.flags & MLT_WINF_POSTED))
        return sync_no_epoch(me, win, "MPI_Win_post");
    mlt_win_wait_exposure(&win->side, mlt_mpi_call(me));
    win->side.flags &= ~(uint32_t)MLT_WINF_POSTED;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_test(mlt_rank *me, mlt_win *win, int *flag)
{
    if (!(win->side.flags & MLT_WINF_POSTED))
        return sync_no_epoch(me, win, "MPI_Win_post");
    *flag = mlt_win_exposure_ends(&win->side);
    if (*flag)
        win->side.flags &= ~(uint32_t)MLT_WINF_POSTED;
    else
        mlt_p2p_poll(me);
    return MPI_SUCCESS;
}
