// SPDX-License-Identifier: BSD-3-Clause
// What came by the fabric: packets, and data that are read from the other side's memory.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "wire/ofi/switchover_int.h"
#include "wire/transport.h"

enum { EVENTS = 16 };

// ---- Data that are read

static ofi_fetch *new_fetch(ofi_endpoint *o)
{
    ofi_fetch *fetch = o->spare_fetches;
    if (!fetch)
        return mlt_xcalloc(1, sizeof *fetch);
    o->spare_fetches = fetch->next;
    return fetch;
}

// False: later.
static bool begin_fetch(ofi_fetch *fetch)
{
    ofi_switchover *s = fetch->switchover;
    if (fetch->begun)
        return true;
    mlt_status status = mlt_fabric_read(s->ours->fabric, s->to, fetch->from.address,
                                        fetch->from.key, fetch->land, fetch->head.length, fetch);
    fetch->begun = status == MLT_OK;
    if (status == MLT_ERR_SYSTEM) {
        mlt_switchover_refuse(s, s->ours->facts->why);
        fetch->begun = true; // and never done
    }
    return fetch->begun;
}

static void queue_fetch(ofi_endpoint *o, ofi_fetch *fetch)
{
    ofi_switchover *s = fetch->switchover;
    *s->fetches_end = fetch;
    s->fetches_end = &fetch->next;
    o->fetches_of[mlt_wire_frame_to(&fetch->head)]++;
    if (!begin_fetch(fetch) || fetch->done)
        mlt_switchover_busy(s);
}

void mlt_switchover_fetch(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                          unsigned char *land)
{
    ofi_switchover *s = link->pair->switchover;
    ofi_endpoint *o = me->fabric;
    uint32_t bytes = mlt_wire_frame_data_at(frame);
    ofi_fetch *fetch = new_fetch(o);
    *fetch = (ofi_fetch){.switchover = s, .land = land, .begun = !land, .done = !land};
    memcpy(&fetch->head, frame, bytes);
    memcpy(&fetch->from, (const unsigned char *)frame + bytes, sizeof fetch->from);
    fetch->head.kind = MLT_WIRE_FRAME_DATA;
    queue_fetch(o, fetch);
}

bool mlt_switchover_reads(const tcp_pair *pair)
{
    return mlt_switchover_is_out(pair) && mlt_switchover_is_in(pair) &&
           atomic_load_explicit(&pair->switchover->reads, memory_order_relaxed);
}

// In the order in which they were asked for.
static void finish_fetches(tcp_worker *me, ofi_switchover *s, const mlt_wire_taker *taker,
                           bool *enough)
{
    ofi_endpoint *o = me->fabric;
    for (ofi_fetch *fetch; (fetch = s->fetches) && fetch->done;) {
        s->fetches = fetch->next;
        if (!s->fetches)
            s->fetches_end = &s->fetches;
        o->fetches_of[mlt_wire_frame_to(&fetch->head)]--;
        s->fetched++;
        (void)mlt_tcp_deliver(me, &s->link, &fetch->head, taker, enough);
        fetch->next = o->spare_fetches;
        o->spare_fetches = fetch;
    }
    for (ofi_fetch *fetch = s->fetches; fetch && begin_fetch(fetch); fetch = fetch->next) {
    }
}

// The other side has read so many.
static bool were_fetched(tcp_worker *me, ofi_switchover *s, uint32_t count)
{
    uint32_t n = count - s->exposed_head;
    if (n > s->exposed_tail - s->exposed_head)
        return false;
    for (; n; n--) {
        ofi_exposed *e = &s->exposed[s->exposed_head++ % SWITCHOVER_FETCHES];
        mlt_fabric_conceal(me->fabric->fabric, &e->window);
        mlt_spsc_leave(e->queue, e->reference);
        ofi_wake_if_starved(s, e->queue, e->worker);
        me->wire->received++;
    }
    return true;
}

static void serve(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    ofi_switchover *list = me->fabric->busy;
    me->fabric->busy = NULL;
    while (list) {
        ofi_switchover *s = list;
        list = s->next_busy;
        s->busy = false;
        if (taker && s->fetches)
            finish_fetches(me, s, taker, enough);
        if (!mlt_switchover_serve(me, s))
            mlt_switchover_busy(s);
    }
}

// ---- What came

static void take_head(tcp_worker *me, ofi_switchover *s, const ofi_packet *head,
                      const unsigned char *packet)
{
    uint32_t confirmed = atomic_load_explicit(&s->confirmed, memory_order_relaxed);
    uint32_t taken = confirmed + (uint8_t)(head->taken - confirmed);
    bool sound = taken - confirmed <= s->sent - confirmed;
    if (sound && head->from >> FROM_BITS == PACKET_CONTROL) {
        ofi_control control;
        memcpy(&control, packet + sizeof *head, sizeof control);
        sound = were_fetched(me, s, control.fetched);
    }
    if (!sound) {
        mlt_tcp_distrust(&s->link, "it confirms what was not sent");
        return;
    }
    atomic_store_explicit(&s->confirmed, taken, memory_order_relaxed);
    // The fabric is proven: whoever has something to send switches.
    if (!confirmed && taken)
        mlt_switchover_blocked(s);
    // A provider may complete a long packet after a short one that was sent later, and call that order.
    if (head->from >> FROM_BITS != PACKET_CONTROL && head->number != (uint8_t)s->taken)
        mlt_tcp_lose(s->pair, "the fabric fails: packets come in another order than they were "
                              "sent; variables of libfabric may have changed what it sends at "
                              "once");
}

