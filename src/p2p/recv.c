// SPDX-License-Identifier: BSD-3-Clause
// The receiving half: what arrives meets its receive or is held; data goes straight to the user's
// buffer.
#include <stdlib.h>

#include "base/event.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "p2p/bounce.h"
#include "p2p/copied.h"
#include "p2p/device.h"
#include "p2p/kind.h"
#include "p2p/now.h"
#include "p2p/p2p_int.h"

// ---- results and copies

static MLT_COLD void kind_differs(mlt_req *req)
{
    if (mlt_upcalls.kind_differs)
        mlt_upcalls.kind_differs(req);
}

static MLT_COLD void tell(const mlt_req *req, mlt_event_kind kind, uint8_t how)
{
    bool met = kind != MLT_EVENT_POSTED;
    mlt_event event = {.kind = (uint8_t)kind,
                       .how = how,
                       .peer = met ? req->from : req->peer,
                       .tag = met ? req->got_tag : req->tag,
                       .context = req->context,
                       .bytes = met ? req->sent : req->count * req->type->size};
    if (mlt_upcalls.event)
        mlt_upcalls.event(req->rank->worker, req->rank, &event);
}

// Whether somebody hears of the receive, and its call does not tell of it.
static inline bool is_heard(const mlt_worker *w, const mlt_req *req)
{
    return MLT_UNLIKELY(w->watched) &&
           !(w->watched == MLT_WATCH_TRACE && req->mode == MLT_MODE_TOLD);
}

// How a large message is fetched.
static inline void tell_large(const mlt_worker *w, const mlt_req *recv, mlt_event_large how)
{
    if (MLT_UNLIKELY(w->watched))
        tell(recv, MLT_EVENT_LARGE, (uint8_t)how);
}

static MLT_COLD void tell_message(mlt_worker *w, mlt_rank *rank, mlt_event_kind kind,
                                  const mlt_msg *msg)
{
    mlt_event event = {.kind = (uint8_t)kind,
                       .peer = msg->src,
                       .tag = msg->tag,
                       .context = msg->context,
                       .bytes = msg->bytes};
    if (mlt_upcalls.event)
        mlt_upcalls.event(w, rank, &event);
}

// Notes what arrives; the bytes to move are then req->got.
static inline void recv_accept(const mlt_worker *w, mlt_req *req, mlt_envelope e)
{
    uint64_t room = req->count * req->type->size;
    req->from = e.src;
    req->got_tag = e.tag;
    req->sent = e.bytes;
    req->sent_type = e.type;
    req->status = MLT_LIKELY(e.bytes <= room) ? MLT_OK : MLT_ERR_TRUNCATED;
    req->got = e.bytes <= room ? e.bytes : room;
    if (MLT_UNLIKELY(e.type != req->type->code))
        kind_differs(req);
    if (is_heard(w, req))
        tell(req, MLT_EVENT_RECEIVED, 0);
}

static inline void unpack(mlt_req *req, uint64_t at, const void *data, uint64_t bytes)
{
    if (MLT_LIKELY(req->type->contiguous)) {
        if (bytes == 8)
            memcpy((char *)req->buf + at, data, 8);
        else if (bytes)
            memcpy((char *)req->buf + at, data, bytes);
    } else {
        mlt_type_unpack(req->type, req->buf, at, data, bytes);
    }
}

// From one user buffer to another. A NULL type is contiguous bytes.
static void move(mlt_req *recv, const void *buf, const mlt_type *type, uint64_t bytes)
{
    if (!type || type->contiguous) {
        unpack(recv, 0, buf, bytes);
        return;
    }
    mlt_type_move(recv->type, recv->buf, type, buf, 0, bytes);
}

// As below, of a send whose data a device copies, and which is complete afterwards.
void mlt_p2p_take_from_device(mlt_req *recv, mlt_req *send, const mlt_envelope *e)
{
    mlt_worker *w = recv->rank->worker;
    recv_accept(w, recv, *e);
    if (recv->got) {
        mlt_p2p_device_move(w, recv, send->buf, send->type, send, NULL, 0);
        return;
    }
    mlt_req_complete(send);
    mlt_req_complete(recv);
}

