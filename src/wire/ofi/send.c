// SPDX-License-Identifier: BSD-3-Clause
// What leaves by the fabric: frames of the lanes in packets, HELLO, CONTROL and the end mark.
#include <string.h>

#include "wire/ofi/switchover_int.h"
#include "wire/transport.h"

_Atomic uint64_t mlt_tcp_fabric_packets;

// ---- Writing

// MLT_PENDING: the packet is still the caller's.
static mlt_status send_packet(ofi_switchover *s, packet_kind kind, unsigned char *packet,
                              uint32_t bytes)
{
    mlt_fabric *fabric = s->ours->fabric;
    ofi_packet head = {.nonce = s->nonce,
                       .from = s->ours->proc | (uint32_t)kind << FROM_BITS,
                       .worker = kind == PACKET_SHORT ? s->packet_worker : 0,
                       .taken = (uint8_t)s->taken,
                       .number = (uint8_t)s->sent};
    memcpy(packet, &head, sizeof head);
    mlt_status status = mlt_fabric_send(fabric, s->to, packet, bytes, s->pair);
    if (status == MLT_OK) {
        s->told = s->taken;
        s->owes = false;
        s->sent += kind != PACKET_CONTROL;
        // A statistic; only whoever has the lock writes.
        atomic_store_explicit(&mlt_tcp_fabric_packets,
                              atomic_load_explicit(&mlt_tcp_fabric_packets, memory_order_relaxed) +
                                  1,
                              memory_order_relaxed);
    } else if (status != MLT_PENDING) {
        mlt_fabric_give_back(fabric, packet);
        mlt_switchover_refuse(s, s->ours->facts->why);
    }
    return status;
}

// A short one, whose body is there. False: later, or never.
static bool send_short(ofi_switchover *s, packet_kind kind, const void *body, uint32_t bytes)
{
    unsigned char *packet = mlt_fabric_packet(s->ours->fabric);
    if (!packet)
        return false;
    if (bytes)
        memcpy(packet + sizeof(ofi_packet), body, bytes);
    mlt_status status = send_packet(s, kind, packet, sizeof(ofi_packet) + bytes);
    if (status == MLT_PENDING)
        mlt_fabric_give_back(s->ours->fabric, packet);
    return status == MLT_OK;
}

// A packet that is being filled, and where it ends.
typedef struct filling {
    unsigned char *packet;
    uint32_t at, most;
} filling;

static uint32_t room_in(const filling *f)
{
    return f->most - f->at;
}

static void put(filling *f, const void *data, uint64_t bytes)
{
    memcpy(f->packet + f->at, data, bytes);
    f->at += (uint32_t)bytes;
}

// Data from the user's memory, as far as there is room.
static void put_rest(ofi_switchover *s, filling *f)
{
    uint64_t n = s->rest.left < room_in(f) ? s->rest.left : room_in(f);
    put(f, s->rest.data, n);
    s->rest.data += n;
    s->rest.left -= n;
    if (s->rest.left)
        return;
    memset(f->packet + f->at, 0, s->rest.pad);
    f->at += (uint32_t)s->rest.pad;
    mlt_spsc_leave(s->rest.queue, s->rest.reference);
    ofi_wake_if_starved(s, s->rest.queue, s->rest.worker);
    s->rest.queue = NULL;
}

static void put_long(ofi_switchover *s, filling *f, mlt_spsc *queue, uint32_t worker,
                     const mlt_wire_frame *frame, const mlt_spsc_reference *data)
{
    uint32_t head = mlt_wire_frame_data_at(frame);
    s->rest.queue = queue;
    s->rest.worker = worker;
    s->rest.data = data->data;
    s->rest.left = data->bytes;
    s->rest.pad = mlt_wire_frame_pad(data->bytes) - data->bytes;
    put(f, frame, head);
    s->rest.reference = mlt_spsc_take(queue, head, true);
    put_rest(s, f);
}

