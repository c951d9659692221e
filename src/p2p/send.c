// SPDX-License-Identifier: BSD-3-Clause
// The sending half: to a rank of this worker, or into a ring; what waits for room; streams of
// chunks.
#include <stdlib.h>

#include "arch/arch.h"
#include "base/event.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "os/jitter.h"
#include "os/os.h"
#include "p2p/bounce.h"
#include "p2p/copied.h"
#include "p2p/device.h"
#include "p2p/p2p_int.h"

enum {
    STREAM_LEAST = 512 << 10, // from here on a message is read past the caches
    FAR_PART = 256 << 10,     // of a message to another host: others may go between
};

// Data that one message can carry beside its slot, so that it always fits beside others.
static uint64_t piece_most(const mlt_worker *w, const mlt_peer *peer)
{
    return mlt_peer_is_far(peer) ? MLT_WIRE_FRAME_MOST : w->boot->job->ring_data / 4;
}

uint32_t mlt_worker_search(const mlt_worker *w, int32_t world)
{
    mlt_job *job = w->boot->job;
    if ((uint32_t)world >= job->ranks)
        return mlt_worlds_worker(w->wire->worlds, world);
    if (w->uniform)
        return (uint32_t)world / w->uniform;
    uint32_t low = 0, high = job->workers; // the worker is in [low, high)
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if ((uint32_t)world < mlt_job_location_at(job, middle)->first_rank)
            high = middle;
        else
            low = middle;
    }
    return low;
}

// The receiver holds more of ours than it should: ask before sending data.
static inline bool holds_much(const mlt_worker *w, _Atomic uint64_t *backlog)
{
    return atomic_load_explicit(backlog, memory_order_relaxed) > w->peer_hold;
}

static bool must_ask(const mlt_worker *w, const mlt_peer *peer)
{
    return holds_much(w, peer->backlog);
}

// A send that is not done at once may be cancelled. When it left then tells which one it was.
static MLT_COLD void tell_sent(mlt_req *req, mlt_distance distance, bool eager)
{
    mlt_event event = {.kind = MLT_EVENT_SENT,
                       .how = (uint8_t)distance,
                       .eager = eager,
                       .peer = req->peer,
                       .tag = req->tag,
                       .context = req->context,
                       .bytes = req->total};
    if (!eager || req->mode == MLT_MODE_SYNC)
        event.since = req->order = mlt_arch_cycles();
    if (mlt_upcalls.event)
        mlt_upcalls.event(req->rank->worker, req->rank, &event);
}

// Unless nobody heard that it left.
static MLT_COLD void tell_cancelled(const mlt_req *req)
{
    mlt_event event = {.kind = MLT_EVENT_CANCELLED,
                       .peer = req->peer,
                       .tag = req->tag,
                       .context = req->context,
                       .bytes = req->total,
                       .since = req->order};
    if (req->rank->worker->watched && req->order && mlt_upcalls.event)
        mlt_upcalls.event(req->rank->worker, req->rank, &event);
}

static inline void tell_if_watched(const mlt_worker *w, mlt_req *req, mlt_distance distance,
                                   bool eager)
{
    if (MLT_UNLIKELY(w->watched))
        tell_sent(req, distance, eager);
}

// A small message of a burst is held back, and leaves together with the next ones.
static MLT_COLD void push_soon(mlt_worker *w)
{
    enum { BURST_NS = 10000 };
    if (mlt_os_now_ns() - w->p2p->pushed_ns < BURST_NS)
        return;
    (void)mlt_p2p_push(w);
    w->p2p->pushed_ns = mlt_os_now_ns(); // long messages take long to write
}

// A small message with its data to another worker. False: no room.
static MLT_INLINE bool post_small(mlt_worker *w, mlt_peer *peer, const void *buf, int32_t dest,
                                  mlt_envelope e, bool far)
{
    bool in_slot = e.bytes <= MLT_SLOT_PAYLOAD;
    unsigned char *data = NULL;
    mlt_slot *slot =
        far ? w->wire->over->reserve(w->wire, peer, in_slot ? (uint32_t)e.bytes : 0,
                                     in_slot ? 0 : e.bytes, &data)
            : mlt_ring_reserve(&peer->tx, in_slot ? 0 : mlt_ring_units(e.bytes), &data);
    if (MLT_UNLIKELY(!slot))
        return false;
    if (in_slot)
        mlt_copy_small(slot->payload, buf, e.bytes);
    else
        memcpy(data, buf, e.bytes);
    mlt_slot_fill(slot, SLOT_EAGER, 0, dest, e);
    if (far)
        mlt_wire_post(w->wire, peer, slot);
    else
        mlt_wire_post_near(w->wire, peer, slot);
    mlt_worker_count_message(w, peer->distance, e.bytes, true);
    return true;
}

