// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library's own beside a worker's: they do what a second thread of a rank would do in MPI
// (fiber/gate.h). Asking for one gives the worker its gate.
//
// A helper works inside the gate. While there is nothing to do it sleeps outside of it, on a word of its
// own, and counts as parked, so that deadlocks can still be proven. Reports leave it out.
//
// The driver is the helper that makes progress while something is under way that no rank waits for:
// schedules (GOAL_OFFLOAD), operations of streams. It is parked in the gate meanwhile, and lets the
// ranks' calls in between.
//
// Everything here is called inside the gate, unless it says otherwise.
#pragma once

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// Whether the rank's worker may have helpers, which then has a gate; `what` wants one. An MPI code,
// raised.
int mlt_helper_allow(mlt_rank *me, mlt_comm *comm, const char *what);

typedef struct mlt_helper {
    pthread_t thread;
    mlt_rank *rank; // that made it
    void (*work)(struct mlt_helper *helper);
    // Private.
    _Atomic uint32_t word;
    bool rests; // is asleep, or about to be, and counted as parked
} mlt_helper;

// Its thread calls `work` inside the gate, again each time that it was roused; work returns when there is
// nothing to do. False: the system refuses a thread.
bool mlt_helper_start(mlt_helper *helper, mlt_rank *me,
                      void (*work)(mlt_helper *helper)) MLT_MUST_CHECK;

// There is something to do. False: it did not sleep.
bool mlt_helper_rouse(mlt_helper *helper);

// It is to end; work looks at mlt_helper_ends where it waits. join suspends.
void mlt_helper_end(mlt_helper *helper);
bool mlt_helper_ends(const mlt_helper *helper);
void mlt_helper_join(mlt_helper *helper, mlt_rank *me);

// A thread of the library's own: the signals of the program are for the program's. An error number.
int mlt_helper_thread(pthread_t *thread, void *(*run)(void *), void *arg);

// ---- the driver of the rank's worker

// Counted; the first one makes it, the last one ends it and suspends. False: the system refuses a thread.
bool mlt_driver_hold(mlt_rank *me) MLT_MUST_CHECK;
void mlt_driver_drop(mlt_rank *me);

// One thing more, or less, is under way. unwatch: also when the driver is gone.
void mlt_driver_watch(const mlt_rank *me);
void mlt_driver_unwatch(const mlt_rank *me);