// False: it cannot be read there, so it has to be sent.
static bool put_fetch(ofi_switchover *s, filling *f, mlt_spsc *queue, uint32_t worker,
                      const mlt_wire_frame *frame, const mlt_spsc_reference *data)
{
    ofi_exposed *e = &s->exposed[s->exposed_tail % SWITCHOVER_FETCHES];
    if (mlt_fabric_expose(s->ours->fabric, data->data, data->bytes, &e->window) != MLT_OK)
        return false;
    uint32_t head = mlt_wire_frame_data_at(frame);
    mlt_wire_frame_fetch fetch = {.address = e->window.address, .key = e->window.key};
    mlt_wire_frame *copy = (mlt_wire_frame *)(void *)(f->packet + f->at);
    put(f, frame, head);
    copy->kind = MLT_WIRE_FRAME_FETCH;
    put(f, &fetch, sizeof fetch);
    e->queue = queue;
    e->worker = worker;
    e->reference = mlt_spsc_take(queue, head, true);
    s->exposed_tail++;
    return true;
}

// The next frame of a lane. False: there is none, or no room for it.
static bool put_frame(ofi_switchover *s, filling *f, mlt_spsc *queue, uint32_t worker)
{
    const mlt_spsc_reference *data;
    const mlt_wire_frame *frame = mlt_spsc_front(queue, &data);
    if (!frame)
        return false;
    uint64_t head = mlt_wire_frame_data_at(frame);
    uint64_t needs = data ? head + sizeof(mlt_wire_frame_fetch) : mlt_wire_frame_bytes(frame);
    if (needs > room_in(f))
        return false;
    if (!data) {
        put(f, frame, needs);
        (void)mlt_spsc_take(queue, needs, false);
    } else if (frame->kind == MLT_WIRE_FRAME_DATA &&
               atomic_load_explicit(&s->reads, memory_order_relaxed)) {
        if (s->exposed_tail - s->exposed_head == SWITCHOVER_FETCHES) {
            mlt_switchover_blocked(s);
            return false;
        }
        if (!put_fetch(s, f, queue, worker, frame, data)) {
            // Pages that cannot be registered. All that follows is sent: parts of one message must not
            // overtake each other.
            atomic_store_explicit(&s->reads, 0, memory_order_relaxed);
            mlt_switchover_blocked(s);
            return false;
        }
    } else {
        if (s->exposed_tail != s->exposed_head && frame->kind == MLT_WIRE_FRAME_DATA) {
            mlt_switchover_blocked(s); // the parts before are still being read
            return false;
        }
        put_long(s, f, queue, worker, frame, data);
    }
    ofi_wake_if_starved(s, queue, worker);
    return !s->rest.queue;
}

static void switchover_fill(ofi_switchover *s, filling *f)
{
    tcp_pair *pair = s->pair;
    uint32_t workers = s->ours->workers;
    if (s->rest.queue)
        put_rest(s, f);
    for (uint32_t k = 0; k < workers && !s->rest.queue; k++) {
        uint32_t worker = (pair->turn + k) % workers;
        mlt_spsc *queue = mlt_tcp_queue(pair, worker);
        while (queue && put_frame(s, f, queue, worker)) {
        }
    }
    pair->turn = workers > 1 ? (pair->turn + 1) % workers : 0;
}

static uint32_t under_way(const ofi_switchover *s)
{
    return s->sent - atomic_load_explicit(&s->confirmed, memory_order_relaxed);
}

static void shorten(ofi_switchover *s)
{
    unsigned char *at = s->packet + sizeof(ofi_packet);
    mlt_wire_frame frame;
    s->packet_kind = PACKET_FRAMES;
    if (s->packet_bytes != sizeof(ofi_packet) + SHORT_FRAME)
        return;
    memcpy(&frame, at, SHORT_FRAME);
    if (frame.kind != MLT_WIRE_FRAME_MESSAGE || frame.in_slot != SHORT_PAYLOAD || frame.length)
        return;
    memmove(at, at + SHORT_LACKS, SHORT_FRAME - SHORT_LACKS);
    s->packet_kind = PACKET_SHORT;
    s->packet_worker = frame.from;
    s->packet_bytes = SHORT_BYTES;
}