// As below, to a peer of another host. Apart, so that the way to those of this host stays short.
static MLT_NOINLINE bool send_far_now(mlt_worker *w, mlt_peer *peer, const void *buf, int32_t dest,
                                      const mlt_envelope *e, bool soon)
{
    if (must_ask(w, peer) || !post_small(w, peer, buf, dest - peer->first_rank, *e, true))
        return false;
    w->unsent = true;
    if (soon)
        push_soon(w);
    else
        (void)mlt_p2p_push(w);
    return true;
}

static MLT_INLINE bool post_now(mlt_rank *rank, const void *buf, int32_t dest,
                                const mlt_envelope *e, bool soon)
{
    mlt_worker *w = rank->worker;
    mlt_rank *local = mlt_worker_local_rank(w, dest);
    if (local) {
        mlt_req *recv = mlt_match_take_posted(local, e->context, e->src, e->tag);
        if (recv) {
            mlt_p2p_take_local(recv, buf, NULL, e);
        } else {
            if (e->bytes > w->eager[MLT_SAME_WORKER] || w->held > w->held_limit)
                return false;
            mlt_p2p_hold_copy(w, local, buf, NULL, e);
        }
        mlt_worker_count_message(w, MLT_SAME_WORKER, e->bytes, true);
        return true;
    }
    mlt_peer *peer = mlt_wire_peer(w->wire, mlt_worker_of_rank(w, dest));
    if (MLT_UNLIKELY(e->bytes > w->eager[peer->distance] || peer->waits))
        return false;
    if (mlt_peer_is_far(peer))
        return send_far_now(w, peer, buf, dest, e, soon);
    if (MLT_UNLIKELY(holds_much(w, &peer->tx.ring->backlog)))
        return false;
    return post_small(w, peer, buf, dest, *e, false);
}

static inline mlt_distance distance_to(const mlt_worker *w, int32_t dest)
{
    return mlt_worker_local_rank(w, dest)
               ? MLT_SAME_WORKER
               : mlt_wire_peer(w->wire, mlt_worker_of_rank(w, dest))->distance;
}

int mlt_p2p_send_told(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *e)
{
    return post_now(rank, buf, dest, e, false) ? (int)distance_to(rank->worker, dest) : -1;
}

// Tools hear of requests only.
static MLT_COLD bool send_watched(mlt_rank *rank, const void *buf, int32_t dest,
                                  const mlt_envelope *e, bool soon)
{
    mlt_worker *w = rank->worker;
    uint64_t since = mlt_arch_cycles(); // before anybody can be seen to receive it
    if (w->watched & MLT_WATCH_TOOLS || !post_now(rank, buf, dest, e, soon))
        return false;
    mlt_event event = {.kind = MLT_EVENT_SENT,
                       .how = (uint8_t)distance_to(w, dest),
                       .eager = true,
                       .peer = dest,
                       .tag = e->tag,
                       .context = e->context,
                       .bytes = e->bytes,
                       .since = since};
    if (mlt_upcalls.event)
        mlt_upcalls.event(w, rank, &event);
    return true;
}

static MLT_INLINE bool send_now(mlt_rank *rank, const void *buf, int32_t dest,
                                const mlt_envelope *e, bool soon)
{
    if (MLT_UNLIKELY(rank->worker->watched))
        return send_watched(rank, buf, dest, e, soon);
    return post_now(rank, buf, dest, e, soon);
}

bool mlt_p2p_send_now(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *e)
{
    return send_now(rank, buf, dest, e, false);
}

bool mlt_p2p_send_soon(mlt_rank *rank, const void *buf, int32_t dest, const mlt_envelope *e)
{
    return send_now(rank, buf, dest, e, true);
}

// ---- into a ring

