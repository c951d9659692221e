// SPDX-License-Identifier: BSD-3-Clause
// Reading: frames out of a link, to this worker or into the mail of another one of the process;
// data straight into the user's memory.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/memory.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "wire/tcp/tcp_int.h"

enum {
    FILLS = 8,           // reads of one link before the next
    LAND_MOST = 1 << 20, // bytes of data that one read takes
    AHEAD = 256,         // what follows data is read with them: the head of the next ones
    GLANCE = 1 << 10,    // if data are likely to come, so much is read before it is known where to
};

// ---- The end of a link

void mlt_tcp_shut(tcp_link *link)
{
    if (atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_SHUT)
        return;
    atomic_store_explicit(&link->state, TCP_SHUT, memory_order_relaxed);
    if (!link->by_fabric) {
        mlt_os_close(link->fd);
        free(link->room);
    }
    link->room = NULL;
    link->at = link->end = 0;
    link->landing = link->stopped = false;
}

static bool has_other(const tcp_link *link)
{
    for (int i = 0; i < LINKS; i++) {
        const tcp_link *other = atomic_load_explicit(&link->pair->links[i], memory_order_acquire);
        if (other && other != link &&
            atomic_load_explicit(&other->state, memory_order_relaxed) != TCP_SHUT)
            return true;
    }
    return false;
}

// It ends without its mark. A second connection that was never used may do so: the other process
// has ended before it heard of it.
static MLT_COLD void broke(tcp_link *link, const char *why)
{
    if (atomic_load_explicit(&link->state, memory_order_relaxed) == TCP_ENDED) {
        atomic_store_explicit(&link->state, TCP_DEAF, memory_order_relaxed);
        // Our own mark is still to be written; but a job may meet many others, which have ended long
        // before it does, and wait for no mark. Nobody writes there any more: the pair is gone.
        if (link->pair->world && tcp_try_lock(&link->pair->writing)) {
            mlt_tcp_shut(link);
            tcp_unlock(&link->pair->writing);
        }
        return;
    }
    if (link->heard || !has_other(link))
        mlt_tcp_lose(link->pair, why);
    mlt_tcp_shut(link);
}

MLT_COLD void mlt_tcp_distrust(tcp_link *link, const char *fault)
{
    char why[160];
    snprintf(why, sizeof why, "what came makes no sense: %s", fault);
    mlt_tcp_lose(link->pair, why);
    mlt_tcp_shut(link);
}

// ---- Mail

static bool has_to_land(const mlt_wire_frame *frame)
{
    return frame->kind == MLT_WIRE_FRAME_DATA || frame->kind == MLT_WIRE_FRAME_LONG;
}

static uint64_t stored_bytes(const mlt_wire_frame *frame)
{
    if (MLT_UNLIKELY(frame->kind == MLT_WIRE_FRAME_FETCH))
        return mlt_wire_frame_data_at(frame) + sizeof(mlt_wire_frame_fetch);
    return has_to_land(frame) ? mlt_wire_frame_data_at(frame) : mlt_wire_frame_bytes(frame);
}

static MLT_COLD void spill(tcp_lane *lane, const mlt_wire_frame *frame, uint64_t bytes)
{
    tcp_spilled *spilled = mlt_xcalloc(1, offsetof(tcp_spilled, frame) + bytes);
    memcpy(&spilled->frame, frame, bytes);
    pthread_mutex_lock(&lane->spill_lock);
    *lane->spill_last = spilled;
    lane->spill_last = &spilled->next;
    // release: whoever sees it sees what went into the queue before.
    atomic_store_explicit(&lane->spills, 1, memory_order_release);
    pthread_mutex_unlock(&lane->spill_lock);
}

