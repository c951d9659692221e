// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/thread.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "host/entry.h"
#include "host/fork.h"
#include "host/own.h"
#include "mpi/attr.h"
#include "mpi/error/error.h"
#include "mpi/settings.h"
#include "mpi/tool/tool.h"
#include "os/os.h"

// mlt_rank.threads. GRANTED: but the rank is not ready yet.
enum { THREADS_NONE, THREADS_GRANTED, THREADS_OPEN };

_Atomic uint8_t mlt_mpi_detour;
_Atomic bool mlt_mpi_whole_detour;

// Relaxed: threads that may need it hear of it by whatever the program tells them with.
static void go_round(void)
{
    atomic_store_explicit(&mlt_mpi_whole_detour, true, memory_order_relaxed);
    mlt_mpi_take_detour(MLT_DETOUR_USUAL);
}

static void open_gate(mlt_rank *me)
{
    if (me->worker->sched->gate)
        return;
    if (!mlt_worker_open_gate(me->worker))
        mlt_no_room("the threads of rank %d", me->world);
    go_round();
}

bool mlt_thread_open_gate(mlt_rank *me)
{
    if (me->worker->sched->gate)
        return true;
    if (mlt_mpi_worker_of(me)->ungated > 0 || me->worker->sched->pool ||
        me->worker->sched->delegates)
        return false;
    open_gate(me);
    if (me->worker->sched->solo)
        mlt_life_set(me, MLT_LIFE_THREADS);
    return true;
}

bool mlt_thread_others_call(const mlt_rank *me)
{
    return atomic_load_explicit(&me->threads, memory_order_relaxed) != THREADS_NONE;
}

int mlt_thread_usual(const mlt_rank *me)
{
    const mlt_sched *sched = me->worker->sched;
    if (!mlt_thread_others_call(me))
        return MPI_THREAD_FUNNELED;
    if (sched->delegates) // of ranks with different levels
        return mlt_mpi_of(me)->provided == MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED
                                                                 : MPI_THREAD_MULTIPLE;
    return sched->gate ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
}

// ---- delegation

static void open_delegates(mlt_rank *me)
{
    if (!me->worker->sched->delegates && !mlt_worker_open_delegates(me->worker))
        mlt_no_room("the threads of rank %d", me->world);
}

void mlt_thread_move_out(const mlt_rank *me, mlt_outside *outside)
{
    mlt_sched *sched = me->worker->sched;
    if (mlt_delegate_runs(sched)) {
        outside->mode = MLT_OUTSIDE_MOVED;
        mlt_delegate_end(sched->delegates);
    } else if (me->fiber == sched->current && !sched->pinned) {
        outside->mode = MLT_OUTSIDE_NOTED;
        mlt_delegates_note_outside(sched->delegates, __builtin_dwarf_cfa());
    }
}

void mlt_thread_move_in(mlt_rank *me, const mlt_outside *outside)
{
    mlt_delegates *delegates = me->worker->sched->delegates;
    if (outside->mode == MLT_OUTSIDE_MOVED)
        mlt_delegate_begin(delegates, me);
    else
        mlt_delegates_note_inside(delegates);
}

// The calling thread is another than its rank's own, and may call MPI for it. NULL: it is not.
static mlt_rank *opened_rank(void)
{
    mlt_rank *rank = mlt_thread_rank();
    if (mlt_rank_self() || !rank || mlt_fork_is_child() ||
        atomic_load_explicit(&rank->threads, memory_order_acquire) != THREADS_OPEN ||
        !mlt_thread_is_ready(rank))
        return NULL;
    return rank; // and what was made before it was open is seen
}

mlt_rank *mlt_thread_moving_rank(void)
{
    mlt_rank *rank = opened_rank();
    return rank && rank->worker->sched->delegates ? rank : NULL;
}

bool mlt_thread_moves(void)
{
    return mlt_thread_moving_rank() != NULL;
}

// ---- levels

int mlt_thread_grant(mlt_rank *me, int required)
{
    if (MLT_LIKELY(required < MPI_THREAD_SERIALIZED && !mlt_mpi_settings.goal_offload))
        return required >= MPI_THREAD_FUNNELED ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE;
    bool pool = me->worker->sched->pool != NULL, shares = me->worker->count > 1;
    // Ranks that share a worker have either threads of theirs or one of the library's.
    bool others = required > MPI_THREAD_FUNNELED &&
                  (shares ? !me->worker->sched->gate && mlt_delegates_can() : !pool);
    int most = others ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    int level = required >= MPI_THREAD_MULTIPLE     ? MPI_THREAD_MULTIPLE
                : required >= MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED
                : required >= MPI_THREAD_FUNNELED   ? MPI_THREAD_FUNNELED
                                                    : MPI_THREAD_SINGLE;
    level = level < most ? level : most;
    if (shares && level >= MPI_THREAD_SERIALIZED)
        open_delegates(me);
    else if (level == MPI_THREAD_MULTIPLE)
        open_gate(me); // the library's own thread comes through it too
    else if (mlt_mpi_settings.goal_offload)
        (void)!mlt_thread_open_gate(me); // else its schedules go without
    if (level >= MPI_THREAD_SERIALIZED) {
        if (mlt_entry_many())
            (void)mlt_own_of(me); // before there are threads that would make it
        if (atomic_load_explicit(&me->threads, memory_order_relaxed) == THREADS_NONE)
            atomic_store_explicit(&me->threads, THREADS_GRANTED, memory_order_relaxed);
    }
    return level;
}