// How the peer is to name the request in its answer.
static uint64_t name_send(mlt_worker *w, mlt_peer *peer, mlt_req *req)
{
    if (!mlt_peer_is_far(peer))
        return (uintptr_t)req;
    return req->remote = mlt_token_give(&w->wire->names, req, peer->worker, NULL, 0);
}

static void pack(const mlt_req *req, uint64_t from, void *to, uint64_t bytes)
{
    if (!req->type->contiguous)
        mlt_type_pack(req->type, req->buf, from, to, bytes);
    else if (bytes)
        memcpy(to, (const char *)req->buf + from, bytes);
}

// The next part of a stream.
static void pack_next(mlt_worker *w, const mlt_req *req, void *to, uint64_t bytes)
{
    if (req->type->contiguous)
        memcpy(to, (const char *)req->buf + req->moved, bytes);
    else if (MLT_UNLIKELY(req->type->device))
        mlt_p2p_bounce_take(w, req, to, bytes);
    else
        mlt_type_pack(req->type, req->buf, req->moved, to, bytes);
}

// Of a message that does not fit the caches anyway: leave them to the chunks.
static void pack_streaming(mlt_worker *w, const mlt_req *req, void *to, uint64_t bytes)
{
    if (!req->type->contiguous || req->total < STREAM_LEAST || bytes % 64) {
        pack_next(w, req, to, bytes);
        return;
    }
    mlt_arch_copy_once(to, (const char *)req->buf + req->moved, bytes);
}

// How far a stream can be sent now.
static inline uint64_t stream_reach(mlt_worker *w, const mlt_peer *peer, mlt_req *req)
{
    return MLT_UNLIKELY(req->type->device) ? mlt_p2p_bounce_reach(w, peer, req) : req->total;
}

// Whether the data of a send to another host go with its envelope, out of the user's memory.
static bool is_long(const mlt_worker *w, const mlt_peer *peer, const mlt_req *req)
{
    return req->total > w->eager[MLT_OTHER_HOST] && req->total <= w->p2p->long_most &&
           req->mode != MLT_MODE_SYNC && req->type->contiguous && !must_ask(w, peer) &&
           w->wire->over->takes_long(peer, req->total);
}

static bool push_long(mlt_worker *w, mlt_peer *peer, mlt_req *req)
{
    mlt_slot slot;
    mlt_slot_fill(&slot, SLOT_EAGER, 0, req->peer - peer->first_rank, req_envelope(req));
    if (!w->wire->over->post_memory(w->wire, peer, MLT_WIRE_FRAME_LONG, &slot, 0, req->buf,
                                    req->total, &req->ticket))
        return false;
    req->moved = req->total;
    req->stage = STAGE_STREAM;
    req->remote_worker = peer->worker;
    mlt_list_push_back(&w->p2p->streams, &req->node);
    mlt_worker_count_message(w, peer->distance, req->total, true);
    tell_if_watched(w, req, peer->distance, true);
    return true;
}

// Puts the envelope of a send into the ring, with the data if it is small; false if there is no
// room.
static bool push(mlt_worker *w, mlt_peer *peer, mlt_req *req)
{
    if (mlt_peer_is_far(peer) && is_long(w, peer, req))
        return push_long(w, peer, req);
    slot_spot spot;
    bool shown = MLT_UNLIKELY(req->type->device) && mlt_p2p_device_shows(peer, req, &spot.spot);
    bool by_device =
        MLT_UNLIKELY(req->type->device) && (shown || peer->distance == MLT_SAME_PROCESS);
    bool eager = req->total <= w->eager[peer->distance] && !must_ask(w, peer) && !by_device;
    bool sync = req->mode == MLT_MODE_SYNC;
    unsigned char *data = NULL;
    bool beside = eager && (req->total > MLT_SLOT_PAYLOAD || (sync && req->total > 0));
    uint32_t in_slot = !eager || sync ? sizeof(slot_names) : beside ? 0 : (uint32_t)req->total;
    mlt_slot *slot = mlt_wire_reserve(w->wire, peer, in_slot, beside ? req->total : 0, &data);
    if (!slot)
        return false;
    uint8_t flags =
        (uint8_t)((sync ? SLOT_SYNC : 0) | (req->type->contiguous ? SLOT_CONTIGUOUS : 0));
    mlt_slot_fill(slot, eager ? SLOT_EAGER : SLOT_RTS, flags, req->peer - peer->first_rank,
                  req_envelope(req));
    if (eager)
        pack(req, 0, beside ? data : slot->payload, req->total);
    if (MLT_UNLIKELY(shown)) {
        slot->flags |= SLOT_DEVICE;
        spot.sender = name_send(w, peer, req);
        spot.receiver = 0;
        memcpy(slot->payload, &spot, sizeof spot);
    } else if (!eager || sync) {
        slot_names names = {.sender = name_send(w, peer, req), .other = (uintptr_t)req->buf};
        memcpy(slot->payload, &names, sizeof names);
    }
    req->stage = STAGE_ASKED;
    req->remote_worker = peer->worker;
    tell_if_watched(w, req, peer->distance, eager); // before anybody can be seen to receive it
    mlt_wire_post(w->wire, peer, slot);
    mlt_worker_count_message(w, peer->distance, req->total, eager);
    if (eager && !sync)
        mlt_req_complete(req);
    return true;
}