void mlt_p2p_take_local(mlt_req *recv, const void *buf, const mlt_type *type, const mlt_envelope *e)
{
    recv_accept(recv->rank->worker, recv, *e);
    move(recv, buf, type, recv->got);
    mlt_req_complete(recv);
}

// ---- held messages

static void tell_backlog(mlt_worker *w, mlt_peer *peer)
{
    uint64_t step = w->peer_hold / 16;
    uint64_t change =
        peer->held > peer->held_told ? peer->held - peer->held_told : peer->held_told - peer->held;
    if (change > step || (peer->held == 0 && peer->held_told)) {
        peer->held_told = peer->held;
        if (mlt_peer_is_far(peer))
            mlt_p2p_control_with(w, peer, SLOT_HOLD, NULL, 0, 0, peer->held);
        else
            atomic_store_explicit(&peer->rx.ring->backlog, peer->held, memory_order_relaxed);
    }
}

// Memory that held messages take.
static void count_held(mlt_worker *w, mlt_peer *peer, uint64_t more, uint64_t less)
{
    w->held += more - less;
    if (w->held > w->counts.unexpected_peak)
        w->counts.unexpected_peak = w->held;
    if (peer) {
        peer->held += more - less;
        tell_backlog(w, peer);
    }
}

static mlt_msg *new_msg(mlt_worker *w, mlt_peer *peer, uint64_t data_bytes)
{
    mlt_msg *msg;
    uint64_t size = sizeof *msg + (data_bytes <= MLT_MSG_SMALL ? MLT_MSG_SMALL : data_bytes);
    if (data_bytes <= MLT_MSG_SMALL)
        msg = mlt_pool_take(&w->messages);
    else if (!(msg = malloc(size)))
        mlt_no_room("%llu bytes of a message that has no receive yet", (unsigned long long)size);
    *msg = (mlt_msg){.magic = MLT_MSG_MAGIC, .cost = size, .peer = peer};
    count_held(w, peer, size, 0);
    return msg;
}

void mlt_p2p_keep(mlt_worker *w, mlt_msg *msg, void *data)
{
    msg->kind = MLT_MSG_KEPT;
    msg->address = (uintptr_t)data;
    msg->sender = 0; // no longer to be cancelled
    count_held(w, msg->peer, msg->bytes, 0);
}

void mlt_p2p_drop(mlt_worker *w, mlt_msg *msg)
{
    bool kept = MLT_UNLIKELY(msg->kind == MLT_MSG_KEPT);
    count_held(w, msg->peer, 0, msg->cost + (kept ? msg->bytes : 0));
    msg->magic = 0;
    if (kept)
        free((void *)(uintptr_t)msg->address);
    if (msg->cost <= sizeof *msg + MLT_MSG_SMALL)
        mlt_pool_give(&w->messages, msg);
    else
        free(msg);
}

typedef struct prober {
    mlt_list_node node;
    mlt_fiber *fiber;
} prober;

static void hold(mlt_worker *w, mlt_rank *to, mlt_msg *msg)
{
    mlt_match_hold(to, msg);
    if (MLT_UNLIKELY(w->watched))
        tell_message(w, to, MLT_EVENT_UNEXPECTED, msg);
    MLT_LIST_DRAIN(prober, p, &to->probers, node)
        mlt_fiber_wake(w->sched, p->fiber);
}

void mlt_p2p_hold_copy(mlt_worker *w, mlt_rank *to, const void *buf, const mlt_type *type,
                       const mlt_envelope *e)
{
    mlt_msg *msg = new_msg(w, NULL, e->bytes);
    mlt_msg_set(msg, MLT_MSG_EAGER, *e);
    if (type && !type->contiguous)
        mlt_type_pack(type, buf, 0, msg->data, e->bytes);
    else if (e->bytes)
        memcpy(msg->data, buf, e->bytes);
    hold(w, to, msg);
}

