// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/win/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "boot/ctl.h"
#include "mpi/coll/coll.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/win/cached.h"
#include "mpi_bodies.h"
#include "win/lock.h"
#include "win/side.h"

int mlt_bad_win(mlt_rank *me, MPI_Win handle)
{
    return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_WIN, "win", "window", (uintptr_t)handle);
}

mlt_win_notes *mlt_win_notes_of(mlt_win *win)
{
    if (!win->notes) {
        win->notes = mlt_xcalloc(1, sizeof *win->notes);
        win->notes->errhandler = MPI_ERRORS_ARE_FATAL;
    }
    return win->notes;
}

int mlt_win_raise(mlt_rank *me, mlt_win *win, int class, const char *format, ...)
{
    char text[512];
    MLT_TEXT_PRINT(text, sizeof text, format);
    int code = mlt_mpi_code(me, me->fn, class, "%s", text);
    return mlt_errhandler_call(me, mlt_win_errhandler(win), win, code);
}

const char *mlt_win_called(const mlt_win *win)
{
    static _Thread_local char text[MPI_MAX_OBJECT_NAME + 16];
    if (!win->notes || !win->notes->name)
        return "the window";
    snprintf(text, sizeof text, "window '%s'", win->notes->name);
    return text;
}

void mlt_win_barrier(mlt_rank *me, mlt_win *win)
{
    mlt_coll_barrier_as(me, win->side.me, mlt_win_shared_of(win)->comm, win->calls++);
}

int mlt_win_raise_fault(mlt_rank *me, mlt_win *win)
{
    int32_t target = -1;
    switch (mlt_win_fault_of(&win->side, &target)) {
    case MLT_WIN_FINE:
        return MPI_SUCCESS;
    case MLT_WIN_BEYOND:
        return mlt_win_raise(me, win, MPI_ERR_RMA_RANGE,
                             "an operation reached beyond the memory of rank %d of %s", target,
                             mlt_win_called(win));
    case MLT_WIN_UNATTACHED:
        return mlt_win_raise(me, win, MPI_ERR_RMA_RANGE,
                             "an operation reached memory of rank %d that is not attached to %s",
                             target, mlt_win_called(win));
    default:
        return mlt_win_raise(me, win, MPI_ERR_OTHER,
                             "rank %d did not understand an operation on %s", target,
                             mlt_win_called(win));
    }
}

// ---- hang reports

static int32_t world_of(const mlt_win_part *part, int32_t rank)
{
    return rank < 0 ? -1 : part->world(part->group, rank);
}

void mlt_win_look(const mlt_wait *wait, mlt_ctl_wait *out)
{
    const mlt_win_waiter *w = wait->window;
    const mlt_win *win = mlt_container_of(w->side, mlt_win, side);
    mlt_win_part *part = w->side->part;
    if (win->notes && win->notes->name)
        snprintf(out->label, sizeof out->label, "%s", win->notes->name);
    out->context = part->id;
    out->target = world_of(part, w->rank);
    switch (w->kind) {
    case MLT_WIN_WAIT_NODE:
        out->about = MLT_WINDOW_LOCK;
        out->peer = world_of(part, mlt_win_lock_holder(mlt_win_descriptor_of(part, w->rank)));
        break;
    case MLT_WIN_WAIT_ISLAND:
        out->about = MLT_WINDOW_LOCKS;
        break;
    case MLT_WIN_WAIT_LOCKED:
        out->about = w->all ? MLT_WINDOW_LOCKS : MLT_WINDOW_LOCK;
        out->target = w->all ? -1 : out->target;
        break;
    case MLT_WIN_WAIT_POSTS:
        out->about = MLT_WINDOW_POSTS;
        out->peer = out->target;
        break;
    case MLT_WIN_WAIT_COMPLETES:
        out->about = MLT_WINDOW_COMPLETES;
        out->behind = w->side->busy->exposed - w->side->busy->completes;
        break;
    default:
        out->about = MLT_WINDOW_ANSWERS;
    }
}

// ---- traces

void mlt_win_describe(const mlt_wait *wait, mlt_event *event)
{
    mlt_ctl_wait seen = {.peer = -1, .target = -1};
    mlt_win_look(wait, &seen);
    event->inner = (uint8_t)(1 + seen.about);
    event->thing = seen.context;
    event->target = seen.target;
    event->holder = seen.peer;
}