// Into the mail of another worker, or of this one. One reader at a time: the link's lock, and of
// two links the peer uses one.
static void deposit(tcp_worker *me, tcp_pair *pair, const mlt_wire_frame *frame)
{
    uint32_t worker = mlt_wire_frame_to(frame);
    tcp_lane *lane = mlt_tcp_lane(pair, worker);
    uint64_t bytes = stored_bytes(frame);
    if (!lane->in && !(lane->in = mlt_spsc_new(QUEUE_BYTES)))
        mlt_no_room("messages from process %u", pair->proc);
    void *room = atomic_load_explicit(&lane->spills, memory_order_relaxed)
                     ? NULL
                     : mlt_spsc_reserve(lane->in, bytes);
    if (MLT_LIKELY(room != NULL)) {
        memcpy(room, frame, bytes);
        mlt_spsc_publish(lane->in, bytes);
    } else {
        spill(lane, frame, bytes);
    }
    mlt_jitter();
    // seq_cst: after what was published; the worker clears it before it looks there.
    if (atomic_exchange_explicit(&lane->queued, 1, memory_order_seq_cst))
        return;
    struct tcp_mail *mail = &me->endpoint->mail[worker];
    lane->next_mail = atomic_load_explicit(&mail->first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&mail->first, &lane->next_mail, lane,
                                                  memory_order_seq_cst, memory_order_relaxed)) {
    }
    if (worker != me->index)
        mlt_tcp_wake(me->endpoint, worker);
}

// ---- Taking

// For this worker. False: the sender cannot be trusted.
static bool hand_over(tcp_worker *me, tcp_pair *pair, const mlt_wire_frame *frame,
                      const mlt_wire_taker *taker, bool *enough, const char **fault)
{
    if (MLT_UNLIKELY(pair->world && !me->wire->worlds)) {
        *fault = "it is for a worker that is not connected with another job";
        return false;
    }
    mlt_peer *peer = mlt_wire_peer(me->wire, pair->first_worker + frame->from);
    me->wire->received += !peer->foreign;
    if (frame->kind == MLT_WIRE_FRAME_CREDIT) {
        mlt_tcp_peer *far = peer->far;
        if (frame->slot.bytes < far->acknowledged || frame->slot.bytes > far->sent) {
            *fault = "it confirms what was not sent";
            return false;
        }
        far->acknowledged = frame->slot.bytes;
        return true;
    }
    if (!taker->take(taker->arg, peer, frame, fault))
        *enough = true;
    if (frame->kind == MLT_WIRE_FRAME_MESSAGE && me->endpoint->workers > 1)
        mlt_tcp_consumed(me, peer->far, mlt_wire_frame_bytes(frame));
    return !*fault;
}

// The next one of a lane's mail; `size`: what it takes in its queue, 0: it was spilled.
static const mlt_wire_frame *peek_mail(tcp_lane *lane, uint64_t *size)
{
    *size = 0;
    if (lane->taken)
        return &lane->taken->frame;
    // Before the queue: if it was raised, all that went into the queue before can be seen there.
    bool spills = atomic_load_explicit(&lane->spills, memory_order_acquire);
    const mlt_wire_frame *frame = mlt_spsc_peek(lane->in);
    if (frame) {
        *size = stored_bytes(frame);
        return frame;
    }
    if (!spills)
        return NULL;
    pthread_mutex_lock(&lane->spill_lock);
    lane->taken = lane->spill_first;
    lane->spill_first = NULL;
    lane->spill_last = &lane->spill_first;
    atomic_store_explicit(&lane->spills, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lane->spill_lock);
    return lane->taken ? &lane->taken->frame : NULL;
}

static void done_with_mail(tcp_lane *lane, uint64_t size)
{
    if (size) {
        mlt_spsc_consume(lane->in, size);
        return;
    }
    tcp_spilled *first = lane->taken;
    lane->taken = first->next;
    free(first);
}

static bool take_lane(tcp_worker *me, tcp_lane *lane, const mlt_wire_taker *taker, bool *enough)
{
    bool any = false;
    uint64_t size;
    const mlt_wire_frame *frame;
    const char *fault = NULL;
    while (!*enough && !fault && (frame = peek_mail(lane, &size))) {
        (void)hand_over(me, lane->pair, frame, taker, enough, &fault);
        done_with_mail(lane, size);
        any = true;
    }
    if (MLT_UNLIKELY(fault != NULL)) {
        char why[160];
        snprintf(why, sizeof why, "what came makes no sense: %s", fault);
        mlt_tcp_lose(lane->pair, why);
    }
    return any;
}

