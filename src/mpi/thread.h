// SPDX-License-Identifier: BSD-3-Clause
// Threads that a rank starts: to which rank they belong, what they may do, and how calls of several
// of them keep out of each other's way.
//
// A rank that is alone in its worker gets the level that it asks for. With MPI_THREAD_MULTIPLE its
// worker has a gate (fiber/gate.h), its life is MLT_LIFE_THREADS, so that threads that enter leave
// me->fn alone, and calls go by the surface's detour, through the gate. Lower levels add nothing to
// a call: MPI_THREAD_SERIALIZED only lets the rank's other threads in, and the user makes them come
// one at a time.
//
// Ranks that share a worker get it, too. Their other threads delegate whole calls to the worker's own
// thread (fiber/delegate.h), with MPI_THREAD_SERIALIZED as well; calls of the rank's own thread are as
// they were. Such threads remain no rank's: each of their calls begins in again_X, which moves.
//
// A rank that is alone in its worker and has processes (csp.h) gets MPI_THREAD_FUNNELED at most: a
// call that waits lets processes run, which only the rank's own thread may do. If such a rank begins
// with processes later, its other threads are kept out from then on.
//
// Errors are raised with the gate held, whether found by the surface's checks or by a body. The
// user's functions are called outside of it (mlt_thread_step_out): they may take a lock that
// another thread holds while it calls MPI.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/upcalls.h"
#include "fiber/delegate.h"
#include "fiber/gate.h"
#include "host/life.h"
#include "host/start.h"
#include "mpi/self.h"
#include "mpi/trace.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// MPI_Init_thread, MPI_Session_init: what the rank gets when it asks for that level. Prepares the
// rank for it; a level that was granted once stays possible for the rank's life.
int mlt_thread_grant(mlt_rank *me, int required);

// What a session asks for without a wish: as much as the rank's threads may do already.
int mlt_thread_usual(const mlt_rank *me);

// For a rank that is ready, and whose other threads are not in MPI: the library's own thread may come
// to its worker from now on. False: a rank of the worker is in a function of the user's, and the call
// that called it is not inside a gate, so there cannot be one now.
bool mlt_thread_open_gate(mlt_rank *me) MLT_MUST_CHECK;

// Threads that the rank has started may call MPI, one at a time at least.
bool mlt_thread_others_call(const mlt_rank *me);

// The calling rank begins with processes.
void mlt_thread_keep_out(mlt_rank *me);

// The rank may call MPI from now on: sets its life.
void mlt_thread_ready(mlt_rank *me);

// MPI_Init and MPI_Session_init, which threads that are no rank's yet (me is NULL) may call at
// once: the first one makes the rank, and the others wait until it is ready, or at least does no
// more for it. begin returns the calling thread's rank, or ends the job with a message; ready
// comes before a call of a function of the user's, and is part of end.
typedef struct mlt_first {
    bool alone; // the others wait
    mlt_gate *gate;
} mlt_first;

mlt_rank *mlt_thread_first_begin(mlt_rank *me, uint16_t fn, mlt_first *first) MLT_COLD;
void mlt_thread_first_ready(mlt_first *first);
void mlt_thread_first_end(mlt_first *first);

// For calls that a rank may make before it is ready: a thread that has lent its worker, which those
// of ranks that are ready never do, takes it back. me may be NULL.
static inline void mlt_thread_come_back(const mlt_rank *me)
{
    if (me && mlt_life(me) < MLT_LIFE_READY && mlt_upcalls.come_back)
        (void)mlt_upcalls.come_back();
}

// The calling thread's rank, if its calls move; NULL: they need not.
mlt_rank *mlt_thread_moving_rank(void) MLT_COLD;

// MPI_Abort of such a thread: it does not move, as the worker may be stuck. Otherwise nothing happens.
void mlt_thread_aborts(MPI_Comm comm, int errorcode) MLT_COLD;

// True on another thread of a rank with processes.
static inline bool mlt_thread_is_kept_out(const mlt_rank *me)
{
    const mlt_sched *sched = me->worker ? me->worker->sched : NULL;
    return sched && sched->pool && !sched->delegates && mlt_sched_self != sched;
}

// Through the gate and back, if the rank has one; as often as one likes. me may be NULL.
static inline mlt_gate *mlt_thread_gate_in(const mlt_rank *me)
{
    return me && me->worker && me->worker->sched ? mlt_gate_in(me->worker->sched) : NULL;
}

static inline void mlt_thread_gate_out(mlt_gate *gate)
{
    mlt_gate_out(gate);
}

typedef enum mlt_outside_mode {
    MLT_OUTSIDE_USUAL,
    MLT_OUTSIDE_MOVED, // to the thread that has delegated the call
    MLT_OUTSIDE_NOTED, // the rank may be interrupted there
} mlt_outside_mode;

// Around a function of the user's: the rank's other threads may call meanwhile, so it may wait for
// them. Afterwards the rank is in the same call as before. me may be NULL.
typedef struct mlt_outside {
    mlt_gate *gate;
    uint32_t depth;
    uint16_t fn;
    bool ungated; // the worker has no gate, and must not get one before the call is over
    mlt_outside_mode mode;
} mlt_outside;

// For workers with delegated calls: the function runs on the thread that called MPI, or the rank may
// be interrupted in it (fiber/preempt.h).
void mlt_thread_move_out(const mlt_rank *me, mlt_outside *outside) MLT_COLD;
void mlt_thread_move_in(mlt_rank *me, const mlt_outside *outside) MLT_COLD;

static inline mlt_outside mlt_thread_step_out(const mlt_rank *me)
{
    mlt_gate *gate = me ? me->worker->sched->gate : NULL;
    bool inside = gate && mlt_thread_self && mlt_thread_self->inside;
    mlt_outside outside = {
        .gate = inside ? gate : NULL, .fn = me ? me->fn : 0, .ungated = me && !gate};
    if (inside)
        outside.depth = mlt_gate_step_out(gate);
    if (outside.ungated)
        mlt_mpi_worker_of(me)->ungated++;
    if (MLT_UNLIKELY(me && me->worker->sched->delegates))
        mlt_thread_move_out(me, &outside);
    return outside;
}

static inline void mlt_thread_step_in(mlt_rank *me, mlt_outside outside)
{
    if (MLT_UNLIKELY(outside.mode != MLT_OUTSIDE_USUAL))
        mlt_thread_move_in(me, &outside);
    if (outside.gate)
        mlt_gate_step_in(outside.gate, outside.depth);
    if (outside.ungated)
        mlt_mpi_worker_of(me)->ungated--;
    if (me)
        me->fn = outside.fn;
}

// ---- the surface's detour

typedef struct mlt_detour {
    mlt_gate *gate;
    uint64_t start_ns;
    mlt_trace_call call; // its arguments: the surface fills them in
    bool early;          // of MPI_T, before there is a rank: mlt_tool_early_lock
} mlt_detour;

// Before and after a body. me may be NULL.
mlt_detour mlt_detour_begin(mlt_rank *me, uint16_t fn);
void mlt_detour_end(mlt_rank *me, uint16_t fn, const mlt_detour *detour);
