// SPDX-License-Identifier: BSD-3-Clause
// The two everyday messages, inline: a small one to a rank of this worker whose receive is posted,
// and a small one into the ring of another worker of this host. Neither calls anything but what is
// rare, as the last thing it does; so a caller that tries them first needs no frame and saves no
// register. (8 bytes between two fibers took 301 instructions in MPI_Send by six functions, and
// take 130 this way.)
//
// Both promise what mlt_p2p_send_now promises. False: nothing was done; ask that one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "fiber/policy.h"
#include "p2p/match.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"
#include "wire/wire.h"

enum { MLT_NOW_MOST = MLT_SLOT_PAYLOAD }; // bytes of a message

// Of the values in p2p_int.h: a ring message with its data in the slot or behind it; a request that
// is nowhere, and a receive that waits for its message.
enum { MLT_SLOT_EAGER = 1, MLT_STAGE_NONE = 0, MLT_STAGE_POSTED = 5 };

static inline mlt_rank *mlt_worker_local_rank(const mlt_worker *w, int32_t world)
{
    uint32_t i = (uint32_t)(world - w->first_rank);
    return i < w->count ? &w->ranks[i] : NULL;
}

// Up to MLT_NOW_MOST bytes without a call: two overlapping moves of a power of two.
static inline void mlt_copy_small(void *to, const void *from, uint64_t n)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    if (MLT_LIKELY(n == 8)) {
        memcpy(t, f, 8);
    } else if (n >= 16) {
        memcpy(t, f, 16);
        memcpy(t + n - 16, f + n - 16, 16);
    } else if (n >= 8) {
        memcpy(t, f, 8);
        memcpy(t + n - 8, f + n - 8, 8);
    } else if (n >= 4) {
        memcpy(t, f, 4);
        memcpy(t + n - 4, f + n - 4, 4);
    } else {
        for (uint64_t i = 0; i < n; i++)
            t[i] = f[i];
    }
}

static inline void mlt_worker_count_message(mlt_worker *w, mlt_distance distance, uint64_t bytes,
                                            bool eager)
{
    w->counts.messages[distance]++;
    w->counts.bytes[distance] += bytes;
    if (eager)
        w->counts.eager++;
    else
        w->counts.rendezvous++;
}

static inline void mlt_slot_fill(mlt_slot *slot, uint8_t kind, uint8_t flags, int32_t dst,
                                 const mlt_envelope e)
{
    slot->kind = kind;
    slot->flags = flags;
    slot->type = e.type;
    slot->context = e.context;
    slot->tag = e.tag;
    slot->src = e.src;
    slot->dst = dst;
    slot->bytes = e.bytes;
}

// Whether the receive is the plainest there is for this message.
static inline bool mlt_now_suits(const mlt_req *recv, const mlt_envelope e)
{
    return recv->context == e.context && (recv->peer == e.src || recv->peer == MLT_ANY_SOURCE) &&
           (recv->tag == e.tag || recv->tag == MLT_ANY_TAG) && recv->type->code == e.type &&
           recv->type->contiguous && e.bytes <= recv->count * recv->type->size && !recv->on_done;
}

// The receive has got this message, whole.
static inline void mlt_now_got(mlt_req *recv, const mlt_envelope e)
{
    recv->from = e.src;
    recv->got_tag = e.tag;
    recv->got = recv->sent = e.bytes;
    recv->sent_type = e.type;
    recv->status = MLT_OK;
    recv->done = true;
    recv->stage = MLT_STAGE_NONE;
}

static MLT_INLINE bool mlt_now_to_rank(mlt_worker *w, mlt_rank *to, const void *buf,
                                       const mlt_envelope e)
{
    mlt_list_node *queue = &to->posted.all;
    if (to->posted.buckets && mlt_list_empty(queue)) // no receive has a wildcard
        queue = mlt_match_bucket(&to->posted, e.context, e.src, e.tag);
    else if (to->posted.buckets)
        return false;
    mlt_list_node *first = queue->next; // the oldest, so that no other comes before it
    mlt_req *recv = mlt_container_of(first, mlt_req, node);
    if (first == queue || !w->sched->plain || !mlt_now_suits(recv, e))
        return false;
    mlt_list_remove(first);
    to->posted.size--;
    mlt_copy_small(recv->buf, buf, e.bytes);
    mlt_now_got(recv, e);
    mlt_worker_count_message(w, MLT_SAME_WORKER, e.bytes, true);
    mlt_waiter *waiter = recv->waiter;
    if (waiter && --waiter->need == 0 && waiter->fiber->state == MLT_FIBER_PARKED)
        mlt_policy_wake_plain(w->sched, waiter->fiber);
    return true;
}