void mlt_thread_keep_out(mlt_rank *me)
{
    if (me->worker && me->worker->sched->delegates)
        return; // their calls run on the rank's own thread
    // Relaxed: threads of a rank that has no gate come one at a time, and the user sees to it.
    if (atomic_load_explicit(&me->threads, memory_order_relaxed) == THREADS_NONE)
        return;
    atomic_store_explicit(&me->threads, THREADS_NONE, memory_order_relaxed);
    go_round(); // those that have called before are met there
}

void mlt_thread_ready(mlt_rank *me)
{
    const mlt_sched *sched = me->worker->sched;
    mlt_life_set(me, sched->gate && sched->solo ? MLT_LIFE_THREADS : MLT_LIFE_READY);
    // release: a thread that was there before may call any time from now on; pairs with adopt.
    if (atomic_load_explicit(&me->threads, memory_order_relaxed) == THREADS_GRANTED)
        atomic_store_explicit(&me->threads, THREADS_OPEN, memory_order_release);
}

// A thread that may call MPI for its rank does so from now on as the rank itself.
static bool adopt(void)
{
    mlt_rank *rank = opened_rank();
    if (!rank || rank->worker->sched->delegates)
        return false;
    mlt_fiber_user = rank;
    return true;
}

mlt_delegates *mlt_thread_adopt(uint16_t fn)
{
    mlt_rank *rank = mlt_thread_moving_rank();
    if (rank) {
        mlt_delegates *to = rank->worker->sched->delegates;
        mlt_attr_fortran fortran = mlt_attr_fortran_take();
        mlt_delegate_begin(to, rank);
        MLT_OUT_OF_LINE(mlt_attr_fortran_put)(fortran);
        return to;
    }
    if (!adopt())
        mlt_mpi_not_ready(fn);
    return NULL;
}

void mlt_thread_leave(mlt_delegates *moved)
{
    mlt_attr_fortran fortran = mlt_attr_fortran_take();
    mlt_delegate_end(moved);
    MLT_OUT_OF_LINE(mlt_attr_fortran_put)(fortran);
}

mlt_rank *mlt_thread_enter_anytime(uint16_t fn)
{
    if (!mlt_rank_self())
        (void)adopt();
    mlt_rank *me = mlt_rank_self();
    mlt_thread_come_back(me);
    if (me && !me->worker->sched->gate) // else the detour does, also after MPI_Finalize
        me->fn = fn;
    return me;
}

// ---- the first calls

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

mlt_rank *mlt_thread_first_begin(mlt_rank *me, uint16_t fn, mlt_first *first)
{
    *first = (mlt_first){.alone = false};
    if (me) { // and the surface has been through the gate
        me->fn = fn;
        return me;
    }
    pthread_mutex_lock(&first_lock);
    me = mlt_thread_enter_anytime(fn);
    if (!me && (me = mlt_entry_rank())) {
        first->alone = true;
        me->fn = fn;
        return me;
    }
    pthread_mutex_unlock(&first_lock);
    if (!me)
        mlt_mpi_not_ready(fn);
    first->gate = mlt_thread_gate_in(me);
    me->fn = fn;
    return me;
}

void mlt_thread_first_ready(mlt_first *first)
{
    if (first->alone)
        pthread_mutex_unlock(&first_lock);
    first->alone = false;
}

void mlt_thread_first_end(mlt_first *first)
{
    mlt_thread_first_ready(first);
    mlt_thread_gate_out(first->gate);
}

// ---- the surface's detour

mlt_detour mlt_detour_begin(mlt_rank *me, uint16_t fn)
{
    mlt_detour detour = {.gate = NULL, .call = {.peer = -1, .tag = -1}};
    if (!me) { // and other threads may be in MPI_Init: nothing else is to be looked at
        detour.early = mlt_tool_early_lock(fn);
        return detour;
    }
    if (mlt_thread_is_kept_out(me))
        mlt_mpi_not_ready(fn);
    detour.start_ns = mlt_mpi_profiling ? mlt_os_now_ns() : 0;
    detour.gate = mlt_thread_gate_in(me);
    if (detour.gate)
        me->fn = fn; // inside: no other thread's call changes it
    if (me->worker->watched) {
        mlt_tool_call_begins(me, fn);
        detour.call.begin = mlt_arch_cycles();
    }
    return detour;
}

// The call leaves a request behind, so another one is sure to follow. Messages of a burst wait for
// each other.
static bool leaves_request(uint16_t fn)
{
    switch (fn) {
    case MLT_FN_Isend:
    case MLT_FN_Isend_c:
    case MLT_FN_Issend:
    case MLT_FN_Issend_c:
    case MLT_FN_Irsend:
    case MLT_FN_Irsend_c:
    case MLT_FN_Ibsend:
    case MLT_FN_Ibsend_c:
    case MLT_FN_Isendrecv:
    case MLT_FN_Isendrecv_c:
    case MLT_FN_Irecv:
    case MLT_FN_Irecv_c:
    case MLT_FN_Start:
    case MLT_FN_Startall:
        return true;
    default:
        return false;
    }
}

void mlt_detour_end(mlt_rank *me, uint16_t fn, const mlt_detour *detour)
{
    if (me && me->worker->unsent && !leaves_request(fn))
        mlt_p2p_let_go(me->worker);
    if (me && mlt_mpi_profiling)
        mlt_mpi_count(me, fn, detour->start_ns);
    if (me && me->worker->watched) {
        mlt_mpi_trace_call_ends(me, fn, &detour->call);
        mlt_tool_call_ends(me);
    }
    mlt_thread_gate_out(detour->gate);
    if (detour->early)
        mlt_tool_early_unlock();
}