void mlt_p2p_hold_local(mlt_worker *w, mlt_rank *to, mlt_req *send)
{
    mlt_msg *msg = new_msg(w, NULL, 0);
    mlt_msg_set(msg, MLT_MSG_LOCAL, req_envelope(send));
    msg->sender = (uintptr_t)send;
    send->stage = STAGE_LOCAL;
    send->remote = (uintptr_t)msg;
    hold(w, to, msg);
    if (MLT_UNLIKELY(send->type->device))
        mlt_p2p_device_held(w, to);
}

// ---- a receive meets a message of another worker

void mlt_p2p_ask_for_chunks(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender)
{
    recv->stage = STAGE_MOVING;
    recv->moved = 0;
    if (MLT_UNLIKELY(recv->type->device))
        mlt_p2p_copied_chunks(w, peer, recv, recv->got);
    mlt_p2p_control(w, peer, SLOT_CTS, sender, (uintptr_t)recv, 0, recv->got);
}

static void ask_far(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender)
{
    bool lands = recv->type->contiguous;
    recv->stage = STAGE_MOVING;
    recv->moved = 0;
    if (!lands && MLT_UNLIKELY(recv->type->device))
        mlt_p2p_copied_chunks(w, peer, recv, recv->got);
    uint64_t name =
        mlt_token_give(&w->wire->names, recv, peer->worker, lands ? recv->buf : NULL, recv->got);
    mlt_p2p_control(w, peer, SLOT_CTS, sender, name, lands, recv->got);
}

// The sender waits with its buffer: fetch the data in the best way for the distance.
// spot: with SLOT_DEVICE.
static void fetch(mlt_worker *w, mlt_req *recv, mlt_peer *peer, uint64_t sender, uint64_t address,
                  uint8_t flags, bool late, const mlt_gpu_spot *spot)
{
    bool plain = (flags & SLOT_CONTIGUOUS) && recv->type->contiguous;
    if (recv->got > 0 && peer->distance == MLT_SAME_PROCESS) {
        mlt_req *send = (mlt_req *)(uintptr_t)sender;
        if (is_by_device(recv->type, send->type)) {
            tell_large(w, recv, MLT_LARGE_BY_ONE);
            mlt_p2p_device_move(w, recv, send->buf, send->type, NULL, peer, sender);
            return;
        }
        if (recv->got >= (plain ? SHARED_LEAST : SHARED_LEAST_GAPS)) {
            atomic_store_explicit(&send->claimed, 0,
                                  memory_order_relaxed); // the ring's release publishes both
            atomic_store_explicit(&send->copied, 0, memory_order_relaxed);
            recv->stage = STAGE_MOVING;
            uint64_t total = recv->got;
            tell_large(w, recv, MLT_LARGE_BY_BOTH);
            mlt_p2p_control(w, peer, SLOT_HELP, sender, (uintptr_t)recv, plain, total);
            if (!copy_shared(send, recv, total, plain))
                return; // the sender copies the last piece, TAKEN comes
        } else {
            tell_large(w, recv, MLT_LARGE_BY_ONE);
            move(recv, send->buf, send->type, recv->got);
        }
    } else if (recv->got > 0 && mlt_peer_is_far(peer)) {
        tell_large(w, recv, MLT_LARGE_BY_CONNECTION);
        ask_far(w, recv, peer, sender);
        return;
    } else if (recv->got > 0 && MLT_UNLIKELY(flags & SLOT_DEVICE)) {
        tell_large(w, recv, MLT_LARGE_BY_ONE);
        mlt_p2p_device_fetch(w, recv, peer, sender, spot);
        return;
    } else if (recv->got > 0) {
        mlt_status status = plain ? mlt_p2p_fetch_directly(w, recv, peer, sender, address, late)
                                  : MLT_ERR_UNSUPPORTED;
        bool reads = status == MLT_OK || status == MLT_PENDING;
        tell_large(w, recv, reads ? MLT_LARGE_BY_READING : MLT_LARGE_BY_CHUNKS);
        if (status != MLT_OK) {
            if (status != MLT_PENDING)
                mlt_p2p_ask_for_chunks(w, recv, peer, sender);
            return;
        }
    }
    mlt_p2p_control(w, peer, SLOT_FIN, sender, 0, 0, 0);
    mlt_req_complete(recv);
}