static out_node *enqueue(mlt_worker *w, mlt_peer *peer, mlt_req *req)
{
    out_node *out = mlt_pool_take(&w->p2p->outs);
    out->req = req;
    out->body = NULL;
    mlt_list_push_back(&peer->queue, &out->node);
    if (!peer->waits) {
        peer->waits = true;
        mlt_list_push_back(&w->p2p->waiting, &peer->waiting);
    }
    return out;
}

static void end_stream(mlt_req *req, mlt_peer *peer)
{
    mlt_list_remove(&req->node);
    mlt_wire_starve(peer, false);
    mlt_req_complete(req);
}

static void send_remote(mlt_worker *w, mlt_req *req)
{
    mlt_peer *peer = mlt_wire_peer(w->wire, mlt_worker_of_rank(w, req->peer));
    if (peer->waits || !push(w, peer, req)) {
        req->stage = STAGE_QUEUED;
        enqueue(w, peer, req);
    }
    if (!mlt_peer_is_far(peer))
        return;
    w->unsent = true;
    push_soon(w);
    if (req->stage == STAGE_STREAM && w->wire->over->has_left(peer, req->ticket))
        end_stream(req, peer);
}

void mlt_p2p_let_go(mlt_worker *w)
{
    w->unsent = false;
    (void)mlt_p2p_push(w);
    w->wire->over->await(w->wire);
}

static void send_local(mlt_worker *w, mlt_rank *to, mlt_req *req)
{
    mlt_req *recv = mlt_match_take_posted(to, req->context, req->self, req->tag);
    const mlt_envelope e = req_envelope(req);
    bool eager = recv || !(req->mode == MLT_MODE_SYNC || req->total > w->eager[MLT_SAME_WORKER] ||
                           w->held > w->held_limit || req->type->device);
    tell_if_watched(w, req, MLT_SAME_WORKER, eager);
    if (recv && is_by_device(recv->type, req->type)) {
        mlt_p2p_take_from_device(recv, req, &e);
        eager = false;
    } else if (recv) {
        mlt_p2p_take_local(recv, req->buf, req->type, &e);
    } else if (!eager) {
        mlt_p2p_hold_local(w, to, req);
    } else {
        mlt_p2p_hold_copy(w, to, req->buf, req->type, &e);
    }
    mlt_worker_count_message(w, MLT_SAME_WORKER, req->total, eager);
    if (eager)
        mlt_req_complete(req);
}

void mlt_p2p_send(mlt_req *req)
{
    mlt_worker *w = req->rank->worker;
    req->kind = MLT_REQ_SEND;
    req->done = req->cancelled = false;
    req->status = MLT_OK;
    req->got = req->moved = req->order = 0;
    req->total = req->count * req->type->size;
    req->rank->sends_open++;
    mlt_rank *local = mlt_worker_local_rank(w, req->peer);
    if (local)
        send_local(w, local, req);
    else
        send_remote(w, req);
}

// ---- control messages

void mlt_p2p_control_with(mlt_worker *w, mlt_peer *peer, slot_kind kind, const void *payload,
                          size_t size, int32_t dst, uint64_t bytes)
{
    mlt_slot *slot = peer->waits ? NULL : mlt_wire_reserve(w->wire, peer, (uint32_t)size, 0, NULL);
    bool room = slot != NULL;
    if (!room) {
        out_node *out = enqueue(w, peer, NULL);
        out->in_slot = (uint8_t)size;
        slot = &out->slot;
    }
    mlt_slot_fill(slot, kind, 0, dst, (mlt_envelope){.bytes = bytes});
    if (size)
        memcpy(slot->payload, payload, size);
    if (room)
        mlt_wire_post(w->wire, peer, slot);
}

