// SPDX-License-Identifier: BSD-3-Clause
// Windows: MPI's meaning of what src/win does.
//
// A million ranks may share a window, so a rank has little of it: 48 bytes here, 64 in its descriptor, 8
// in its worker's list. What is the same for the ranks of a worker is in mlt_win_shared; what few
// windows have, in mlt_win_notes.
//
// Epochs are flags of the side. A fence opens an epoch of which nobody can tell whether it is meant
// to be one; it counts only when an operation was called in it (ACCESSED).
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/status.h"
#include "mpi/attr.h"
#include "mpi/comm/comm.h"
#include "mpi/handle.h"
#include "mpi/info/info.h"
#include "mpi/self.h"
#include "win/part.h"
#include "win/side.h"

enum { MLT_WIN_MAGIC = 0x0001d0e5 };

// mlt_win_side.flags
enum {
    MLT_WINF_FENCED = 1,
    MLT_WINF_ACCESSED = 2, // operations were called since the fence
    MLT_WINF_STARTED = 4,
    MLT_WINF_POSTED = 8,
    MLT_WINF_LOCKED = 16, // some ranks
    MLT_WINF_LOCKED_ALL = 32,
    MLT_WINF_NOCHECK_ALL = 64, // MPI_Win_lock_all with MPI_MODE_NOCHECK: no lock was taken
    MLT_WINF_CALLING = 128,    // a call that waits: to find a second one at the same time
};

// What few windows have.
typedef struct mlt_win_notes {
    MPI_Errhandler errhandler; // predefined or a mlt_errhandler; a counted reference
    mlt_attrs attrs;
    char *name;                  // malloc's; NULL: none
    mlt_info *info;              // hints that were set later, and about memory; NULL: none
    struct mlt_win_cache *cache; // cached.c; NULL: none so far
} mlt_win_notes;

// What the ranks of a worker share: mlt_win_part.owner.
typedef struct mlt_win_shared {
    mlt_comm *comm; // of one of them, never the user's; its context is the window's number
    mlt_map *group;
    mlt_info *info; // hints of MPI_Win_create and the like that are known; NULL: none
    int flavor;     // MPI_WIN_FLAVOR_CREATE, ...
    bool no_locks;
} mlt_win_shared;

typedef struct mlt_win {
    uint32_t magic; // MLT_WIN_MAGIC while it lives
    uint32_t calls; // barriers so far
    mlt_win_side side;
    mlt_win_notes *notes; // NULL: none
} mlt_win;
_Static_assert(sizeof(mlt_win) <= 48, "a million ranks have one each");

// The handle is a window of that rank.
static MLT_INLINE bool mlt_win_is_mine(const mlt_rank *me, MPI_Win handle)
{
    const mlt_win *win = (const mlt_win *)handle;
    return mlt_handle_is_address((uintptr_t)handle) && win->magic == MLT_WIN_MAGIC &&
           mlt_win_rank(&win->side) == me;
}

// NULL: MPI_WIN_NULL or a bad handle, for which mlt_bad_win raises MPI_ERR_WIN.
static inline mlt_win *mlt_win_mine(const mlt_rank *me, MPI_Win handle)
{
    return MLT_LIKELY(mlt_win_is_mine(me, handle)) ? (mlt_win *)handle : NULL;
}

int mlt_bad_win(mlt_rank *me, MPI_Win handle) MLT_COLD;

static inline mlt_win_shared *mlt_win_shared_of(const mlt_win *win)
{
    return win->side.part->owner;
}

mlt_win_notes *mlt_win_notes_of(mlt_win *win); // makes it

// The rank may call operations on that target.
static inline bool mlt_win_has_epoch(mlt_win *win, int target)
{
    uint32_t flags = win->side.flags;
    if (MLT_LIKELY(flags & MLT_WINF_LOCKED_ALL))
        return true;
    if (flags & MLT_WINF_LOCKED)
        return mlt_win_holds(&win->side, target);
    if (flags & MLT_WINF_STARTED)
        return mlt_win_started_for(&win->side, target);
    if (flags & MLT_WINF_FENCED)
        win->side.flags |= MLT_WINF_ACCESSED;
    return flags & MLT_WINF_FENCED;
}

static inline MPI_Errhandler mlt_win_errhandler(const mlt_win *win)
{
    return win->notes ? win->notes->errhandler : MPI_ERRORS_ARE_FATAL;
}

// As mlt_mpi_raise, with the window's handler.
int mlt_win_raise(mlt_rank *me, mlt_win *win, int class, const char *format, ...)
    MLT_PRINTF(4, 5) MLT_COLD;

// "window 'grid'", or "the window": for messages. The text is the calling worker's until the next
// call.
const char *mlt_win_called(const mlt_win *win);

// The value of a predefined attribute; *flag: 0 if it is none.
const void *mlt_win_attribute(const mlt_win *win, int keyval, int *flag);

// All ranks of the window come. May suspend.
void mlt_win_barrier(mlt_rank *me, mlt_win *win);

// The hints of `info` that windows know, and nothing else; NULL: none. The caller's.
mlt_info *mlt_win_hints(const mlt_info *info);

// mlt_upcalls.window.
struct mlt_ctl_wait;
void mlt_win_look(const mlt_wait *wait, struct mlt_ctl_wait *out);

// The same for mlt_upcalls.describe.
void mlt_win_describe(const mlt_wait *wait, mlt_event *event);

// MPI_SUCCESS, or raises what an operation by packets has met since it was asked last.
int mlt_win_raise_fault(mlt_rank *me, mlt_win *win) MLT_COLD;
static inline int mlt_win_faults(mlt_rank *me, mlt_win *win)
{
    const mlt_win_busy *busy = win->side.busy;
    return MLT_UNLIKELY(busy && busy->fault) ? mlt_win_raise_fault(me, win) : MPI_SUCCESS;
}

// What the functions that make windows say of one; the rest comes from the hints.
typedef struct mlt_win_recipe {
    int flavor; // MPI_WIN_FLAVOR_CREATE, ...
    void *base;
    MPI_Aint size, unit;
    const mlt_info *info;
    uint64_t align;
    bool contiguous; // of shared memory
} mlt_win_recipe;

// All of them (make.c). baseptr: where the address of the memory goes; NULL: there is none to tell.
int mlt_win_make(mlt_rank *me, mlt_comm *comm, mlt_win_recipe *r, MPI_Info info, void *baseptr,
                 MPI_Win *handle);