static void deliver(mlt_req *recv, mlt_msg *msg)
{
    mlt_worker *w = recv->rank->worker;
    recv_accept(w, recv, mlt_msg_envelope(msg));
    switch ((mlt_msg_kind)msg->kind) {
    case MLT_MSG_EAGER:
        unpack(recv, 0, msg->data, recv->got);
        if (msg->flags & SLOT_SYNC)
            mlt_p2p_control(w, msg->peer, SLOT_FIN, msg->sender, 0, 0, 0);
        mlt_req_complete(recv);
        break;
    case MLT_MSG_LOCAL: {
        mlt_req *send = (mlt_req *)(uintptr_t)msg->sender;
        if (is_by_device(recv->type, send->type) && recv->got) {
            mlt_p2p_device_move(w, recv, send->buf, send->type, send, NULL, 0);
            break;
        }
        move(recv, send->buf, send->type, recv->got);
        mlt_req_complete(send);
        mlt_req_complete(recv);
        break;
    }
    case MLT_MSG_KEPT:
        unpack(recv, 0, (const void *)(uintptr_t)msg->address, recv->got);
        mlt_req_complete(recv);
        break;
    case MLT_MSG_REMOTE:
        fetch(w, recv, msg->peer, msg->sender, msg->address, msg->flags, true,
              (const mlt_gpu_spot *)(const void *)msg->data);
        break;
    case MLT_MSG_COMING:
        mlt_p2p_device_take_coming(recv, msg);
        return; // which drops it when it has come
    }
    mlt_p2p_drop(w, msg);
    if (w->wire)
        (void)mlt_p2p_push(w);
}

static void start_recv(mlt_req *req)
{
    req->kind = MLT_REQ_RECV;
    req->done = req->cancelled = false;
    req->stage = STAGE_NONE;
}

// Of the messages of a rank, the oldest: small, from this worker, and for this receive. Takes it.
static inline bool take_first(mlt_req *req)
{
    mlt_rank *rank = req->rank;
    mlt_worker *w = rank->worker;
    mlt_match_queue *queue = &rank->unexpected;
    mlt_msg *msg = mlt_container_of(queue->all.next, mlt_msg, all);
    if (queue->size == 0 || queue->buckets || w->watched || msg->kind != MLT_MSG_EAGER ||
        msg->peer || msg->bytes > MLT_NOW_MOST || req->waiter ||
        !mlt_now_suits(req, mlt_msg_envelope(msg)))
        return false;
    mlt_list_remove(&msg->all);
    queue->size--;
    mlt_copy_small(req->buf, msg->data, msg->bytes);
    req->kind = MLT_REQ_RECV;
    req->cancelled = false;
    mlt_now_got(req, mlt_msg_envelope(msg));
    w->held -= msg->cost;
    msg->magic = 0;
    mlt_pool_give(&w->messages, msg);
    return true;
}

static __attribute__((noinline)) void recv_generally(mlt_req *req)
{
    start_recv(req);
    mlt_msg *msg = mlt_match_find_held(req->rank, req->context, req->peer, req->tag);
    if (msg) {
        mlt_match_unhold(req->rank, msg);
        deliver(req, msg);
        return;
    }
    req->stage = STAGE_POSTED;
    mlt_match_post(req->rank, req, ++req->rank->worker->order);
    if (is_heard(req->rank->worker, req))
        tell(req, MLT_EVENT_POSTED, 0);
}

void mlt_p2p_recv(mlt_req *req)
{
    if (!take_first(req))
        recv_generally(req);
}

void mlt_p2p_recv_msg(mlt_req *req, mlt_msg *msg)
{
    mlt_assert(msg->magic == MLT_MSG_MAGIC);
    start_recv(req);
    req->mode = MLT_MODE_TOLD; // by mlt_p2p_iprobe
    deliver(req, msg);
}

