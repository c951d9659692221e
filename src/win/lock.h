// SPDX-License-Identifier: BSD-3-Clause
// Locks of descriptors and domains (descriptor.h), and the guard of accumulates. Nothing here suspends.
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
//
// A guard costs as much as an atomic instruction, and most programs that change single words change
// nothing else in that window. So a descriptor is open at first: its words are changed by instructions of
// the processor, and nobody takes the guard. The first accumulate that is no such word closes it:
//
//     a worker that changes a word        one that closes the descriptor
//     1. says so in its block (changes)   1. state: OPEN -> HELD
//     2. looks at the state: OPEN?        2. a barrier on all cores (mlt_os_barrier)
//     3. the instruction                  3. waits until no worker of the domain says that it changes
//     4. takes back what it said          4. has the guard, as from now on everybody must
//
// Nothing orders 1 and 2 of a worker but the other's barrier: if that comes between them, or before,
// the worker finds the descriptor HELD; otherwise the one that closes sees what it said. Release in 4 pairs
// with acquire in 3. Only where the job has such barriers, or the window has one worker only, and
// where few ranks share a worker: each descriptor is closed by a system call of its own.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "os/jitter.h"
#include "win/descriptor.h"
#include "win/part.h"

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
    bool many;     // a domain's: several of class ONE may have it
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
int32_t mlt_win_lock_holder(const mlt_win_descriptor *descriptor);

// True: the calling worker may change a word of the descriptor by an instruction, and calls
// mlt_win_changed after it. False: it must take the guard.
static MLT_INLINE bool mlt_win_may_change(const mlt_win_part *part,
                                          const mlt_win_descriptor *descriptor)
{
    _Atomic uint32_t *changes = &((mlt_win_block *)(void *)part->block)->changes;
    atomic_store_explicit(changes, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); // the compiler keeps the order
    mlt_jitter();
    // Relaxed: the instruction stores nothing before the branch is decided.
    if (MLT_LIKELY(atomic_load_explicit(&descriptor->lock.guard, memory_order_relaxed) ==
                   MLT_WIN_OPEN))
        return true;
    atomic_store_explicit(changes, 0, memory_order_relaxed);
    return false;
}

static MLT_INLINE void mlt_win_changed(const mlt_win_part *part)
{
    _Atomic uint32_t *changes = &((mlt_win_block *)(void *)part->block)->changes;
    mlt_jitter();
    atomic_store_explicit(changes, 0, memory_order_release);
}

// GUARDED: the caller has the guard. HELD: somebody else has it. OPEN: the caller must close the
// descriptor (mlt_win_guard_wait).
static inline uint32_t mlt_win_guard_try(mlt_win_lock *lock)
{
    // Acquire: pairs with the release of mlt_win_unguard, of whoever had it before.
    return atomic_exchange_explicit(&lock->guard, MLT_WIN_HELD, memory_order_acquire);
}

// `was`: what mlt_win_guard_try has found.
void mlt_win_guard_wait(mlt_win_part *part, mlt_win_lock *lock, uint32_t was) MLT_COLD;
// part: NULL if the descriptor cannot be open.
static inline void mlt_win_guard(mlt_win_part *part, mlt_win_lock *lock)
{
    uint32_t was = mlt_win_guard_try(lock);
    if (MLT_UNLIKELY(was != MLT_WIN_GUARDED))
        mlt_win_guard_wait(part, lock, was);
}

static inline void mlt_win_unguard(mlt_win_lock *lock)
{
    atomic_store_explicit(&lock->guard, MLT_WIN_GUARDED, memory_order_release);
}
