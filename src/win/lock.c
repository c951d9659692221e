// SPDX-License-Identifier: BSD-3-Clause
#include "win/lock.h"

#include "arch/arch.h"
#include "base/log.h"
#include "os/jitter.h"
#include "os/os.h"
#include "win/packet.h"

#define BITS   MLT_WIN_LOCK_BITS
#define FIELD  MLT_WIN_LOCK_FIELD
#define WAITS  MLT_WIN_LOCK_WAITS
#define QUEUED MLT_WIN_LOCK_QUEUED

enum { LOCK_SPINS = 64 };

static void pause_or_yield(uint32_t *spins)
{
    if (++*spins % LOCK_SPINS == 0)
        mlt_os_yield();
    else
        mlt_arch_pause();
}

// The guard is HELD by the caller; those that have found the descriptor open before come to an end.
static void close_descriptor(mlt_win_part *part)
{
    if (part->workers == 1)
        return; // the caller's
    mlt_jitter();
    if (mlt_os_barrier() != MLT_OK)
        mlt_fatal("the system refuses membarrier, which it allowed at the start: accumulates would "
                  "not be atomic; let the program restrict its system calls less");
    for (uint32_t place = 0; place < part->workers; place++) {
        mlt_win_peer *peer = &part->peers[place];
        if (place == part->place || peer->reach == MLT_WIN_FAR)
            continue;
        const mlt_win_block *block = mlt_win_block_of(part, peer);
        uint32_t spins = 0;
        // Acquire: pairs with mlt_win_changed.
        while (atomic_load_explicit(&block->changes, memory_order_acquire))
            pause_or_yield(&spins);
    }
}

void mlt_win_guard_wait(mlt_win_part *part, mlt_win_lock *lock, uint32_t was)
{
    uint32_t spins = 0;
    while (was == MLT_WIN_HELD) {
        while (atomic_load_explicit(&lock->guard, memory_order_relaxed) == MLT_WIN_HELD)
            pause_or_yield(&spins);
        was = mlt_win_guard_try(lock);
    }
    if (was == MLT_WIN_OPEN)
        close_descriptor(part);
}

static inline uint64_t count_of(uint64_t word, uint32_t class)
{
    return word >> (class * BITS) & FIELD;
}

static inline bool is_free_for(uint64_t word, uint32_t class, bool many)
{
    bool others = count_of(word, !class) != 0;
    return !others && (class == MLT_WIN_SHARED || many || count_of(word, class) == 0);
}

int32_t mlt_win_lock_holder(const mlt_win_descriptor *descriptor)
{
    uint64_t word = atomic_load_explicit(&descriptor->lock.word, memory_order_relaxed);
    return count_of(word, MLT_WIN_EXCLUSIVE)
               ? atomic_load_explicit(&descriptor->lock.holder, memory_order_relaxed)
               : -1;
}

// The word with the queue's bit, which is the caller's now.
static uint64_t seize(mlt_win_lock *lock)
{
    uint32_t spins = 0;
    for (;;) {
        uint64_t word = atomic_fetch_or_explicit(&lock->word, QUEUED, memory_order_acquire);
        if (!(word & QUEUED))
            return word;
        pause_or_yield(&spins);
    }
}

// Nobody else changes the word while the bit is there.
static void let_go(mlt_win_lock *lock, uint64_t word)
{
    atomic_store_explicit(&lock->word, word & ~QUEUED, memory_order_release);
}

static void append(mlt_win_part *part, mlt_win_lock *lock, uint32_t node, uint8_t class)
{
    mlt_win_descriptor *descriptor = mlt_win_descriptor_of(part, mlt_win_node_rank(node));
    uint32_t which = mlt_win_node_is_proxy(node);
    descriptor->next[which] = 0;
    descriptor->want[which] = class;
    if (lock->tail) {
        mlt_win_descriptor *last = mlt_win_descriptor_of(part, mlt_win_node_rank(lock->tail));
        last->next[mlt_win_node_is_proxy(lock->tail)] = node;
    } else
        lock->head = node;
    lock->tail = node;
}

bool mlt_win_lock_take(mlt_win_part *part, const mlt_win_want *want, uint32_t node)
{
    mlt_win_lock *lock = want->lock;
    uint64_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    while (!(word & QUEUED) && (want->holds || !(word & WAITS)) &&
           is_free_for(word, want->class, want->many))
        if (atomic_compare_exchange_weak_explicit(&lock->word, &word,
                                                  word + mlt_win_lock_one(want->class),
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    mlt_jitter();
    word = seize(lock);
    bool has = (want->holds || !(word & WAITS)) && is_free_for(word, want->class, want->many);
    if (has)
        word += mlt_win_lock_one(want->class);
    else {
        append(part, lock, node, want->class);
        word |= WAITS;
    }
    let_go(lock, word);
    return has;
}

// Takes those off the queue that may have the lock now, as a chain by `next`; the first of them.
static uint32_t release_some(mlt_win_part *part, mlt_win_lock *lock, bool many, uint64_t *word)
{
    uint32_t first = lock->head, node = first, last = 0;
    while (node) {
        mlt_win_descriptor *descriptor = mlt_win_descriptor_of(part, mlt_win_node_rank(node));
        uint32_t which = mlt_win_node_is_proxy(node), class = descriptor->want[which];
        if (!is_free_for(*word, class, many))
            break;
        *word += mlt_win_lock_one(class);
        descriptor->want[which] = MLT_WIN_GRANTED;
        last = node;
        node = descriptor->next[which];
    }
    lock->head = node;
    if (!node) {
        lock->tail = 0;
        *word &= ~WAITS;
    }
    if (!last)
        return 0;
    mlt_win_descriptor_of(part, mlt_win_node_rank(last))->next[mlt_win_node_is_proxy(last)] = 0;
    return first;
}

bool mlt_win_lock_is_held(const mlt_win_want *want)
{
    uint64_t word = atomic_load_explicit(&want->lock->word, memory_order_relaxed);
    return count_of(word, want->class) > 0;
}

void mlt_win_lock_hand_over(mlt_win_part *part, const mlt_win_want *want)
{
    mlt_win_lock *lock = want->lock;
    mlt_jitter();
    uint64_t word = seize(lock) - mlt_win_lock_one(want->class);
    uint32_t node = release_some(part, lock, want->many, &word);
    let_go(lock, word);
    while (node) { // its descriptor is its owner's again once it is told
        uint32_t next =
            mlt_win_descriptor_of(part, mlt_win_node_rank(node))->next[mlt_win_node_is_proxy(node)];
        mlt_win_tell_woken(part, node);
        node = next;
    }
}