bool mlt_p2p_iprobe(mlt_rank *rank, int32_t source, int32_t tag, uint32_t context, bool take,
                    mlt_msg_info *info, mlt_msg **msg)
{
    mlt_msg *found = mlt_match_find_held(rank, context, source, tag);
    if (!found)
        return false;
    *info = (mlt_msg_info){
        .from = found->src, .tag = found->tag, .bytes = found->bytes, .type = found->type};
    if (take) {
        mlt_match_unhold(rank, found);
        // A trace hears that a probe took the message, which is when it was matched. A receive that
        // comes later than those of later messages would be taken for theirs. Tools hear of the receive.
        if (MLT_UNLIKELY(rank->worker->watched == MLT_WATCH_TRACE))
            tell_message(rank->worker, rank, MLT_EVENT_RECEIVED, found);
        if (found->kind == MLT_MSG_LOCAL) // it has matched: no longer to be cancelled
            ((mlt_req *)(uintptr_t)found->sender)->stage = STAGE_MOVING;
        *msg = found;
    }
    return true;
}

void mlt_p2p_probe(mlt_rank *rank, int32_t source, int32_t tag, uint32_t context, bool take,
                   mlt_msg_info *info, mlt_msg **msg, const char *call)
{
    mlt_wait wait = {
        .call = call, .kind = MLT_WAIT_PROBE, .context = context, .peer = source, .tag = tag};
    prober self = {.fiber = mlt_rank_fiber(rank)};
    while (!mlt_p2p_iprobe(rank, source, tag, context, take, info, msg)) {
        mlt_list_push_waiter(&rank->probers, &self.node);
        mlt_fiber_park(rank->worker->sched, &wait);
    }
}

// ---- what comes out of a ring

enum { AHEAD = 16 };

static uint32_t payload_units(const mlt_slot *slot)
{
    if (slot->kind == SLOT_PIECE)
        return mlt_ring_units(slot->bytes);
    if (slot->kind == SLOT_PACKET)
        return slot->bytes <= MLT_SLOT_PAYLOAD ? 0 : mlt_ring_units(slot->bytes);
    if (slot->kind != SLOT_EAGER)
        return 0;
    bool in_slot =
        slot->bytes <= MLT_SLOT_PAYLOAD && (!(slot->flags & SLOT_SYNC) || slot->bytes == 0);
    return in_slot ? 0 : mlt_ring_units(slot->bytes);
}

// Part of the callers: a message of this host must not wait for a call because there are others.
static inline __attribute__((always_inline)) void
eager_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot, const unsigned char *data)
{
    mlt_rank *to = &w->ranks[slot->dst - w->first_rank];
    mlt_req *recv = mlt_match_take_posted(to, slot->context, slot->src, slot->tag);
    slot_names names = {0};
    if (slot->flags & SLOT_SYNC)
        memcpy(&names, slot->payload, sizeof names);
    if (MLT_LIKELY(recv != NULL)) {
        recv_accept(w, recv, slot_envelope(slot));
        unpack(recv, 0, data, recv->got);
        if (slot->flags & SLOT_SYNC)
            mlt_p2p_control(w, peer, SLOT_FIN, names.sender, 0, 0, 0);
        mlt_req_complete(recv);
        return;
    }
    mlt_msg *msg = new_msg(w, peer, slot->bytes);
    mlt_msg_set(msg, MLT_MSG_EAGER, slot_envelope(slot));
    msg->flags = slot->flags;
    msg->sender = names.sender;
    if (slot->bytes)
        memcpy(msg->data, data, slot->bytes);
    hold(w, to, msg);
}

static void rts_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    mlt_rank *to = &w->ranks[slot->dst - w->first_rank];
    slot_names names;
    slot_spot spot;
    memcpy(&names, slot->payload, sizeof names);
    if (MLT_UNLIKELY(slot->flags & SLOT_DEVICE))
        memcpy(&spot, slot->payload, sizeof spot);
    mlt_req *recv = mlt_match_take_posted(to, slot->context, slot->src, slot->tag);
    if (recv) {
        recv_accept(w, recv, slot_envelope(slot));
        fetch(w, recv, peer, names.sender, names.other, slot->flags, false, &spot.spot);
        return;
    }
    mlt_msg *msg = new_msg(w, peer, 0);
    mlt_msg_set(msg, MLT_MSG_REMOTE, slot_envelope(slot));
    msg->flags = slot->flags;
    msg->sender = names.sender;
    msg->address = names.other;
    if (MLT_UNLIKELY(slot->flags & SLOT_DEVICE))
        memcpy(msg->data, &spot.spot, sizeof spot.spot);
    hold(w, to, msg);
    if (MLT_UNLIKELY(!(slot->flags & SLOT_CONTIGUOUS)) && peer->distance <= MLT_SAME_HOST &&
        (slot->flags & SLOT_DEVICE || (peer->distance == MLT_SAME_PROCESS &&
                                       ((const mlt_req *)(uintptr_t)names.sender)->type->device)))
        mlt_p2p_device_held(w, to);
}

