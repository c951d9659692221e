// SPDX-License-Identifier: BSD-3-Clause
// Locks of seats and islands (seat.h), and the guard of accumulates. Nothing here suspends.
//
// The word of a lock: how many of each class have it, whether somebody waits, and a bit that guards
// the queue.
//
//     0 .. 27   SHARED, ALL       56   somebody waits
//     28 .. 55  EXCLUSIVE, ONE    57   somebody looks at the queue, or changes the word with it
//
// Acquire where a lock is taken pairs with release where it was given back, so a holder sees what
// those before it wrote. A lock that is handed over in the queue goes by a packet, which orders as
// much.
//
// The guard and a queue are held for a few instructions, or for the piece that is accumulated; whoever
// finds one held spins and lets other threads of its core run.
#ifndef MLT_WIN_LOCK_H
#define MLT_WIN_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "win/part.h"
#include "win/seat.h"

#define MLT_WIN_LOCK_BITS   28
#define MLT_WIN_LOCK_FIELD  ((UINT64_C(1) << MLT_WIN_LOCK_BITS) - 1)
#define MLT_WIN_LOCK_WAITS  (UINT64_C(1) << 56)
#define MLT_WIN_LOCK_QUEUED (UINT64_C(1) << 57)

static inline uint64_t mlt_win_lock_one(uint32_t class)
{
    return UINT64_C(1) << (class * MLT_WIN_LOCK_BITS);
}

typedef struct mlt_win_want {
    mlt_win_lock *lock;
    uint8_t class; // mlt_win_class
    bool many;     // an island's: several of class ONE may have it
    // The one that asks holds another lock of the window. It does not wait for those that wait:
    // they may wait for it.
    bool holds;
} mlt_win_want;

// The everyday case: true if it has the lock, which nobody contends for. False: nothing has changed.
static inline bool mlt_win_lock_try(const mlt_win_want *want)
{
    uint64_t word = atomic_load_explicit(&want->lock->word, memory_order_relaxed);
    uint64_t others = MLT_WIN_LOCK_FIELD << (!want->class * MLT_WIN_LOCK_BITS);
    if (want->class == MLT_WIN_EXCLUSIVE && !want->many)
        others = ~UINT64_C(0);
    return MLT_LIKELY(!(word & (others | MLT_WIN_LOCK_WAITS | MLT_WIN_LOCK_QUEUED))) &&
           MLT_LIKELY(atomic_compare_exchange_strong_explicit(
               &want->lock->word, &word, word + mlt_win_lock_one(want->class), memory_order_acquire,
               memory_order_relaxed));
}

// True: it has the lock. False: the node waits in its queue, until WOKEN comes for it. A node waits
// in one queue at a time.
bool mlt_win_lock_take(mlt_win_part *part, const mlt_win_want *want, uint32_t node) MLT_MUST_CHECK;

// Somebody has it in that class.
bool mlt_win_lock_is_held(const mlt_win_want *want);

// Gives it back, and tells those that have it now.
void mlt_win_lock_hand_over(mlt_win_part *part, const mlt_win_want *want) MLT_COLD;
static inline void mlt_win_lock_give(mlt_win_part *part, const mlt_win_want *want)
{
    uint64_t word = atomic_load_explicit(&want->lock->word, memory_order_relaxed);
    mlt_assert(word & MLT_WIN_LOCK_FIELD << (want->class * MLT_WIN_LOCK_BITS));
    if (MLT_UNLIKELY(word & (MLT_WIN_LOCK_WAITS | MLT_WIN_LOCK_QUEUED)) ||
        MLT_UNLIKELY(!atomic_compare_exchange_strong_explicit(
            &want->lock->word, &word, word - mlt_win_lock_one(want->class), memory_order_release,
            memory_order_relaxed)))
        mlt_win_lock_hand_over(part, want);
}

// The rank that has it exclusively, for reports; -1: none, or not known.
int32_t mlt_win_lock_holder(const mlt_win_seat *seat);

// False: somebody has it.
static inline bool mlt_win_guard_try(mlt_win_lock *lock)
{
    // Acquire: pairs with the release of mlt_win_unguard, of whoever had it before.
    return !atomic_exchange_explicit(&lock->guard, 1, memory_order_acquire);
}

void mlt_win_guard_wait(mlt_win_lock *lock) MLT_COLD;
static inline void mlt_win_guard(mlt_win_lock *lock)
{
    if (MLT_UNLIKELY(!mlt_win_guard_try(lock)))
        mlt_win_guard_wait(lock);
}

static inline void mlt_win_unguard(mlt_win_lock *lock)
{
    atomic_store_explicit(&lock->guard, 0, memory_order_release);
}

#endif