bool mlt_tcp_take_mail(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    struct tcp_mail *mail = &me->endpoint->mail[me->index];
    bool any = false;
    // acquire: pairs with `deposit`.
    if (!me->busy && atomic_load_explicit(&mail->first, memory_order_relaxed))
        me->busy = atomic_exchange_explicit(&mail->first, NULL, memory_order_acquire);
    while (me->busy && !*enough) {
        tcp_lane *lane = me->busy;
        any |= take_lane(me, lane, taker, enough);
        if (*enough)
            return any;
        me->busy = lane->next_mail;
        mlt_jitter();
        // From here on a reader puts it into the list again if something comes. What came before is
        // seen by one more look. seq_cst: pairs with `deposit`.
        (void)atomic_exchange_explicit(&lane->queued, 0, memory_order_seq_cst);
        mlt_jitter();
        any |= take_lane(me, lane, taker, enough);
        if (*enough && !atomic_exchange_explicit(&lane->queued, 1, memory_order_seq_cst)) {
            lane->next_mail = me->busy;
            me->busy = lane;
        }
    }
    return any;
}

// ---- Frames

// To whom it is addressed. False: the link was shut.
bool mlt_tcp_deliver(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                     const mlt_wire_taker *taker, bool *enough)
{
    const char *fault = NULL;
    if (me->endpoint->workers > 1)
        deposit(me, link->pair, frame);
    else
        (void)hand_over(me, link->pair, frame, taker, enough, &fault);
    if (MLT_LIKELY(!fault))
        return true;
    mlt_tcp_distrust(link, fault);
    return false;
}

// Where data go that somebody has asked for. NULL: that worker has ended.
static unsigned char *named_place(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                                  const char **fault)
{
    mlt_wire_frame_place place;
    memcpy(&place, frame->slot.payload, sizeof place);
    uint32_t to = mlt_wire_frame_to(frame);
    // acquire: its table of names is there.
    tcp_worker *owner = atomic_load_explicit(&me->endpoint->mail[to].worker, memory_order_acquire);
    mlt_named *named = owner ? mlt_token_find(&owner->wire->names, place.name,
                                              link->pair->first_worker + frame->from)
                             : NULL;
    unsigned char *land = named ? mlt_token_land(named, place.offset, frame->length) : NULL;
    if (owner && !land)
        *fault = "it has data that nobody asked for";
    return land;
}

// The data of a frame go into memory. False: the link was shut.
static bool begin_landing(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                          const mlt_wire_taker *taker)
{
    const char *fault = NULL;
    uint64_t room = frame->length;
    unsigned char *land =
        frame->kind == MLT_WIRE_FRAME_DATA
            ? named_place(me, link, frame, &fault)
            : taker->place(taker->arg,
                           mlt_wire_peer(me->wire, link->pair->first_worker + frame->from), frame,
                           &room, &fault);
    if (fault) {
        mlt_tcp_distrust(link, fault);
        return false;
    }
    memcpy(&link->head, frame, mlt_wire_frame_data_at(frame));
    link->landing = link->lands = true;
    link->land_worker = mlt_wire_frame_to(frame);
    link->land = room ? land : NULL;
    link->land_room = room;
    link->land_left = frame->length;
    link->land_pad = (uint32_t)(mlt_wire_frame_pad(frame->length) - frame->length);
    link->at += mlt_wire_frame_data_at(frame);
    return true;
}

static inline void landed(tcp_link *link, uint64_t bytes)
{
    link->land_left -= bytes;
    if (!link->land)
        return;
    link->land_room -= bytes < link->land_room ? bytes : link->land_room;
    link->land = link->land_room ? link->land + bytes : NULL;
}

// What was read goes on landing. False: more is to be read first.
static bool land(tcp_link *link)
{
    uint32_t there = link->end - link->at;
    uint32_t n = there < link->land_left ? there : (uint32_t)link->land_left;
    if (link->land && n)
        memcpy(link->land, link->room + link->at, n < link->land_room ? n : link->land_room);
    landed(link, n);
    link->at += n;
    if (link->land_left || link->end - link->at < link->land_pad)
        return false;
    link->at += link->land_pad;
    link->landing = false;
    return true;
}