void mlt_p2p_control(mlt_worker *w, mlt_peer *peer, slot_kind kind, uint64_t sender, uint64_t other,
                     int32_t dst, uint64_t bytes)
{
    slot_names names = {.sender = sender, .other = other};
    mlt_p2p_control_with(w, peer, kind, &names, sizeof names, dst, bytes);
}

void mlt_p2p_note_came(mlt_worker *w, uint32_t from, uint64_t what, uint64_t value)
{
    if (!mlt_upcalls.note)
        mlt_fatal("worker %u got a note of kind %llu from worker %u, which nobody understands",
                  w->index, (unsigned long long)what, from);
    mlt_upcalls.note(w, from, what, value);
}

void mlt_p2p_note(mlt_worker *w, uint32_t to, uint64_t what, uint64_t value)
{
    if (to == w->index)
        mlt_p2p_note_came(w, to, what, value);
    else
        mlt_p2p_control(w, mlt_wire_peer(w->wire, to), SLOT_NOTE, what, value, 0, 0);
    if (w->wire)
        (void)mlt_p2p_push(w);
}

// ---- packets

void mlt_p2p_packet_came(mlt_worker *w, uint32_t from, const mlt_packet *packet, const void *data,
                         uint64_t bytes)
{
    if (!mlt_upcalls.packet)
        mlt_fatal("worker %u got a packet of kind %u from worker %u, which nobody understands",
                  w->index, packet->kind, from);
    mlt_upcalls.packet(w, from, packet, data, bytes);
}

uint64_t mlt_p2p_packet_most(const mlt_worker *w, uint32_t to)
{
    if (to == w->index)
        return UINT64_MAX;
    return piece_most(w, mlt_wire_peer(w->wire, to));
}

uint64_t mlt_p2p_eager_most(const mlt_worker *w, uint32_t to)
{
    // Not above the most of a packet.
    return w->eager[mlt_wire_peer(w->wire, to)->distance];
}

static inline void fill_packet(mlt_slot *slot, const mlt_packet *packet, uint64_t bytes)
{
    mlt_slot_fill(slot, SLOT_PACKET, 0, packet->dst,
                  (mlt_envelope){.bytes = bytes,
                                 .context = packet->object,
                                 .src = packet->src,
                                 .tag = packet->word,
                                 .type = packet->kind});
}

static MLT_COLD void queue_packet(mlt_worker *w, mlt_peer *peer, const mlt_packet *packet,
                                  const void *data, uint64_t bytes)
{
    out_node *out = enqueue(w, peer, NULL);
    fill_packet(&out->slot, packet, bytes);
    out->in_slot = (uint8_t)(bytes <= MLT_SLOT_PAYLOAD ? bytes : 0);
    if (bytes <= MLT_SLOT_PAYLOAD) {
        mlt_copy_small(out->slot.payload, data, bytes);
        return;
    }
    out->body = malloc(bytes);
    if (!out->body)
        mlt_no_room("a packet of %llu bytes to worker %u", (unsigned long long)bytes, peer->worker);
    memcpy(out->body, data, bytes);
}

void mlt_p2p_packet(mlt_worker *w, uint32_t to, const mlt_packet *packet, const void *data,
                    uint64_t bytes)
{
    if (to == w->index) {
        mlt_p2p_packet_came(w, to, packet, data, bytes);
        return;
    }
    mlt_peer *peer = mlt_wire_peer(w->wire, to);
    unsigned char *room = NULL;
    bool beside = bytes > MLT_SLOT_PAYLOAD;
    uint32_t in_slot = beside ? 0 : (uint32_t)bytes;
    mlt_assert(bytes <= piece_most(w, peer));
    mlt_slot *slot =
        peer->waits ? NULL : mlt_wire_reserve(w->wire, peer, in_slot, beside ? bytes : 0, &room);
    if (MLT_UNLIKELY(!slot)) {
        queue_packet(w, peer, packet, data, bytes);
        return;
    }
    if (beside)
        memcpy(room, data, bytes);
    else
        mlt_copy_small(slot->payload, data, bytes);
    fill_packet(slot, packet, bytes);
    mlt_wire_post(w->wire, peer, slot);
    (void)mlt_p2p_push(w);
}