// The frames before SWITCH are still to be read from the connection. False: not yet.
static bool wait_for_switch(tcp_worker *me, ofi_switchover *s, const mlt_wire_taker *taker,
                            bool *enough)
{
    for (int i = 0; i < LINKS && taker; i++) {
        tcp_link *link = atomic_load_explicit(&s->pair->links[i], memory_order_acquire);
        if (link && !mlt_switchover_is_in(s->pair))
            (void)mlt_tcp_read(me, link, taker, enough);
    }
    return mlt_switchover_is_in(s->pair);
}

// Providers lay packets where they like, and SHORT ones lack something. *end: of the frames.
static unsigned char *laid_out(ofi_endpoint *o, const mlt_fabric_event *event,
                               const ofi_packet *head, uint32_t *end)
{
    bool is_short = head->from >> FROM_BITS == PACKET_SHORT;
    *end = is_short ? event->bytes + SHORT_LACKS : event->bytes;
    if (!is_short && (uintptr_t)event->packet % 8 == 0)
        return event->packet;
    if (!o->aligned)
        o->aligned = mlt_xcalloc(1, MLT_FABRIC_PACKET_MOST);
    if (o->held_at)
        return o->aligned;
    if (!is_short) {
        memcpy(o->aligned, event->packet, event->bytes);
        return o->aligned;
    }
    mlt_wire_frame frame = {
        .in_slot = SHORT_PAYLOAD, .kind = MLT_WIRE_FRAME_MESSAGE, .from = head->worker};
    memcpy(&frame.slot, event->packet + sizeof *head, SHORT_FRAME - SHORT_LACKS);
    memcpy(o->aligned + sizeof *head, &frame, SHORT_FRAME);
    return o->aligned;
}

// False: it has to wait.
static bool take_frames(tcp_worker *me, ofi_switchover *s, const mlt_fabric_event *event,
                        const ofi_packet *head, const mlt_wire_taker *taker, bool *enough)
{
    tcp_link *link = &s->link;
    ofi_endpoint *o = me->fabric;
    if (!mlt_switchover_is_in(s->pair) && !wait_for_switch(me, s, taker, enough))
        return false;
    link->room = laid_out(o, event, head, &link->end);
    link->at = o->held_at ? o->held_at : sizeof(ofi_packet);
    bool whole = mlt_tcp_take_packet(me, link, taker, enough);
    o->held_at = whole ? 0 : link->at;
    link->room = NULL;
    if (!whole)
        return false;
    s->taken++;
    bool ended = atomic_load_explicit(&link->state, memory_order_relaxed) != TCP_UP;
    if (ended || s->taken - s->told >= SWITCHOVER_WINDOW / 2) {
        s->owes = true;
        mlt_switchover_busy(s);
    }
    return true;
}

// Whoever does not know the nonce is no process of the job, or speaks of a pair that is no more: not
// heard. False: it has to wait.
static bool take_event(tcp_worker *me, const mlt_fabric_event *event, const mlt_wire_taker *taker,
                       bool *enough)
{
    ofi_endpoint *o = me->fabric;
    ofi_packet head;
    if (event->bytes < sizeof head)
        return true;
    memcpy(&head, event->packet, sizeof head);
    uint32_t proc = head.from & ((UINT32_C(1) << FROM_BITS) - 1), kind = head.from >> FROM_BITS;
    tcp_pair *pair = mlt_tcp_find_pair(o->endpoint, proc);
    ofi_switchover *s = pair ? pair->switchover : NULL;
    if (!s || !s->pair || head.nonce != s->own_nonce ||
        (kind == PACKET_CONTROL && event->bytes != sizeof head + sizeof(ofi_control)) ||
        (kind == PACKET_SHORT && event->bytes != SHORT_BYTES))
        return true;
    if (o->held_at == 0 && !ofi_is_lost(s))
        take_head(me, s, &head, event->packet);
    if (ofi_is_lost(s)) {
        o->held_at = 0;
        return true;
    }
    if (kind == PACKET_FRAMES || kind == PACKET_SHORT)
        return take_frames(me, s, event, &head, taker, enough);
    if (kind == PACKET_HELLO) {
        s->taken++;
        s->owes = true;
        mlt_switchover_busy(s);
    }
    return true;
}