static void end_mark(tcp_worker *me, tcp_link *link, bool spoke)
{
    tcp_endpoint *endpoint = me->endpoint;
    link->at += MLT_WIRE_FRAME_HEAD;
    atomic_store_explicit(&link->state, TCP_ENDED, memory_order_relaxed);
    for (int i = 0; link->by_fabric && i < LINKS; i++) {
        tcp_link *connection = atomic_load_explicit(&link->pair->links[i], memory_order_acquire);
        uint32_t up = TCP_UP; // it will be closed without a mark of its own
        if (connection)
            (void)atomic_compare_exchange_strong(&connection->state, &up, TCP_ENDED);
    }
    atomic_store_explicit(&link->pair->gone, 1, memory_order_relaxed);
    if (!spoke)
        return;
    // release, twice: who sees it sees the mail that came before.
    atomic_store_explicit(&link->pair->ended, 1, memory_order_release);
    atomic_fetch_add_explicit(&endpoint->ends, 1, memory_order_release);
    for (uint32_t i = 0; i < endpoint->workers; i++)
        if (i != me->index)
            mlt_tcp_wake(endpoint, i);
}

// All messages come by one of the links.
static bool speaks_here(tcp_link *link)
{
    tcp_link *none = NULL;
    link->heard = true;
    return atomic_compare_exchange_strong_explicit(&link->pair->speaks, &none, link,
                                                   memory_order_relaxed, memory_order_relaxed) ||
           none == link;
}

// About the fabric, or by it. False: the link was shut.
static bool take_switchover(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame)
{
    const char *fault = NULL;
    tcp_pair *pair = link->pair;
    if ((frame->kind == MLT_WIRE_FRAME_FETCH) != link->by_fabric)
        fault = "it comes by the wrong way";
    else if (frame->kind == MLT_WIRE_FRAME_OFFER && pair->switchover)
        mlt_switchover_heard_offer(pair, frame);
    else if (frame->kind == MLT_WIRE_FRAME_SWITCH && pair->switchover)
        mlt_switchover_heard_switch(pair);
    else if (frame->kind == MLT_WIRE_FRAME_FETCH)
        mlt_switchover_fetch(me, link, frame, named_place(me, link, frame, &fault));
    else if (frame->kind == MLT_WIRE_FRAME_SWITCH)
        fault = "there is no fabric here";
    if (fault)
        mlt_tcp_distrust(link, fault);
    return !fault;
}

// One frame of what was read, if it is there as a whole. False: not yet, or the link was shut.
static bool take_frame(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough)
{
    if (link->landing)
        return land(link) && mlt_tcp_deliver(me, link, &link->head, taker, enough);
    uint32_t there = link->end - link->at;
    const mlt_wire_frame *frame = (const mlt_wire_frame *)(const void *)(link->room + link->at);
    if (there < MLT_WIRE_FRAME_HEAD)
        return false;
    const char *fault = mlt_wire_frame_fault(frame, link->pair->workers, me->endpoint->workers);
    if (!fault && atomic_load_explicit(&link->state, memory_order_relaxed) != TCP_UP)
        fault = "it comes after the end";
    if (!fault && frame->kind == MLT_WIRE_FRAME_END) {
        end_mark(me, link, frame->slot.flags != 0);
        return true;
    }
    if (!fault && !link->heard && !speaks_here(link))
        fault = "messages come by two connections";
    if (MLT_UNLIKELY(fault != NULL)) {
        mlt_tcp_distrust(link, fault);
        return false;
    }
    uint64_t needs = stored_bytes(frame);
    if (there < needs)
        return false;
    if (MLT_UNLIKELY(frame->kind >= MLT_WIRE_FRAME_OFFER)) { // about a switchover
        if (!take_switchover(me, link, frame))
            return false;
        link->at += (uint32_t)needs;
        return true;
    }
    link->lands = has_to_land(frame);
    if (link->lands)
        return begin_landing(me, link, frame, taker);
    if (!mlt_tcp_deliver(me, link, frame, taker, enough))
        return false;
    link->at += (uint32_t)needs;
    return true;
}

