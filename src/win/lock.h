// SPDX-License-Identifier: BSD-3-Clause
// Locks of seats and islands (seat.h), and the guard of accumulates. Nothing here suspends. The
// guard and a queue are held for a few instructions, or for the piece that is accumulated; whoever
// finds one held spins and lets other threads of its core run.
#ifndef MLT_WIN_LOCK_H
#define MLT_WIN_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "win/part.h"
#include "win/seat.h"

typedef struct mlt_win_want {
    mlt_win_lock *lock;
    uint8_t class; // mlt_win_class
    bool many;     // an island's: several of class ONE may have it
    // The one that asks holds another lock of the window. It does not wait for those that wait:
    // they may wait for it.
    bool holds;
} mlt_win_want;

// True: it has the lock. False: the node waits in its queue, until WOKEN comes for it. A node waits
// in one queue at a time.
bool mlt_win_lock_take(mlt_win_part *part, const mlt_win_want *want, uint32_t node) MLT_MUST_CHECK;

// Somebody has it in that class.
bool mlt_win_lock_is_held(const mlt_win_want *want);

// Gives it back, and tells those that have it now.
void mlt_win_lock_give(mlt_win_part *part, const mlt_win_want *want);

// The rank that has it exclusively, for reports; -1: none, or not known.
int32_t mlt_win_lock_holder(const mlt_win_seat *seat);

void mlt_win_guard_wait(mlt_win_lock *lock) MLT_COLD;
static inline void mlt_win_guard(mlt_win_lock *lock)
{
    // Acquire: pairs with the release of mlt_win_unguard, of whoever had it before.
    if (MLT_UNLIKELY(atomic_exchange_explicit(&lock->guard, 1, memory_order_acquire)))
        mlt_win_guard_wait(lock);
}

static inline void mlt_win_unguard(mlt_win_lock *lock)
{
    atomic_store_explicit(&lock->guard, 0, memory_order_release);
}

#endif