// ---- what waits for room

static bool push_control(mlt_worker *w, mlt_peer *peer, const out_node *out)
{
    const mlt_slot *from = &out->slot;
    unsigned char *data = NULL;
    mlt_slot *slot =
        mlt_wire_reserve(w->wire, peer, out->in_slot, out->body ? from->bytes : 0, &data);
    if (!slot)
        return false;
    mlt_slot_fill(slot, from->kind, from->flags, from->dst, slot_envelope(from));
    if (out->body)
        memcpy(data, out->body, from->bytes);
    else
        memcpy(slot->payload, from->payload, sizeof slot->payload);
    mlt_wire_post(w->wire, peer, slot);
    return true;
}

static bool flush_peer(mlt_worker *w, mlt_peer *peer)
{
    bool any = false;
    for (out_node *out; (out = MLT_LIST_FIRST(&peer->queue, out_node, node));) {
        if (!(out->req ? push(w, peer, out->req) : push_control(w, peer, out)))
            return any;
        mlt_list_remove(&out->node);
        free(out->body);
        mlt_pool_give(&w->p2p->outs, out);
        any = true;
    }
    peer->waits = false;
    mlt_list_remove(&peer->waiting);
    mlt_wire_starve(peer, false);
    return any;
}

bool mlt_p2p_flush(mlt_worker *w)
{
    bool any = false;
    MLT_LIST_EACH_SAFE(mlt_peer, peer, &w->p2p->waiting, waiting)
        any |= flush_peer(w, peer);
    return any;
}

bool mlt_p2p_packets_left(mlt_worker *w, uint32_t to)
{
    mlt_peer *peer = mlt_wire_peer(w->wire, to);
    if (!mlt_list_empty(&peer->queue))
        (void)mlt_p2p_flush(w);
    (void)mlt_p2p_push(w);
    return mlt_list_empty(&peer->queue);
}

static void forget_peer(mlt_peer *peer)
{
    MLT_LIST_EACH(out_node, out, &peer->queue, node)
        free(out->body);
    free(peer->landing_held);
}

void mlt_p2p_forget(mlt_worker *w)
{
    mlt_wire *wire = w->wire;
    for (size_t i = 0; i < wire->abroad.size; i++)
        if (wire->abroad.slots[i].used)
            forget_peer((mlt_peer *)wire->abroad.slots[i].word);
    for (uint32_t i = 0; i < (wire->all ? w->boot->job->workers : w->boot->job->local_workers);
         i++) {
        mlt_peer *peer = wire->all ? wire->all[i] : &wire->peers[i];
        if (peer)
            forget_peer(peer);
    }
}

// ---- streams

// Sends a piece of a stream, which can be sent up to `reach`, through the ring; false if there is no room.
static bool push_piece(mlt_worker *w, mlt_peer *peer, mlt_req *req, uint64_t reach)
{
    uint64_t n = reach - req->moved, most = piece_most(w, peer);
    if (n > most)
        n = most;
    unsigned char *data = NULL;
    slot_chunk body = {.receiver = req->remote, .offset = req->moved};
    mlt_slot *slot = mlt_wire_reserve(w->wire, peer, sizeof body, n, &data);
    if (!slot)
        return false;
    pack_next(w, req, data, n);
    bool lands = mlt_peer_is_far(peer) && req->lands;
    mlt_slot_fill(slot, lands ? SLOT_DATA : SLOT_PIECE, 0, 0, (mlt_envelope){.bytes = n});
    memcpy(slot->payload, &body, sizeof body);
    req->moved += n;
    if (lands)
        w->wire->over->post_data(w->wire, peer, slot);
    else
        mlt_wire_post(w->wire, peer, slot);
    return true;
}

// Sends the next part of a stream to another host: out of the user's memory, if neither side has
// gaps.
static bool push_far(mlt_worker *w, mlt_peer *peer, mlt_req *req, uint64_t reach)
{
    if (!req->lands || !req->type->contiguous)
        return push_piece(w, peer, req, reach);
    uint64_t n = req->total - req->moved;
    if (n > FAR_PART)
        n = FAR_PART;
    mlt_slot slot = {.kind = SLOT_DATA, .bytes = n};
    slot_chunk body = {.receiver = req->remote, .offset = req->moved};
    memcpy(slot.payload, &body, sizeof body);
    if (!w->wire->over->post_memory(w->wire, peer, MLT_WIRE_FRAME_DATA, &slot, sizeof body,
                                    (const char *)req->buf + req->moved, n, &req->ticket))
        return false;
    req->moved += n;
    return true;
}