// ---- names

int mlt_mpi_Win_set_name(mlt_rank *me, mlt_win *win, const char *win_name)
{
    char *copy = strndup(win_name, MPI_MAX_OBJECT_NAME - 1);
    if (!copy)
        return mlt_win_raise(me, win, MPI_ERR_NO_MEM, MLT_NO_ROOM "a name");
    mlt_win_notes *notes = mlt_win_notes_of(win);
    free(notes->name);
    notes->name = copy;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_get_name(mlt_rank *me, mlt_win *win, char *win_name, int *resultlen)
{
    const char *name = !win                             ? "MPI_WIN_NULL"
                       : win->notes && win->notes->name ? win->notes->name
                                                        : "";
    *resultlen = (int)strlen(name);
    memcpy(win_name, name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}

// ---- attributes

static int model = MPI_WIN_UNIFIED;
static MPI_Aint win_nothing;

const void *mlt_win_attribute(const mlt_win *win, int keyval, int *flag)
{
    mlt_win_part *part = win->side.part;
    mlt_win_descriptor *descriptor = mlt_win_own_descriptor(&win->side);
    *flag = 1;
    switch (keyval) {
    case MPI_WIN_BASE: // the address itself
        return part->flavor == MLT_WIN_DYNAMIC ? NULL : mlt_win_memory(part, win->side.me);
    case MPI_WIN_SIZE:
        return part->flavor == MLT_WIN_DYNAMIC ? (void *)&win_nothing : (void *)&descriptor->size;
    case MPI_WIN_DISP_UNIT: // an int: the lower half
        return &descriptor->unit;
    case MPI_WIN_CREATE_FLAVOR:
        return &mlt_win_shared_of(win)->flavor;
    case MPI_WIN_MODEL:
        return &model;
    default:
        *flag = 0;
        return NULL;
    }
}

// ---- group and memory

// The first rank with memory, in reach or not; the calling one if there is none. What a rank of
// another host has is not known here, so it counts as one with memory.
static int32_t first_with_memory(const mlt_win *win)
{
    mlt_win_part *part = win->side.part;
    for (int32_t r = 0; r < part->ranks; r++)
        if (!mlt_win_peer_of(part, r)->descriptors || mlt_win_descriptor_of(part, r)->size > 0)
            return r;
    return win->side.me;
}

int mlt_mpi_Win_shared_query(mlt_rank *me, mlt_win *win, int rank, MPI_Aint *size,
                             MPI_Aint *disp_unit, void *baseptr)
{
    mlt_win_part *part = win->side.part;
    if (part->flavor == MLT_WIN_DYNAMIC)
        return mlt_win_raise(me, win, MPI_ERR_RMA_FLAVOR,
                             "%s stems from MPI_Win_create_dynamic, and has no memory of its own",
                             mlt_win_called(win));
    if (rank != MPI_PROC_NULL && (uint32_t)rank >= (uint32_t)part->ranks)
        return mlt_win_raise(me, win, MPI_ERR_RANK,
                             "argument rank is %d, but should be a rank from 0 to %d of %s, or "
                             "MPI_PROC_NULL",
                             rank, part->ranks - 1, mlt_win_called(win));
    if (rank == MPI_PROC_NULL)
        rank = first_with_memory(win);
    const mlt_win_peer *peer = mlt_win_peer_of(part, rank);
    bool near = peer->direct || peer->reach == MLT_WIN_NEAR;
    const mlt_win_descriptor *descriptor = near ? mlt_win_descriptor_of(part, rank) : NULL;
    *size = near ? (MPI_Aint)descriptor->size : 0;
    *disp_unit = near ? (MPI_Aint)descriptor->unit : 1;
    *(void **)baseptr = near ? mlt_win_memory(part, rank) : NULL;
    return MPI_SUCCESS;
}

int mlt_mpi_Win_sync(mlt_rank *me, mlt_win *win)
{
    mlt_win_cached_changes(win, -1);
    atomic_thread_fence(memory_order_seq_cst);
    mlt_mpi_yield_if_due(me); // a loop that loads from the window calls nothing else
    return MPI_SUCCESS;
}