// False: there is none to be sent, or no room.
static bool next_packet(ofi_switchover *s)
{
    mlt_fabric *fabric = s->ours->fabric;
    filling f = {.packet = mlt_fabric_packet(fabric),
                 .at = sizeof(ofi_packet),
                 .most = s->ours->facts->packet_bytes};
    if (!f.packet) {
        mlt_switchover_blocked(s);
        return false;
    }
    switchover_fill(s, &f);
    if (f.at == sizeof(ofi_packet)) {
        mlt_fabric_give_back(fabric, f.packet);
        return false;
    }
    s->packet = f.packet;
    s->packet_bytes = f.at;
    shorten(s);
    return true;
}

static bool write_packet(ofi_switchover *s)
{
    if (under_way(s) >= SWITCHOVER_WINDOW) {
        mlt_switchover_blocked(s);
        return false;
    }
    if (!s->packet && !next_packet(s))
        return false;
    mlt_status status = send_packet(s, s->packet_kind, s->packet, s->packet_bytes);
    if (status == MLT_PENDING)
        mlt_switchover_blocked(s);
    else
        s->packet = NULL;
    return status == MLT_OK;
}

bool mlt_switchover_write(tcp_pair *pair)
{
    ofi_switchover *s = pair->switchover;
    bool any = false;
    mlt_switchover_lock(s->ours);
    atomic_store_explicit(&pair->blocked, 0, memory_order_relaxed);
    while (write_packet(s))
        any = true;
    ofi_leave(s->ours);
    return any;
}

void mlt_switchover_begin_drop(tcp_pair *pair)
{
    ofi_switchover *s = pair->switchover;
    mlt_fabric *fabric = s->ours->fabric;
    mlt_switchover_lock(s->ours);
    if (s->packet)
        mlt_fabric_give_back(fabric, s->packet);
    s->packet = NULL;
    s->rest.queue = NULL;
    for (; s->exposed_head != s->exposed_tail; s->exposed_head++)
        mlt_fabric_conceal(fabric, &s->exposed[s->exposed_head % SWITCHOVER_FETCHES].window);
}

void mlt_switchover_end_drop(tcp_pair *pair)
{
    ofi_leave(pair->switchover->ours);
}

// ---- HELLO and CONTROL

static bool say_control(tcp_worker *me, ofi_switchover *s)
{
    ofi_control control = {.fetched = s->fetched};
    if (!send_short(s, PACKET_CONTROL, &control, sizeof control))
        return false;
    me->wire->sent += s->fetched - s->fetched_told;
    s->fetched_told = s->fetched;
    return true;
}

// False: something is left to do.
bool mlt_switchover_serve(tcp_worker *me, ofi_switchover *s)
{
    if (s->refused || !s->met)
        return true;
    if (ofi_is_lost(s))
        return true;
    if (!s->greeted)
        s->greeted = send_short(s, PACKET_HELLO, NULL, 0);
    if (!s->greeted)
        return s->refused;
    if ((s->owes || s->fetched != s->fetched_told) && !say_control(me, s))
        return ofi_is_lost(s);
    return !s->fetches || (s->fetches->begun && !s->fetches->done);
}

void mlt_switchover_write_mark(tcp_pair *pair)
{
    ofi_switchover *s = pair->switchover;
    if (s->marked || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    (void)mlt_switchover_write(pair);
    mlt_switchover_lock(s->ours);
    mlt_wire_frame end = {.kind = MLT_WIRE_FRAME_END, .slot = {.flags = 1}};
    s->marked = !s->packet && !s->rest.queue && under_way(s) < SWITCHOVER_WINDOW &&
                send_short(s, PACKET_FRAMES, &end, MLT_WIRE_FRAME_HEAD);
    ofi_leave(s->ours);
}

bool mlt_switchover_is_settled(const tcp_pair *pair)
{
    const ofi_switchover *s = pair->switchover;
    return atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
           (s->marked && under_way(s) == 0);
}