// A stream to another host. True: it has moved on; *done: all of it has left.
static bool pump_far(mlt_worker *w, mlt_peer *peer, mlt_req *req, bool *done)
{
    bool any = false;
    for (uint64_t reach; !peer->waits && req->moved < (reach = stream_reach(w, peer, req)) &&
                         push_far(w, peer, req, reach);)
        any = true;
    if (any)
        (void)mlt_p2p_push(w);
    *done =
        req->moved == req->total && (!req->ticket || w->wire->over->has_left(peer, req->ticket));
    return any || *done;
}

// Bytes to put into the next chunk. Data with gaps takes long to pack and to unpack, so a message
// of few chunks goes in smaller ones: both sides then work at the same time.
static uint64_t chunk_fill(const mlt_worker *w, const mlt_req *req, uint64_t reach)
{
    enum { LEAST = 8 << 10, PARTS = 8 };
    uint64_t most = w->wire->chunk_bytes, part = req->total / PARTS;
    if (!req->type->contiguous && part < most && !req->type->device)
        most = part > LEAST ? part : LEAST;
    uint64_t left = reach - req->moved;
    return left < most ? left : most;
}

// Sends one chunk of a stream; false if there is no chunk or no room.
static bool push_chunk(mlt_worker *w, mlt_peer *peer, mlt_req *req, uint64_t reach)
{
    if (peer->waits)
        return false;
    mlt_slot *slot = mlt_ring_reserve(&peer->tx, 0, NULL);
    if (!slot)
        return false;
    int32_t chunk = mlt_wire_chunk_take(w->wire, req->total >= STREAM_LEAST, peer->local);
    if (chunk < 0) // the reserved slot was not published: it stays the next one
        return chunk == MLT_CHUNK_NONE && push_piece(w, peer, req, reach);
    uint64_t n = chunk_fill(w, req, reach);
    pack_streaming(w, req, mlt_wire_chunk_at(w->wire, w->wire->local, (uint32_t)chunk), n);
    slot_chunk body = {.receiver = req->remote, .offset = req->moved, .chunk = (uint32_t)chunk};
    mlt_slot_fill(slot, SLOT_DATA, 0, 0, (mlt_envelope){.bytes = n});
    memcpy(slot->payload, &body, sizeof body);
    req->moved += n;
    mlt_wire_post(w->wire, peer, slot);
    return true;
}

bool mlt_p2p_pump(mlt_worker *w)
{
    bool any = false;
    MLT_LIST_EACH_SAFE(mlt_req, req, &w->p2p->streams, node) {
        mlt_peer *peer = mlt_wire_peer(w->wire, req->remote_worker);
        bool done;
        if (mlt_peer_is_far(peer)) {
            any |= pump_far(w, peer, req, &done);
        } else {
            for (uint64_t reach; req->moved < (reach = stream_reach(w, peer, req)) &&
                                 push_chunk(w, peer, req, reach);)
                any = true;
            done = req->moved == req->total;
        }
        if (!done)
            continue; // another stream may go to a ring with room
        end_stream(req, peer);
    }
    return any;
}

void mlt_p2p_mark_starved(mlt_worker *w, bool starved)
{
    MLT_LIST_EACH(mlt_peer, peer, &w->p2p->waiting, waiting)
        mlt_wire_starve(peer, starved);
    MLT_LIST_EACH(mlt_req, req, &w->p2p->streams, node)
        mlt_wire_starve(mlt_wire_peer(w->wire, req->remote_worker), starved);
    mlt_jitter();
    atomic_thread_fence(memory_order_seq_cst); // pairs with mlt_ring_give_back
    mlt_jitter();
}

// ---- answers

// The receiver wants the data, and has room for so many bytes.
static void begin_stream(mlt_worker *w, mlt_req *req, uint64_t receiver, uint64_t bytes)
{
    req->remote = receiver;
    req->total = bytes;
    if (MLT_UNLIKELY(req->type->device))
        mlt_p2p_copied_chunks(w, mlt_wire_peer(w->wire, req->remote_worker), req, bytes);
    req->stage = STAGE_STREAM;
    mlt_list_push_back(&w->p2p->streams, &req->node);
    mlt_p2p_pump(w);
}

