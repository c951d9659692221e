// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of a rank's side of a window: locks, posts, waiting for operations.
//
// Functions that say so suspend the calling rank; `call` is the user's function, for reports.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "p2p/p2p.h"
#include "win/lock.h"
#include "win/op.h"
#include "win/part.h"

typedef struct mlt_win_held {
    int32_t target;
    uint8_t class; // mlt_win_class
    bool taken;    // false: the rank waits for it
    bool real;     // false: MPI_MODE_NOCHECK, nothing was locked
    bool one;      // it has ONE of the target's domain, for all exclusive locks of the rank there
} mlt_win_held;

// What a rank waits for.
typedef enum mlt_win_wait_kind {
    MLT_WIN_WAIT_PENDING,  // its operations
    MLT_WIN_WAIT_NODE,     // its own node, in the queue of rank's lock
    MLT_WIN_WAIT_ISLAND,   // its own node, in the queue of its domain's lock
    MLT_WIN_WAIT_LOCKED,   // rank's worker to take a lock for it
    MLT_WIN_WAIT_POSTS,    // ranks of its group to post
    MLT_WIN_WAIT_COMPLETES // ranks of its group to complete
} mlt_win_wait_kind;

typedef struct mlt_win_waiter {
    mlt_list_node node;
    mlt_fiber *fiber;
    mlt_win_side *side;
    mlt_win_wait_kind kind;
    int32_t rank;
    bool all;  // LOCKED: of rank's domain
    bool done; // NODE, ISLAND, LOCKED
} mlt_win_waiter;

typedef struct mlt_win_busy {
    mlt_list_node waits;      // mlt_win_waiter
    mlt_list_node ops;        // that have not left completely (op.c)
    struct mlt_win_op **open; // [open_room] those that are not done, by number
    uint32_t open_room, flying;
    mlt_win_fault fault; // the first of an operation by packets since it was asked
    int32_t fault_target;
    mlt_win_held *held; // [held_count]
    uint32_t held_count, held_room;
    int32_t *posts; // [post_count] ranks that have posted and were not started for
    uint32_t post_count, post_room;
    uint32_t completes; // that have come since the post
    uint32_t exposed;   // ranks of the group that it has posted to
    int32_t *targets;   // [target_count] sorted ranks of the group that it has started for
    uint32_t target_count, target_room;
    bool node_waits;             // its own node is in a queue
    struct mlt_win_stage *stage; // stage.c: puts that leave together; NULL: none so far
} mlt_win_busy;

mlt_win_busy *mlt_win_busy_of(mlt_win_side *side); // makes it
void mlt_win_busy_tidy(mlt_win_side *side);        // frees it if there is nothing in it
// Few ranks of a worker keep it; but those that share a worker may be a million.
static inline bool mlt_win_busy_stays(const mlt_win_part *part)
{
    return part->span <= 16;
}
void mlt_win_busy_free(mlt_win_side *side);

// All operations of the rank on that target are done; -1: on any. May suspend.
void mlt_win_flush_wait(mlt_win_side *side, int32_t target, const char *call) MLT_COLD;
static inline void mlt_win_flush(mlt_win_side *side, int32_t target, const char *call)
{
    if (MLT_UNLIKELY(side->pending))
        mlt_win_flush_wait(side, target, call);
}

// The fault of an operation by packets since this was asked last, and its target.
static inline mlt_win_fault mlt_win_fault_of(mlt_win_side *side, int32_t *target)
{
    mlt_win_busy *busy = side->busy;
    if (MLT_LIKELY(!busy || !busy->fault))
        return MLT_WIN_FINE;
    mlt_win_fault fault = busy->fault;
    *target = busy->fault_target;
    busy->fault = MLT_WIN_FINE;
    return fault;
}

// ---- locks

// The lock of that rank that the rank has, or waits for; NULL: none.
mlt_win_held *mlt_win_find_held(const mlt_win_side *side, int32_t target);
static inline bool mlt_win_holds(const mlt_win_side *side, int32_t target)
{
    const mlt_win_held *held = mlt_win_find_held(side, target);
    return held && held->taken;
}