// The next bytes of a receive; moves recv->moved on. False: a device still copies, and completes it.
static inline bool unpack_next(mlt_worker *w, mlt_req *recv, const void *data, uint64_t bytes)
{
    if (!recv->type->contiguous && MLT_UNLIKELY(recv->type->device))
        return mlt_p2p_bounce_put(w, recv, data, bytes);
    unpack(recv, recv->moved, data, bytes);
    recv->moved += bytes;
    return true;
}

static void chunk_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot,
                          const unsigned char *data)
{
    slot_chunk body;
    memcpy(&body, slot->payload, sizeof body);
    mlt_req *recv = (mlt_req *)(uintptr_t)body.receiver;
    mlt_assert(recv->magic == MLT_REQ_MAGIC && recv->stage == STAGE_MOVING &&
               body.offset == recv->moved);
    bool there;
    if (slot->kind == SLOT_PIECE) {
        there = unpack_next(w, recv, data, slot->bytes);
    } else {
        const void *chunk = mlt_wire_chunk_at(w->wire, peer->local, body.chunk);
        there = unpack_next(w, recv, chunk, slot->bytes);
        mlt_wire_chunk_release(w->wire, peer->local, body.chunk);
    }
    if (there && recv->moved == recv->got)
        mlt_req_complete(recv);
}

static void cancel_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_names names;
    memcpy(&names, slot->payload, sizeof names);
    mlt_rank *to = &w->ranks[slot->dst - w->first_rank];
    bool found = false;
    MLT_LIST_EACH(mlt_msg, msg, &to->unexpected.all, all) {
        if (msg->peer == peer && msg->sender == names.sender) {
            mlt_match_unhold(to, msg);
            mlt_p2p_drop(w, msg);
            found = true;
            break;
        }
    }
    mlt_p2p_control(w, peer, SLOT_CANCELLED, names.sender, found, 0, 0);
}

static void packet_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot,
                           const unsigned char *data)
{
    mlt_packet packet = {.kind = slot->type,
                         .object = slot->context,
                         .word = slot->tag,
                         .src = slot->src,
                         .dst = slot->dst};
    if (MLT_UNLIKELY(packet.kind == PACKET_KEY)) {
        mlt_p2p_device_key_came(w, peer, data);
        return;
    }
    mlt_p2p_packet_came(w, peer->worker, &packet, data, slot->bytes);
}