static mlt_fabric_event *held(ofi_endpoint *o, uint32_t i)
{
    return &o->held[(o->held_first + i) % FABRIC_HELD];
}

static void hold(ofi_endpoint *o, const mlt_fabric_event *event)
{
    uint32_t count = ofi_held_count(o);
    *held(o, count) = *event;
    atomic_store_explicit(&o->held_count, count + 1, memory_order_relaxed);
}

static void take_held(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    ofi_endpoint *o = me->fabric;
    while (ofi_held_count(o) && !*enough) {
        mlt_fabric_event event = *held(o, 0);
        if (!take_event(me, &event, taker, enough))
            return;
        o->held_first++;
        atomic_store_explicit(&o->held_count, ofi_held_count(o) - 1, memory_order_relaxed);
        mlt_fabric_release(o->fabric, &event);
    }
}

static void hear(ofi_endpoint *o, const mlt_fabric_event *event)
{
    ofi_fetch *fetch = event->owner;
    switch (event->kind) {
    case MLT_FABRIC_CAME:
        hold(o, event);
        break;
    case MLT_FABRIC_READ:
        fetch->done = true;
        mlt_switchover_busy(fetch->switchover);
        break;
    case MLT_FABRIC_FAILED:
        if (event->owner)
            mlt_switchover_refuse(((tcp_pair *)event->owner)->switchover,
                                  mlt_fabric_error(o->fabric, event->error));
        break;
    case MLT_FABRIC_READ_FAILED:
        mlt_switchover_refuse(fetch->switchover, mlt_fabric_error(o->fabric, event->error));
        break;
    }
}

// Those that found no room try again. Without the lock: each takes the pair's first.
static void carry_blocked(ofi_endpoint *o)
{
    enum { MOST = 32 };
    tcp_pair *pairs[MOST];
    uint32_t n = 0;
    mlt_switchover_lock(o);
    for (ofi_switchover *s; n < MOST && (s = o->blocked);) {
        o->blocked = s->next_blocked;
        s->blocked = false;
        atomic_store_explicit(&s->pair->blocked, 0, memory_order_relaxed);
        pairs[n++] = s->pair;
    }
    ofi_leave(o);
    for (uint32_t i = 0; i < n; i++)
        (void)mlt_tcp_carry(pairs[i]);
}

// What happened is heard, but not taken yet. Returns how much.
uint32_t mlt_switchover_gather(ofi_endpoint *o)
{
    mlt_fabric_event events[EVENTS];
    uint32_t n = mlt_fabric_poll(o->fabric, events, EVENTS);
    for (uint32_t i = 0; i < n; i++)
        hear(o, &events[i]);
    return n;
}

bool mlt_switchover_poll(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    enum { TURNS = 8 };
    ofi_endpoint *o = me->fabric;
    if (!ofi_try_enter(o))
        return false;
    bool any = ofi_held_count(o) != 0;
    take_held(me, taker, enough);
    // Not once more for a rank that has got what it waited for: a poll costs system calls.
    for (uint32_t i = 0; i < TURNS && !*enough && !ofi_held_count(o) && mlt_switchover_gather(o);
         i++) {
        any = true;
        take_held(me, taker, enough);
    }
    if (o->busy)
        serve(me, taker, enough);
    bool blocked = o->blocked != NULL;
    ofi_leave(o);
    if (blocked)
        carry_blocked(o);
    return any;
}

void mlt_switchover_patrol(tcp_worker *me)
{
    ofi_endpoint *o = me->fabric;
    if (!ofi_try_enter(o))
        return;
    bool any = !ofi_held_count(o) && mlt_switchover_gather(o);
    uint64_t sent = me->wire->sent;
    serve(me, NULL, NULL);
    if (o->complains)
        mlt_switchover_complain(o);
    bool blocked = o->blocked != NULL;
    ofi_leave(o);
    if (blocked)
        carry_blocked(o);
    if (any || sent != me->wire->sent) // a sleeper has told how many it had sent
        mlt_tcp_wake(o->endpoint, me->index);
}

bool mlt_switchover_may_sleep(tcp_worker *me)
{
    ofi_endpoint *o = me->fabric;
    if (!ofi_try_enter(o))
        return false;
    bool may = !ofi_held_count(o) && mlt_fabric_may_sleep(o->fabric);
    for (const ofi_switchover *s = o->busy; s && may; s = s->next_busy)
        may = !s->fetches || !s->fetches->done;
    ofi_leave(o);
    return may;
}

// ---- The end

void mlt_switchover_withdraw(tcp_worker *me)
{
    ofi_endpoint *o = me->fabric;
    uint64_t until = mlt_os_now_ns() + (uint64_t)mlt_tcp_gone_ms * 1000000;
    for (bool some = true; some && mlt_os_now_ns() < until;) {
        bool enough = false;
        (void)mlt_switchover_poll(me, &mlt_wire_nobody, &enough);
        mlt_switchover_lock(o);
        some = o->fetches_of[me->index] != 0;
        ofi_leave(o);
    }
}