// The descriptor of a rank of this domain, and whether it is one; for parts that are plain.
static MLT_INLINE mlt_win_descriptor *mlt_win_descriptor_near(const mlt_win_part *part,
                                                              int32_t rank)
{
    const mlt_win_peer *peer = &part->peers[mlt_win_plain_place(part, rank)];
    return MLT_LIKELY(peer->descriptors != NULL) ? &peer->descriptors[rank - peer->first] : NULL;
}

// The everyday case of a lock: nobody contends for it, the rank has had one before, and holds none
// now. False: nothing has changed; mlt_win_lock_rank knows all.
static MLT_INLINE bool mlt_win_lock_at_once(mlt_win_side *side, int32_t target, mlt_win_class class)
{
    mlt_win_part *part = side->part;
    mlt_win_busy *busy = side->busy;
    if (MLT_UNLIKELY(!part->plain || !busy || !busy->held || busy->held_count || busy->node_waits))
        return false;
    mlt_win_descriptor *descriptor = mlt_win_descriptor_near(part, target);
    bool one = class == MLT_WIN_EXCLUSIVE;
    if (MLT_UNLIKELY(!descriptor || !part->peers[part->lead].descriptors))
        return false;
    mlt_win_want domain = {.lock = mlt_win_domain(part), .class = MLT_WIN_ONE, .many = true};
    if (one && MLT_UNLIKELY(!mlt_win_lock_try(&domain)))
        return false;
    mlt_win_want want = {.lock = &descriptor->lock, .class = (uint8_t) class};
    if (MLT_UNLIKELY(!mlt_win_lock_try(&want))) {
        if (one)
            mlt_win_lock_give(part, &domain);
        return false;
    }
    if (one)
        atomic_store_explicit(&descriptor->lock.holder, side->me, memory_order_relaxed);
    *busy->held = (mlt_win_held){
        .target = target, .class = (uint8_t) class, .taken = true, .real = true, .one = one};
    busy->held_count = 1;
    return true;
}

// The same of giving it back: it is the rank's only lock, and no operation is under way.
static MLT_INLINE bool mlt_win_unlock_at_once(mlt_win_side *side, int32_t target)
{
    mlt_win_part *part = side->part;
    mlt_win_busy *busy = side->busy;
    if (MLT_UNLIKELY(!part->plain || side->pending || !busy || busy->held_count != 1 ||
                     busy->fault || !mlt_win_busy_stays(part)))
        return false;
    mlt_win_held was = *busy->held;
    mlt_win_descriptor *descriptor = mlt_win_descriptor_near(part, target);
    if (MLT_UNLIKELY(was.target != target || !was.taken || !was.real || !descriptor))
        return false;
    busy->held_count = 0;
    mlt_win_want want = {.lock = &descriptor->lock, .class = was.class};
    mlt_win_lock_give(part, &want);
    if (was.one) {
        mlt_win_want domain = {.lock = mlt_win_domain(part), .class = MLT_WIN_ONE, .many = true};
        mlt_win_lock_give(part, &domain);
    }
    return true;
}

// real: false for MPI_MODE_NOCHECK. May suspend.
void mlt_win_lock_rank(mlt_win_side *side, int32_t target, mlt_win_class class, bool real,
                       const char *call);
void mlt_win_lock_every(mlt_win_side *side, const char *call);

// Operations are done before (mlt_win_flush). Do not suspend.
void mlt_win_unlock_rank(mlt_win_side *side, int32_t target);
void mlt_win_unlock_every(mlt_win_side *side);

// ---- post, start, complete, wait

void mlt_win_post(mlt_win_side *side, const int32_t *ranks, uint32_t count, bool tell);
// `ranks` are sorted. wait: for their posts. May suspend.
void mlt_win_start(mlt_win_side *side, const int32_t *ranks, uint32_t count, bool wait,
                   const char *call);
bool mlt_win_started_for(const mlt_win_side *side, int32_t target);
void mlt_win_complete(mlt_win_side *side);      // operations are done before
bool mlt_win_exposure_ends(mlt_win_side *side); // true: all have completed, and it is over
void mlt_win_wait_exposure(mlt_win_side *side, const char *call); // may suspend

// LOCK, LOCKED, UNLOCK, FREED, WOKEN, POST, COMPLETE came.
void mlt_win_sync_came(mlt_win_part *part, const mlt_packet *packet);

// Wakes those of a rank's fibers that wait for its operations.
void mlt_win_wake_flushers(mlt_win_side *side);