void mlt_p2p_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    uint32_t units = payload_units(slot);
    const unsigned char *data = slot->payload;
    if (units) {
        data = mlt_ring_payload(&peer->rx, units);
        // The lines lie in the sender's cache: ask for the first ones before matching.
        for (uint32_t i = 0; i < units && i < AHEAD; i++)
            __builtin_prefetch(data + (uint64_t)i * MLT_DATA_UNIT);
    }
    switch ((slot_kind)slot->kind) {
    case SLOT_EAGER:
        mlt_assert((uint32_t)(slot->dst - w->first_rank) < w->count);
        eager_arrived(w, peer, slot, data);
        break;
    case SLOT_RTS:
        mlt_assert((uint32_t)(slot->dst - w->first_rank) < w->count);
        rts_arrived(w, peer, slot);
        break;
    case SLOT_DATA:
    case SLOT_PIECE:
        chunk_arrived(w, peer, slot, data);
        break;
    case SLOT_CANCEL:
        mlt_assert((uint32_t)(slot->dst - w->first_rank) < w->count);
        cancel_arrived(w, peer, slot);
        break;
    case SLOT_TAKEN: {
        slot_names names;
        memcpy(&names, slot->payload, sizeof names);
        mlt_req *recv = (mlt_req *)(uintptr_t)names.other;
        if (peer->distance == MLT_SAME_HOST) {
            mlt_p2p_share_taken(w, peer, recv);
            break;
        }
        mlt_p2p_control(w, peer, SLOT_FIN, names.sender, 0, 0, 0);
        mlt_req_complete(recv);
        break;
    }
    case SLOT_NOTE: {
        slot_names names;
        memcpy(&names, slot->payload, sizeof names);
        mlt_p2p_note_came(w, peer->worker, names.sender, names.other);
        break;
    }
    case SLOT_PACKET:
        packet_arrived(w, peer, slot, data);
        break;
    case SLOT_CTS:
    case SLOT_FIN:
    case SLOT_CANCELLED:
    case SLOT_HELP:
    case SLOT_SHARE:
    case SLOT_PUT:
        mlt_p2p_answered(w, peer, slot);
        break;
    case SLOT_DONE:
        mlt_p2p_device_done(slot);
        break;
    case SLOT_SHOW:
        mlt_p2p_device_show(w, peer, slot);
        break;
    default:
        mlt_fatal(
            "a ring holds a message of unknown kind %u: the job's shared memory was overwritten",
            slot->kind);
    }
    mlt_wire_consume(w->wire, peer, units);
}

// ---- what comes from another host

static bool is_for_rank(const mlt_worker *w, const mlt_slot *slot)
{
    return (uint32_t)(slot->dst - w->first_rank) < w->count;
}

// The part of a stream that a frame has, or that has landed.
static bool part_arrived(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame)
{
    slot_chunk body;
    memcpy(&body, frame->slot.payload, sizeof body);
    const mlt_named *named = mlt_token_find(&w->wire->names, body.receiver, peer->worker);
    mlt_req *recv = named ? named->owner : NULL;
    bool landed = frame->kind == MLT_WIRE_FRAME_DATA;
    if (!recv || recv->kind != MLT_REQ_RECV || recv->stage != STAGE_MOVING ||
        landed != (named->memory != NULL) || body.offset != recv->moved ||
        frame->length > recv->got - recv->moved)
        return false;
    bool there = true;
    if (landed)
        recv->moved += frame->length;
    else
        there = unpack_next(w, recv, mlt_wire_frame_data(frame), frame->length);
    if (recv->moved == recv->got) {
        (void)mlt_token_take(&w->wire->names, body.receiver, peer->worker);
        if (there)
            mlt_req_complete(recv);
    }
    return true;
}

// A receive without gaps gets the data into its memory. Otherwise they are held; a receive that is
// posted before all are there gets them then.
unsigned char *mlt_p2p_place_far(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame,
                                 uint64_t *bytes, const char **fault)
{
    const mlt_slot *slot = &frame->slot;
    if (slot->kind != SLOT_EAGER || slot->flags & SLOT_SYNC || frame->in_slot ||
        frame->length != slot->bytes || !is_for_rank(w, slot)) {
        *fault = "it is long, and no message for a rank of this worker";
        return NULL;
    }
    mlt_rank *to = &w->ranks[slot->dst - w->first_rank];
    mlt_req *recv = mlt_match_take_posted(to, slot->context, slot->src, slot->tag);
    peer->landing = recv;
    if (recv) {
        recv_accept(w, recv, slot_envelope(slot));
        recv->stage = STAGE_MOVING;
        *bytes = recv->got;
        if (recv->type->contiguous)
            return recv->buf;
    }
    mlt_msg *msg = new_msg(w, peer, slot->bytes);
    mlt_msg_set(msg, MLT_MSG_EAGER, slot_envelope(slot));
    peer->landing_held = msg;
    *bytes = slot->bytes;
    return msg->data;
}

static void long_arrived(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    mlt_rank *to = &w->ranks[slot->dst - w->first_rank];
    mlt_req *recv = peer->landing;
    mlt_msg *msg = peer->landing_held;
    peer->landing = peer->landing_held = NULL;
    if (msg && !recv && (recv = mlt_match_take_posted(to, slot->context, slot->src, slot->tag)))
        recv_accept(w, recv, slot_envelope(slot));
    if (!recv) {
        hold(w, to, msg);
        return;
    }
    if (msg) {
        unpack(recv, 0, msg->data, recv->got);
        mlt_p2p_drop(w, msg);
    }
    mlt_req_complete(recv);
}