void mlt_p2p_send_in_chunks(mlt_worker *w, mlt_req *send, uint64_t receiver, uint64_t bytes)
{
    begin_stream(w, send, receiver, bytes);
}

static void end_answered(mlt_req *req, bool cancelled)
{
    req->cancelled = cancelled;
    if (cancelled)
        tell_cancelled(req);
    mlt_req_complete(req);
}

void mlt_p2p_answered(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_names names;
    memcpy(&names, slot->payload, sizeof names);
    mlt_req *req = (mlt_req *)(uintptr_t)names.sender;
    if (slot->kind == SLOT_CANCELLED && !names.other)
        return; // it had matched: the usual answer comes or came, and the request may be gone
    mlt_assert(req->magic == MLT_REQ_MAGIC && req->kind == MLT_REQ_SEND &&
               req->stage == STAGE_ASKED);
    if (slot->kind == SLOT_CTS) {
        begin_stream(w, req, names.other, slot->bytes);
        return;
    }
    if (slot->kind == SLOT_PUT) {
        mlt_p2p_device_put(w, peer, req, slot);
        return; // DONE comes to the receiver
    }
    if (slot->kind == SLOT_HELP) {
        // FIN comes either way: the receiver may still be about to claim a piece of this request.
        if (copy_shared(req, (const mlt_req *)(uintptr_t)names.other, slot->bytes, slot->dst != 0))
            mlt_p2p_control(w, peer, SLOT_TAKEN, names.sender, names.other, 0, 0);
        return;
    }
    if (slot->kind == SLOT_SHARE && !mlt_p2p_share_help(w, peer, slot))
        return; // FIN or CTS comes
    end_answered(req, slot->kind == SLOT_CANCELLED);
}

bool mlt_p2p_answered_far(mlt_worker *w, mlt_peer *peer, const mlt_slot *slot)
{
    slot_names names;
    memcpy(&names, slot->payload, sizeof names);
    if (slot->kind == SLOT_CANCELLED && !names.other)
        return true; // as above
    mlt_req *req = mlt_token_take(&w->wire->names, names.sender, peer->worker);
    if (!req || req->kind != MLT_REQ_SEND || req->stage != STAGE_ASKED)
        return false;
    if (slot->kind == SLOT_CTS) {
        if (slot->bytes == 0 || slot->bytes > req->total)
            return false;
        req->lands = slot->dst != 0;
        req->ticket = 0;
        begin_stream(w, req, names.other, slot->bytes);
        return true;
    }
    end_answered(req, slot->kind == SLOT_CANCELLED);
    return true;
}

void mlt_p2p_cancel(mlt_req *req)
{
    mlt_worker *w = req->rank->worker;
    if (req->done)
        return;
    switch (req->stage) {
    case STAGE_POSTED:
        mlt_match_unpost(req->rank, req);
        break;
    case STAGE_LOCAL: {
        mlt_msg *msg = (mlt_msg *)(uintptr_t)req->remote;
        mlt_match_unhold(mlt_worker_local_rank(w, req->peer), msg);
        mlt_p2p_drop(w, msg);
        tell_cancelled(req);
        break;
    }
    case STAGE_QUEUED: {
        mlt_peer *peer = mlt_wire_peer(w->wire, mlt_worker_of_rank(w, req->peer));
        mlt_list_node *l = peer->queue.next;
        while (mlt_container_of(l, out_node, node)->req != req)
            l = l->next;
        mlt_list_remove(l);
        mlt_pool_give(&w->p2p->outs, mlt_container_of(l, out_node, node));
        break; // an empty queue is noticed by the next flush
    }
    case STAGE_ASKED: {
        mlt_peer *peer = mlt_wire_peer(w->wire, req->remote_worker);
        uint64_t name = mlt_peer_is_far(peer) ? req->remote : (uintptr_t)req;
        mlt_p2p_control(w, peer, SLOT_CANCEL, name, 0, req->peer - peer->first_rank, 0);
        (void)mlt_p2p_push(w);
        return;
    }
    default:
        return; // the data is moving: too late
    }
    req->cancelled = true;
    mlt_req_complete(req);
}