// A message to a rank of this worker that has posted no receive waits for it here. The other
// conditions are those under which that takes nothing rare.
static MLT_INLINE bool mlt_now_hold(mlt_worker *w, mlt_rank *to, const void *buf,
                                    const mlt_envelope e)
{
    mlt_match_queue *queue = &to->unexpected;
    mlt_msg *msg = w->messages.free;
    uint64_t cost = sizeof *msg + MLT_MSG_SMALL;
    if (to->posted.size || queue->buckets || queue->size >= MLT_MATCH_SHORT ||
        !mlt_list_empty(&to->probers) || !msg || e.bytes > w->eager[MLT_SAME_WORKER] ||
        w->held > w->held_limit)
        return false;
    msg = mlt_pool_take(&w->messages);
    msg->magic = MLT_MSG_MAGIC;
    msg->flags = 0;
    msg->cost = cost;
    msg->peer = NULL;
    mlt_msg_set(msg, MLT_MSG_EAGER, e);
    mlt_copy_small(msg->data, buf, e.bytes);
    mlt_list_push_back(&queue->all, &msg->all);
    queue->size++;
    w->held += cost;
    if (w->held > w->counts.unexpected_peak)
        w->counts.unexpected_peak = w->held;
    mlt_worker_count_message(w, MLT_SAME_WORKER, e.bytes, true);
    return true;
}

static MLT_INLINE bool mlt_now_into_ring(mlt_worker *w, mlt_peer *peer, const void *buf,
                                         int32_t dest, const mlt_envelope e)
{
    mlt_ring_tx *tx = &peer->tx;
    if (mlt_peer_is_far(peer) || peer->waits || e.bytes > w->eager[peer->distance] ||
        tx->tail - tx->slots_freed > tx->slot_mask ||
        atomic_load_explicit(&tx->ring->backlog, memory_order_relaxed) > w->peer_hold)
        return false;
    mlt_slot *slot = &tx->slots[tx->tail & tx->slot_mask];
    mlt_copy_small(slot->payload, buf, e.bytes);
    mlt_slot_fill(slot, MLT_SLOT_EAGER, 0, dest, e);
    mlt_ring_publish(tx, slot); // what else there is to do can wait, the receiver cannot
    w->wire->sent++;
    mlt_worker_count_message(w, (mlt_distance)peer->distance, e.bytes, true);
    if (MLT_UNLIKELY(mlt_ring_is_cold(tx, w->wire->membarrier)))
        mlt_wire_notify(w->wire, peer);
    return true;
}

// A standard send of a contiguous buffer of at most MLT_NOW_MOST bytes to a WORLD rank.
static MLT_INLINE bool mlt_p2p_send_small(mlt_rank *rank, const void *buf, int32_t dest,
                                          const mlt_envelope e)
{
    mlt_worker *w = rank->worker;
    if (MLT_UNLIKELY(e.bytes > MLT_NOW_MOST || w->watched))
        return false;
    mlt_rank *to = mlt_worker_local_rank(w, dest);
    if (to)
        return mlt_now_to_rank(w, to, buf, e);
    if (MLT_UNLIKELY(w->ranks_a_worker != 1 || w->wire->all))
        return false; // finding its worker may take a call
    return mlt_now_into_ring(w, &w->wire->peers[dest], buf, dest, e);
}

// What mlt_p2p_send_small leaves: the same to a rank of this worker before its receive.
static MLT_INLINE bool mlt_p2p_send_early(mlt_rank *rank, const void *buf, int32_t dest,
                                          const mlt_envelope e)
{
    mlt_worker *w = rank->worker;
    mlt_rank *to = mlt_worker_local_rank(w, dest);
    return to && e.bytes <= MLT_NOW_MOST && !w->watched && mlt_now_hold(w, to, buf, e);
}

// Starts a receive, as mlt_p2p_recv does. Most find no message, and few others that wait.
static inline void mlt_p2p_recv_post(mlt_req *req)
{
    mlt_rank *rank = req->rank;
    mlt_worker *w = rank->worker;
    mlt_match_queue *posted = &rank->posted;
    mlt_list_node *queue = &posted->all;
    uint32_t most = MLT_MATCH_SHORT;
    if (posted->buckets) {
        most = MLT_MATCH_CROWD * (posted->mask + 1);
        if (req->peer != MLT_ANY_SOURCE && req->tag != MLT_ANY_TAG)
            queue = mlt_match_bucket(posted, req->context, req->peer, req->tag);
    }
    if (MLT_UNLIKELY(rank->unexpected.size || w->watched || posted->size >= most)) {
        mlt_p2p_recv(req);
        return;
    }
    req->stage = MLT_STAGE_POSTED;
    req->order = ++w->order;
    mlt_list_push_back(queue, &req->node);
    posted->size++;
}

// Waits for a receive of the calling rank that is not done, as mlt_req_wait does. May suspend.
static inline __attribute__((always_inline)) void mlt_p2p_await(mlt_req *req, const char *call)
{
    mlt_sched *sched = req->rank->worker->sched;
    mlt_waiter waiter = {.fiber = sched->current, .need = 1};
    mlt_wait wait = {.call = call,
                     .kind = MLT_WAIT_RECV,
                     .context = req->context,
                     .peer = req->peer,
                     .tag = req->tag,
                     .bytes = req->count * req->type->size};
    req->waiter = &waiter;
    mlt_fiber_park(sched, &wait);
    mlt_assert(req->done);
    req->waiter = NULL;
}