// Whether the payload is as long as its kind asks for.
static bool has_its_lengths(const mlt_wire_frame *frame)
{
    const mlt_slot *slot = &frame->slot;
    bool data = frame->kind == MLT_WIRE_FRAME_DATA;
    switch ((slot_kind)slot->kind) {
    case SLOT_EAGER:
        if (slot->flags & SLOT_SYNC)
            return frame->in_slot == sizeof(slot_names) && frame->length == slot->bytes && !data;
        // fall through
    case SLOT_PACKET:
        return slot->bytes <= MLT_SLOT_PAYLOAD
                   ? frame->in_slot == slot->bytes && frame->length == 0 && !data
                   : frame->in_slot == 0 && frame->length == slot->bytes && !data;
    case SLOT_RTS:
    case SLOT_CTS:
    case SLOT_FIN:
    case SLOT_CANCEL:
    case SLOT_CANCELLED:
    case SLOT_NOTE:
        return frame->in_slot == sizeof(slot_names) && frame->length == 0 && !data;
    case SLOT_PIECE:
        return frame->in_slot == sizeof(slot_chunk) && frame->length > 0 && !data;
    case SLOT_DATA:
        return frame->in_slot == sizeof(slot_chunk) && data;
    case SLOT_HOLD:
        return frame->in_slot == 0 && frame->length == 0 && !data;
    case SLOT_HELP:
    case SLOT_TAKEN:
    case SLOT_SHARE:
    case SLOT_PUT:
    case SLOT_DONE:
    case SLOT_SHOW:
        break; // inside a host only
    }
    return false;
}

static const char *take_far(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame)
{
    const mlt_slot *slot = &frame->slot;
    slot_names names = {0};
    if (frame->kind == MLT_WIRE_FRAME_LONG) {
        long_arrived(w, peer, slot);
        return NULL;
    }
    if (!has_its_lengths(frame))
        return "its kind and its lengths do not fit";
    if (frame->in_slot == sizeof names)
        memcpy(&names, slot->payload, sizeof names);
    switch ((slot_kind)slot->kind) {
    case SLOT_EAGER:
        if (!is_for_rank(w, slot))
            return "it is for a rank of another worker";
        eager_arrived(w, peer, slot, frame->length ? mlt_wire_frame_data(frame) : slot->payload);
        return NULL;
    case SLOT_RTS:
        if (!is_for_rank(w, slot))
            return "it is for a rank of another worker";
        rts_arrived(w, peer, slot);
        return NULL;
    case SLOT_CANCEL:
        if (!is_for_rank(w, slot))
            return "it is for a rank of another worker";
        cancel_arrived(w, peer, slot);
        return NULL;
    case SLOT_DATA:
    case SLOT_PIECE:
        return part_arrived(w, peer, frame) ? NULL : "it has data that nobody asked for";
    case SLOT_HOLD:
        atomic_store_explicit(peer->backlog, slot->bytes, memory_order_relaxed);
        return NULL;
    case SLOT_NOTE:
        if (peer->foreign)
            return "a note comes from another job";
        mlt_p2p_note_came(w, peer->worker, names.sender, names.other);
        return NULL;
    case SLOT_PACKET:
        if (peer->foreign &&
            !(mlt_upcalls.packet_crosses && mlt_upcalls.packet_crosses(slot->type)))
            return "a packet comes from another job";
        packet_arrived(w, peer, slot, frame->length ? mlt_wire_frame_data(frame) : slot->payload);
        return NULL;
    default: // CTS, FIN, CANCELLED
        return mlt_p2p_answered_far(w, peer, slot) ? NULL : "it answers what nobody asked";
    }
}

void mlt_p2p_arrived_far(mlt_worker *w, mlt_peer *peer, const mlt_wire_frame *frame,
                         const char **fault)
{
    *fault = take_far(w, peer, frame);
}
