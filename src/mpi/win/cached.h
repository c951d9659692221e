// SPDX-License-Identifier: BSD-3-Clause
// Reads that a rule book's wrapper `cache` answers by what earlier ones brought (win/cache.h), and when it
// may: gets, and accumulates with MPI_NO_OP that fetch. A read may bring an old value where nobody was
// allowed to change the memory since:
//
//     MPI_Win_fence       until the next fence: what is got in such an epoch must not change in it
//     MPI_Win_start       until MPI_Win_complete, for the same reason
//     MPI_LOCK_EXCLUSIVE  until MPI_Win_unlock: others are kept out
//     MPI_LOCK_SHARED,    never, unless the rule book promises it (keep = "unlock"): another rank may put,
//     MPI_Win_lock_all    flush, and send a message; a get after that message must bring what was put
//
// What is fetched with MPI_NO_OP in an epoch of the first two may change in it, by others' accumulates.
// But nobody can know that one of them is done before the epoch ends. So two fetches of the rank may
// both be the first.
//
// What the rank itself does to a target, and MPI_Win_sync, end it earlier. Not answered are reads from
// the rank's own memory, which it may store into; from MPI_Win_allocate_shared, for the same reason;
// and from memory in reach, which is read faster than a cache.
//
// Windows have a cache if a rule book says so, and then all calls go by the detour. So quick.h knows nothing
// of it.
#pragma once

#include <mpi.h>
#include <stdbool.h>

#include "mpi/how.h"
#include "mpi/intercept.h"
#include "mpi/win/win.h"
#include "type/type.h"

// The bodies, with the way that the call goes along. May suspend.
int mlt_cached_Get(mlt_rank *me, void *origin_addr, MPI_Count origin_count,
                   const mlt_type *origin_datatype, int target_rank, MPI_Aint target_disp,
                   MPI_Count target_count, const mlt_type *target_datatype, mlt_win *win,
                   const mlt_how *how, mlt_intercept_call *along);
int mlt_cached_Get_accumulate(mlt_rank *me, const void *origin_addr, MPI_Count origin_count,
                              const mlt_type *origin_datatype, void *result_addr,
                              MPI_Count result_count, const mlt_type *result_datatype,
                              int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                              const mlt_type *target_datatype, MPI_Op op, mlt_win *win,
                              const mlt_how *how, mlt_intercept_call *along);
int mlt_cached_Fetch_and_op(mlt_rank *me, const void *origin_addr, void *result_addr,
                            const mlt_type *datatype, int target_rank, MPI_Aint target_disp,
                            MPI_Op op, mlt_win *win, mlt_intercept_call *along);

// The rank has waited for its operations on that target (-1: all): gets that the cache has answered
// are done. goes_on: the epoch does.
void mlt_win_cached_are_done(mlt_win *win, int target, bool goes_on) MLT_COLD;
static inline void mlt_win_cached_settle(mlt_win *win, int target, bool goes_on)
{
    if (MLT_UNLIKELY(win->notes && win->notes->cache))
        mlt_win_cached_are_done(win, target, goes_on);
}

// The rank changes the target's memory (-1: all), or wants to see changes.
void mlt_win_cached_changes(mlt_win *win, int target);
