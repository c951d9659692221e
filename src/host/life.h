// SPDX-License-Identifier: BSD-3-Clause
// Where a rank stands with MPI: before MPI_Init, in between, or after MPI_Finalize.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "p2p/p2p.h"
#include "p2p/worker.h"

// mlt_rank.life. READY: between MPI_Init and MPI_Finalize, or while it has a session; THREADS: the
// same for a rank of which several threads may call at once (thread.h). Both are the place in the
// rank where a call that enters notes its function: fns[0], which is fn, or fns[1]. So one store
// does for both, without a branch.
enum {
    MLT_LIFE_NEW,
    MLT_LIFE_DONE,
    MLT_LIFE_READY = offsetof(mlt_rank, fns),
    MLT_LIFE_THREADS = MLT_LIFE_READY + sizeof(uint16_t),
};
_Static_assert(MLT_LIFE_READY > MLT_LIFE_DONE && MLT_LIFE_THREADS <= UINT8_MAX,
               "they fit and differ");

// How a rank ends, where it shares a process: which of the functions that it has left for its end
// run.
typedef enum mlt_end {
    MLT_END_EXIT,    // its main returns, or exit: atexit's and destructors
    MLT_END_QUICK,   // quick_exit: at_quick_exit's
    MLT_END_AT_ONCE, // _exit: none
} mlt_end;

// Relaxed: threads may look at any time; what a rank that is ready has, they see by
// mlt_rank.threads.
static inline uint8_t mlt_life(const mlt_rank *me)
{
    return atomic_load_explicit(&me->life, memory_order_relaxed);
}

static inline void mlt_life_set(mlt_rank *me, uint8_t life)
{
    atomic_store_explicit(&me->life, life, memory_order_relaxed);
}

static inline bool mlt_thread_is_ready(const mlt_rank *me)
{
    return mlt_life(me) >= MLT_LIFE_READY;
}

// True on the thread that runs the rank's main.
static inline bool mlt_thread_is_main(const mlt_rank *me)
{
    return mlt_sched_self == me->worker->sched;
}