// ---- Bytes

// Data that go straight into memory.
static bool is_direct(const tcp_link *link)
{
    return link->landing && link->land && link->land_left && !link->cipher;
}

// What is left moves to the start of the room, so that the next frame begins at a multiple of 8.
static void in_tidy(tcp_link *link)
{
    uint32_t left = link->end - link->at, start = 0;
    if (link->landing)
        start = (uint32_t)(8 - ((is_direct(link) ? 0 : link->land_left) + link->land_pad) % 8) % 8;
    if (left && link->at != start)
        memmove(link->room + start, link->room + link->at, left);
    link->at = start;
    link->end = start + left;
}

// Where the next bytes go. Returns how many pieces.
static uint32_t aim(const tcp_link *link, struct iovec pieces[2])
{
    uint32_t count = 0;
    uint32_t most = link->room_bytes - link->end;
    if (is_direct(link)) {
        uint64_t n = link->land_room < LAND_MOST ? link->land_room : LAND_MOST;
        pieces[count++] = (struct iovec){.iov_base = link->land, .iov_len = n};
        if (n < link->land_left)
            return count;
    }
    bool glances = link->lands && !link->landing && !link->cipher;
    uint32_t want = count ? AHEAD : glances ? GLANCE : most;
    if (most > want)
        most = want;
    pieces[count++] = (struct iovec){.iov_base = link->room + link->end, .iov_len = most};
    return count;
}

// Reads once. False: nothing came, or the link was shut. *dry: there is no more for now.
static bool in_fill(tcp_link *link, bool *dry)
{
    struct iovec pieces[2];
    in_tidy(link);
    uint32_t count = aim(link, pieces);
    uint64_t asked = pieces[0].iov_len + (count > 1 ? pieces[1].iov_len : 0);
    ssize_t n = link->cipher ? mlt_cipher_receive(link->cipher, link->fd, pieces->iov_base, asked)
                             : mlt_os_tcp_receive(link->fd, pieces, count);
    *dry = n < (link->cipher ? 0 : (ssize_t)asked);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n <= 0) {
        // Writing may have failed first, and have taken the reason with it.
        int error = n < 0 ? errno : link->pair->error == EPIPE ? 0 : link->pair->error;
        if (error == EBADMSG) {
            mlt_tcp_distrust(link, "it was not encrypted by the other side, or was changed");
            return false;
        }
        broke(link, error ? strerror(error) : "that process has ended without its end mark");
        return false;
    }
    uint64_t left = (uint64_t)n;
    if (is_direct(link)) {
        uint64_t some = left < pieces[0].iov_len ? left : pieces[0].iov_len;
        landed(link, some);
        left -= some;
    }
    link->end += (uint32_t)left;
    return true;
}

static bool is_deaf(const tcp_link *link)
{
    return atomic_load_explicit(&link->state, memory_order_relaxed) >= TCP_DEAF;
}

bool mlt_tcp_read(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough)
{
    bool any = false, dry = false;
    if (is_deaf(link) || !tcp_try_lock(&link->reading))
        return false;
    for (int n = 0; !is_deaf(link); n++) {
        while (!*enough && take_frame(me, link, taker, enough))
            any = true;
        link->stopped = *enough;
        // A record that a cipher has read and not opened yet rings no doorbell.
        bool enough_read = n >= FILLS && !(link->cipher && mlt_cipher_has_record(link->cipher));
        if (*enough || dry || enough_read || is_deaf(link) || !in_fill(link, &dry))
            break;
    }
    tcp_unlock(&link->reading);
    return any;
}

bool mlt_tcp_take_packet(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough)
{
    while (link->at < link->end && !*enough && !is_deaf(link)) {
        if (take_frame(me, link, taker, enough))
            continue;
        // Data that land may go on in the next packet; nothing else is cut.
        if (!is_deaf(link) && !(link->landing && link->at == link->end))
            mlt_tcp_distrust(link, "a packet ends inside of a frame");
    }
    return link->at >= link->end || is_deaf(link);
}
