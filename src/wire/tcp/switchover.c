// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tcp/switchover.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/tcp.h"

const char *mlt_tcp_fabric = "tcp";
int64_t mlt_tcp_fabric_trust;
_Atomic uint64_t mlt_tcp_fabric_packets;

enum {
    SWITCHOVER_WINDOW = 32,    // packets under way
    SWITCHOVER_FETCHES = 64,   // data that the other side is to read
    SWITCHOVER_CONTROL = 1024, // bytes for the connection
    WHY_BYTES = 256,
    EVENTS = 16,
    SPINS = 200,
};

// The head of a packet; so long that with the shortest message it is 64 bytes, which some providers
// send without an operation of their own.
typedef struct tcp_packet {
    uint64_t nonce;
    uint32_t from;   // the sender's process, and above its 24 bits a packet_kind
    uint16_t worker; // SHORT: the frame's `from`
    uint8_t taken;   // packets: the low bits of the count
    uint8_t number;  // of this one, likewise; CONTROL has none
} tcp_packet;
_Static_assert(sizeof(tcp_packet) == 16, "frames that follow are aligned");

// SHORT: one frame, whose first 8 bytes are left out. It is a MESSAGE without data, and has a payload of
// two words, as what is said about a large message, or the message itself: 64 bytes again.
typedef enum packet_kind {
    PACKET_HELLO = 1,
    PACKET_FRAMES,
    PACKET_CONTROL,
    PACKET_SHORT
} packet_kind;

enum {
    FROM_BITS = 24,
    SHORT_PAYLOAD = 16,
    SHORT_LACKS = offsetof(mlt_wire_frame, slot),
    SHORT_FRAME = MLT_WIRE_FRAME_HEAD + SHORT_PAYLOAD,
    SHORT_BYTES = sizeof(tcp_packet) + SHORT_FRAME - SHORT_LACKS,
};
_Static_assert(SWITCHOVER_WINDOW <= UINT8_MAX, "8 bits tell one packet under way from another");
_Static_assert(SHORT_BYTES == 64 && SHORT_LACKS == 8, "so some providers send it by itself");

typedef struct tcp_control {
    tcp_packet head;
    uint32_t fetched; // count of FETCH that are done
    uint32_t unused;
} tcp_control;

// The data of OFFER.
typedef struct tcp_offer {
    uint64_t nonce;
    uint32_t reads; // 1: it reads memory, and lets its own be read
    uint32_t address_bytes;
    char name[MLT_FABRIC_NAME];
    unsigned char address[MLT_FABRIC_ADDRESS];
} tcp_offer;
_Static_assert(sizeof(tcp_offer) <= MLT_WIRE_FRAME_OFFER_MOST && sizeof(tcp_offer) % 8 == 0,
               "an offer is a frame");

// Data that are read here.
typedef struct tcp_fetch {
    struct tcp_fetch *next;
    tcp_switchover *switchover;
    mlt_wire_frame head;
    mlt_wire_frame_fetch from;
    unsigned char *land;
    bool begun, done;
} tcp_fetch;

// Data that the other side reads.
typedef struct tcp_exposed {
    mlt_spsc *queue;
    uint32_t worker;
    uint64_t reference;
    mlt_fabric_window window;
} tcp_exposed;

struct tcp_switchover {
    tcp_pair *pair;
    uint64_t own_nonce, nonce;
    uint64_t to;                // the other endpoint's number
    bool met;                   // it is known
    bool greeted;               // HELLO has left
    bool refused;               // something is in the way: the connection stays
    _Atomic uint32_t reads;     // both can read each other's memory
    _Atomic uint32_t out;       // SWITCH was written
    _Atomic uint32_t in;        // ... was read
    bool switching;             // it is in `control`
    uint32_t sent;              // packets
    _Atomic uint32_t confirmed; // ... of them were taken
    uint32_t taken, told;
    bool owes; // the other side waits to hear what was taken
    uint32_t fetched, fetched_told;
    bool marked;           // the end mark has left
    unsigned char *packet; // that is filled, and finds no room; NULL: none
    uint32_t packet_bytes;
    packet_kind packet_kind;
    uint16_t packet_worker; // if it is SHORT
    // For the connection: inside of the pair's lock.
    unsigned char control[SWITCHOVER_CONTROL];
    uint32_t control_at, control_end;
    // The rest of data that did not fit into the last packet.
    struct {
        mlt_spsc *queue;
        uint32_t worker;
        uint64_t reference;
        const unsigned char *data;
        uint64_t left, pad;
    } rest;
    tcp_exposed exposed[SWITCHOVER_FETCHES];
    uint32_t exposed_head, exposed_tail;
    tcp_fetch *fetches, **fetches_end;
    bool busy, blocked; // in the endpoint's list
    tcp_switchover *next_busy, *next_blocked;
    tcp_link link; // what came
};

// ---- The lock
//
// Whoever polls only tries it: another one polls for it. Whoever sends waits: the holder is done in
// some microseconds, and a message must not stay behind because somebody else looked at the fabric. A
// handler that is called by a poll may send, so the holder may come in again: mlt_os_foreign counts.

static bool try_enter(tcp_endpoint *endpoint)
{
    if (!mlt_os_foreign && !tcp_try_lock(&endpoint->fabric_lock))
        return false;
    mlt_os_foreign++;
    return true;
}

static void enter(tcp_endpoint *endpoint)
{
    for (uint32_t n = 0; !try_enter(endpoint); n++)
        if (n % SPINS < SPINS - 1)
            mlt_arch_pause();
        else
            mlt_os_yield();
}

static void switchover_leave(tcp_endpoint *endpoint)
{
    if (--mlt_os_foreign == 0)
        tcp_unlock(&endpoint->fabric_lock);
}

static uint32_t switchover_gather(tcp_endpoint *endpoint);

static uint32_t held_count(const tcp_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->held_count, memory_order_relaxed);
}

// ---- The endpoint

static MLT_COLD void say_note(const tcp_endpoint *endpoint, const char *text)
{
    mlt_ctl head = {
        .type = MLT_CTL_NOTE, .rank = MLT_CTL_NO_RANK, .length = (uint32_t)strlen(text)};
    (void)mlt_ctl_send(endpoint->ctl, &head, text);
}

static MLT_COLD void say_by_tcp(const tcp_endpoint *endpoint, const char *why)
{
    char text[WHY_BYTES + 128];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but messages go by TCP: %s", mlt_tcp_fabric,
             why);
    say_note(endpoint, text);
}

// The user has said that it must be the fabric.
static MLT_COLD _Noreturn void give_up(const tcp_endpoint *endpoint, const char *why)
{
    char text[WHY_BYTES + 128];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but %s", mlt_tcp_fabric, why);
    mlt_ctl head = {.type = MLT_CTL_ABORT,
                    .rank = MLT_CTL_NO_RANK,
                    .value = 1,
                    .length = (uint32_t)strlen(text)};
    if (mlt_ctl_send(endpoint->ctl, &head, text) != MLT_OK)
        mlt_log("%s", text);
    mlt_leave(1);
}

// For a fabric without a descriptor: polls for workers that sleep, and wakes them if something came.
static void *look_for_all(void *arg)
{
    enum { NAP_NS = 1000000 };
    tcp_endpoint *endpoint = arg;
    while (!atomic_load_explicit(&endpoint->looker_ends, memory_order_relaxed)) {
        mlt_os_sleep(NAP_NS);
        if (!try_enter(endpoint))
            continue;
        bool any = !held_count(endpoint) && switchover_gather(endpoint);
        switchover_leave(endpoint);
        for (uint32_t i = 0; any && i < endpoint->workers; i++)
            mlt_tcp_wake(endpoint, i);
    }
    return NULL;
}

static void start_looker(tcp_endpoint *endpoint)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    endpoint->has_looker = pthread_create(&endpoint->looker, NULL, look_for_all, endpoint) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!endpoint->has_looker)
        mlt_fatal("no thread can be started that looks at the fabric %s",
                  mlt_fabric_name(endpoint->fabric));
}

void mlt_switchover_enter(tcp_endpoint *endpoint)
{
    mlt_fabric_choice choice;
    char why[WHY_BYTES];
    if (mlt_fabric_choose(mlt_tcp_fabric, &choice) != MLT_OK)
        give_up(endpoint, "it should be tcp, auto, ofi or ofi:PROVIDER");
    if (!choice.wanted || endpoint->job->hosts == 1)
        return;
    choice.processes = endpoint->job->procs;
    choice.trusts = mlt_tcp_fabric_trust != 0;
    endpoint->fabric_demanded = choice.demanded;
    endpoint->fabric = mlt_fabric_open(&choice, why, sizeof why);
    if (!endpoint->fabric && choice.demanded)
        give_up(endpoint, why);
    if (!endpoint->fabric && *why)
        say_by_tcp(endpoint, why);
    if (endpoint->fabric && mlt_fabric_fd(endpoint->fabric) < 0)
        start_looker(endpoint);
}

void mlt_switchover_leave(tcp_endpoint *endpoint)
{
    atomic_store_explicit(&endpoint->looker_ends, 1, memory_order_relaxed);
    if (endpoint->has_looker)
        (void)pthread_join(endpoint->looker, NULL);
    mlt_fabric_close(endpoint->fabric);
    free(endpoint->aligned);
    for (tcp_fetch *next; endpoint->spare_fetches; endpoint->spare_fetches = next) {
        next = endpoint->spare_fetches->next;
        free(endpoint->spare_fetches);
    }
}

int mlt_switchover_fd(const tcp_endpoint *endpoint)
{
    return endpoint->fabric ? mlt_fabric_fd(endpoint->fabric) : -1;
}

// ---- A pair

tcp_switchover *mlt_switchover_new(tcp_endpoint *endpoint)
{
    if (!endpoint->fabric)
        return NULL;
    tcp_switchover *switchover = mlt_take(1, sizeof *switchover);
    switchover->fetches_end = &switchover->fetches;
    switchover->link = (tcp_link){.by_fabric = true, .fd = -1, .heard = true};
    if (mlt_os_random(&switchover->own_nonce, sizeof switchover->own_nonce) != MLT_OK)
        switchover->refused = true; // without a nonce, no offer
    return switchover;
}

// After the fabric was closed.
void mlt_switchover_free(tcp_switchover *switchover)
{
    for (tcp_fetch *next, *f = switchover ? switchover->fetches : NULL; f; f = next) {
        next = f->next;
        free(f);
    }
    free(switchover);
}

static bool reads(const tcp_switchover *switchover)
{
    return atomic_load_explicit(&switchover->reads, memory_order_relaxed);
}

static bool is_out(const tcp_switchover *switchover)
{
    return atomic_load_explicit(&switchover->out, memory_order_acquire);
}

bool mlt_switchover_is_out(const tcp_pair *pair)
{
    return pair->switchover && is_out(pair->switchover);
}

bool mlt_switchover_is_in(const tcp_pair *pair)
{
    return pair->switchover && atomic_load_explicit(&pair->switchover->in, memory_order_acquire);
}

static void be_busy(tcp_switchover *switchover)
{
    tcp_endpoint *endpoint = switchover->pair->endpoint;
    if (switchover->busy)
        return;
    switchover->busy = true;
    switchover->next_busy = endpoint->busy_switchovers;
    endpoint->busy_switchovers = switchover;
}

static void be_blocked(tcp_switchover *switchover)
{
    tcp_endpoint *endpoint = switchover->pair->endpoint;
    atomic_store_explicit(&switchover->pair->blocked, 1, memory_order_relaxed);
    if (switchover->blocked)
        return;
    switchover->blocked = true;
    switchover->next_blocked = endpoint->blocked_switchovers;
    endpoint->blocked_switchovers = switchover;
}

// The fabric does not do it: the connection will, if nothing depends on the fabric yet.
static MLT_COLD void refuse(tcp_switchover *switchover, const char *why)
{
    tcp_pair *pair = switchover->pair;
    char text[WHY_BYTES + 128];
    if (is_out(switchover) || atomic_load_explicit(&switchover->in, memory_order_relaxed)) {
        snprintf(text, sizeof text, "the fabric fails: %s", why);
        mlt_tcp_lose(pair, text);
        return;
    }
    if (switchover->refused || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    switchover->refused = true;
    if (pair->endpoint->complains)
        return;
    pair->endpoint->complains = switchover;
    pair->endpoint->complains_ns = mlt_os_now_ns();
    snprintf(pair->endpoint->complaint, sizeof pair->endpoint->complaint, "%s", why);
}

// An endpoint may be gone because its process has ended, which the connection tells in a moment: that
// is no reason to complain.
static MLT_COLD void complain(tcp_endpoint *endpoint)
{
    enum { PATIENCE_NS = 1000000000 };
    const tcp_switchover *switchover = endpoint->complains;
    char text[WHY_BYTES + 128];
    if (mlt_os_now_ns() - endpoint->complains_ns < PATIENCE_NS)
        return;
    endpoint->complains = NULL;
    if (atomic_load_explicit(&switchover->pair->gone, memory_order_relaxed))
        return;
    snprintf(text, sizeof text, "process %u and process %u cannot talk by it: %s", endpoint->proc,
             switchover->pair->proc, endpoint->complaint);
    if (endpoint->fabric_demanded)
        give_up(endpoint, text);
    snprintf(text, sizeof text, "a connection stays with TCP instead of the fabric %s: %s",
             mlt_fabric_name(endpoint->fabric), endpoint->complaint);
    say_note(endpoint, text);
}

// ---- Offers

void mlt_switchover_offer(tcp_pair *pair)
{
    tcp_switchover *switchover = pair->switchover;
    mlt_fabric *fabric = pair->endpoint->fabric;
    tcp_offer offer = {.nonce = switchover->own_nonce, .reads = mlt_fabric_reads(fabric)};
    mlt_wire_frame head = {.kind = MLT_WIRE_FRAME_OFFER, .length = sizeof offer};
    switchover->pair = switchover->link.pair = pair;
    if (switchover->refused)
        return;
    offer.address_bytes = mlt_fabric_address(fabric, offer.address);
    snprintf(offer.name, sizeof offer.name, "%s", mlt_fabric_name(fabric));
    memcpy(switchover->control, &head, MLT_WIRE_FRAME_HEAD);
    memcpy(switchover->control + MLT_WIRE_FRAME_HEAD, &offer, sizeof offer);
    switchover->control_end = MLT_WIRE_FRAME_HEAD + sizeof offer;
}

bool mlt_switchover_write_control(tcp_pair *pair, tcp_link *link)
{
    tcp_switchover *switchover = pair->switchover;
    while (switchover->control_at < switchover->control_end) {
        struct iovec piece = {.iov_base = switchover->control + switchover->control_at,
                              .iov_len = switchover->control_end - switchover->control_at};
        ssize_t n = mlt_os_tcp_send(link->fd, &piece, 1);
        if (n < 0)
            return false; // reading will tell why
        switchover->control_at += (uint32_t)n;
    }
    switchover->control_at = switchover->control_end = 0;
    return true;
}

// Whoever wants to know what came by the connection before must have read it.
void mlt_switchover_heard_switch(tcp_pair *pair)
{
    // release: pairs with mlt_switchover_is_in.
    atomic_store_explicit(&pair->switchover->in, 1, memory_order_release);
}

void mlt_switchover_heard_offer(tcp_pair *pair, const mlt_wire_frame *frame)
{
    tcp_switchover *switchover = pair->switchover;
    tcp_endpoint *endpoint = pair->endpoint;
    tcp_offer offer;
    char why[WHY_BYTES];
    if (frame->length != sizeof offer || switchover->met || !switchover->pair)
        return;
    memcpy(&offer, mlt_wire_frame_data(frame), sizeof offer);
    offer.name[sizeof offer.name - 1] = '\0';
    enter(endpoint);
    if (strcmp(offer.name, mlt_fabric_name(endpoint->fabric)) != 0) {
        snprintf(why, sizeof why, "one has %s, the other one %.*s",
                 mlt_fabric_name(endpoint->fabric), MLT_FABRIC_NAME, offer.name);
        refuse(switchover, why);
    } else if (mlt_fabric_meet(endpoint->fabric, offer.address, &switchover->to, why, sizeof why) !=
               MLT_OK) {
        refuse(switchover, why);
    } else {
        switchover->nonce = offer.nonce;
        atomic_store_explicit(&switchover->reads, offer.reads && mlt_fabric_reads(endpoint->fabric),
                              memory_order_relaxed);
        switchover->met = true;
        be_busy(switchover);
    }
    switchover_leave(endpoint);
}

// The other side has taken HELLO: the fabric is open.
bool mlt_switchover_switch(tcp_pair *pair, tcp_link *link)
{
    tcp_switchover *switchover = pair->switchover;
    if (!switchover->switching) {
        if (!atomic_load_explicit(&switchover->confirmed, memory_order_relaxed) ||
            switchover->control_end)
            return false;
        mlt_wire_frame frame = {.kind = MLT_WIRE_FRAME_SWITCH};
        memcpy(switchover->control, &frame, MLT_WIRE_FRAME_HEAD);
        switchover->control_end = MLT_WIRE_FRAME_HEAD;
        switchover->switching = true;
    }
    if (!mlt_switchover_write_control(pair, link))
        return false;
    atomic_store_explicit(&switchover->out, 1, memory_order_release);
    return true;
}

// ---- Writing

static tcp_packet switchover_head_of(const tcp_switchover *switchover, packet_kind kind)
{
    return (tcp_packet){.nonce = switchover->nonce,
                        .from = switchover->pair->endpoint->proc | (uint32_t)kind << FROM_BITS,
                        .worker = kind == PACKET_SHORT ? switchover->packet_worker : 0,
                        .taken = (uint8_t)switchover->taken,
                        .number = (uint8_t)switchover->sent};
}

// MLT_PENDING: the packet is still the caller's.
static mlt_status send_packet(tcp_switchover *switchover, packet_kind kind, unsigned char *packet,
                              uint32_t bytes)
{
    mlt_fabric *fabric = switchover->pair->endpoint->fabric;
    char why[WHY_BYTES];
    tcp_packet head = switchover_head_of(switchover, kind);
    memcpy(packet, &head, sizeof head);
    mlt_status status =
        mlt_fabric_send(fabric, switchover->to, packet, bytes, switchover->pair, why, sizeof why);
    if (status == MLT_OK) {
        switchover->told = switchover->taken;
        switchover->owes = false;
        switchover->sent += kind != PACKET_CONTROL;
        // A statistic; only whoever has the lock writes.
        atomic_store_explicit(&mlt_tcp_fabric_packets,
                              atomic_load_explicit(&mlt_tcp_fabric_packets, memory_order_relaxed) +
                                  1,
                              memory_order_relaxed);
        return MLT_OK;
    }
    if (status != MLT_PENDING) {
        mlt_fabric_give_back(fabric, packet);
        refuse(switchover, why);
    }
    return status;
}

static mlt_spsc *switchover_queue_of(const tcp_pair *pair, uint32_t worker)
{
    tcp_lane *lane = atomic_load_explicit(&pair->lanes[worker], memory_order_acquire);
    return lane ? atomic_load_explicit(&lane->out, memory_order_acquire) : NULL;
}

static void wake_if_starved(tcp_pair *pair, mlt_spsc *queue, uint32_t worker)
{
    if (mlt_spsc_starves(queue))
        mlt_tcp_wake(pair->endpoint, worker);
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
static void put_rest(tcp_switchover *switchover, filling *f)
{
    uint64_t n = switchover->rest.left < room_in(f) ? switchover->rest.left : room_in(f);
    put(f, switchover->rest.data, n);
    switchover->rest.data += n;
    switchover->rest.left -= n;
    if (switchover->rest.left)
        return;
    memset(f->packet + f->at, 0, switchover->rest.pad);
    f->at += (uint32_t)switchover->rest.pad;
    mlt_spsc_leave(switchover->rest.queue, switchover->rest.reference);
    wake_if_starved(switchover->pair, switchover->rest.queue, switchover->rest.worker);
    switchover->rest.queue = NULL;
}

static void put_long(tcp_switchover *switchover, filling *f, mlt_spsc *queue, uint32_t worker,
                     const mlt_wire_frame *frame, const mlt_spsc_reference *data)
{
    uint32_t head = mlt_wire_frame_data_at(frame);
    switchover->rest.queue = queue;
    switchover->rest.worker = worker;
    switchover->rest.data = data->data;
    switchover->rest.left = data->bytes;
    switchover->rest.pad = mlt_wire_frame_pad(data->bytes) - data->bytes;
    put(f, frame, head);
    switchover->rest.reference = mlt_spsc_take(queue, head, true);
    put_rest(switchover, f);
}

// False: it cannot be read there, so it has to be sent.
static bool put_fetch(tcp_switchover *switchover, filling *f, mlt_spsc *queue, uint32_t worker,
                      const mlt_wire_frame *frame, const mlt_spsc_reference *data)
{
    tcp_exposed *e = &switchover->exposed[switchover->exposed_tail % SWITCHOVER_FETCHES];
    if (mlt_fabric_expose(switchover->pair->endpoint->fabric, data->data, data->bytes,
                          &e->window) != MLT_OK)
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
    switchover->exposed_tail++;
    return true;
}

// The next frame of a lane. False: there is none, or no room for it.
static bool put_frame(tcp_switchover *switchover, filling *f, mlt_spsc *queue, uint32_t worker)
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
    } else if (frame->kind == MLT_WIRE_FRAME_DATA && reads(switchover)) {
        if (switchover->exposed_tail - switchover->exposed_head == SWITCHOVER_FETCHES) {
            be_blocked(switchover);
            return false;
        }
        if (!put_fetch(switchover, f, queue, worker, frame, data)) {
            // Pages that cannot be registered. All that follows is sent: parts of one message must not
            // overtake each other.
            atomic_store_explicit(&switchover->reads, 0, memory_order_relaxed);
            be_blocked(switchover);
            return false;
        }
    } else {
        if (switchover->exposed_tail != switchover->exposed_head &&
            frame->kind == MLT_WIRE_FRAME_DATA) {
            be_blocked(switchover); // the parts before are still being read
            return false;
        }
        put_long(switchover, f, queue, worker, frame, data);
    }
    wake_if_starved(switchover->pair, queue, worker);
    return !switchover->rest.queue;
}

static void switchover_fill(tcp_switchover *switchover, filling *f)
{
    tcp_pair *pair = switchover->pair;
    uint32_t workers = pair->endpoint->workers;
    if (switchover->rest.queue)
        put_rest(switchover, f);
    for (uint32_t k = 0; k < workers && !switchover->rest.queue; k++) {
        uint32_t worker = (pair->turn + k) % workers;
        mlt_spsc *queue = switchover_queue_of(pair, worker);
        while (queue && put_frame(switchover, f, queue, worker)) {
        }
    }
    pair->turn = workers > 1 ? (pair->turn + 1) % workers : 0;
}

static uint32_t under_switchover(const tcp_switchover *switchover)
{
    return switchover->sent - atomic_load_explicit(&switchover->confirmed, memory_order_relaxed);
}

static void shorten(tcp_switchover *switchover)
{
    unsigned char *at = switchover->packet + sizeof(tcp_packet);
    mlt_wire_frame frame;
    switchover->packet_kind = PACKET_FRAMES;
    if (switchover->packet_bytes != sizeof(tcp_packet) + SHORT_FRAME)
        return;
    memcpy(&frame, at, SHORT_FRAME);
    if (frame.kind != MLT_WIRE_FRAME_MESSAGE || frame.in_slot != SHORT_PAYLOAD || frame.length)
        return;
    memmove(at, at + SHORT_LACKS, SHORT_FRAME - SHORT_LACKS);
    switchover->packet_kind = PACKET_SHORT;
    switchover->packet_worker = frame.from;
    switchover->packet_bytes = SHORT_BYTES;
}

// False: there is none to be sent, or no room.
static bool next_packet(tcp_switchover *switchover)
{
    mlt_fabric *fabric = switchover->pair->endpoint->fabric;
    filling f = {.packet = mlt_fabric_packet(fabric),
                 .at = sizeof(tcp_packet),
                 .most = mlt_fabric_packet_bytes(fabric)};
    if (!f.packet) {
        be_blocked(switchover);
        return false;
    }
    switchover_fill(switchover, &f);
    if (f.at == sizeof(tcp_packet)) {
        mlt_fabric_give_back(fabric, f.packet);
        return false;
    }
    switchover->packet = f.packet;
    switchover->packet_bytes = f.at;
    shorten(switchover);
    return true;
}

static bool write_packet(tcp_switchover *switchover)
{
    if (under_switchover(switchover) >= SWITCHOVER_WINDOW) {
        be_blocked(switchover);
        return false;
    }
    if (!switchover->packet && !next_packet(switchover))
        return false;
    mlt_status status = send_packet(switchover, switchover->packet_kind, switchover->packet,
                                    switchover->packet_bytes);
    if (status == MLT_PENDING)
        be_blocked(switchover);
    else
        switchover->packet = NULL;
    return status == MLT_OK;
}

bool mlt_switchover_write(tcp_pair *pair)
{
    bool any = false;
    enter(pair->endpoint);
    atomic_store_explicit(&pair->blocked, 0, memory_order_relaxed);
    while (write_packet(pair->switchover))
        any = true;
    switchover_leave(pair->endpoint);
    return any;
}

void mlt_switchover_begin_drop(tcp_pair *pair)
{
    tcp_switchover *switchover = pair->switchover;
    enter(pair->endpoint);
    if (switchover->packet)
        mlt_fabric_give_back(pair->endpoint->fabric, switchover->packet);
    switchover->packet = NULL;
    switchover->rest.queue = NULL;
    for (; switchover->exposed_head != switchover->exposed_tail; switchover->exposed_head++)
        mlt_fabric_conceal(
            pair->endpoint->fabric,
            &switchover->exposed[switchover->exposed_head % SWITCHOVER_FETCHES].window);
}

void mlt_switchover_end_drop(tcp_pair *pair)
{
    switchover_leave(pair->endpoint);
}

// ---- Data that are read

static tcp_fetch *new_fetch(tcp_endpoint *endpoint)
{
    tcp_fetch *fetch = endpoint->spare_fetches;
    if (!fetch)
        return mlt_take(1, sizeof *fetch);
    endpoint->spare_fetches = fetch->next;
    return fetch;
}

// False: later.
static bool begin_fetch(tcp_fetch *fetch)
{
    tcp_switchover *switchover = fetch->switchover;
    char why[WHY_BYTES];
    if (fetch->begun)
        return true;
    mlt_status status =
        mlt_fabric_read(switchover->pair->endpoint->fabric, switchover->to, fetch->from.address,
                        fetch->from.key, fetch->land, fetch->head.length, fetch, why, sizeof why);
    fetch->begun = status == MLT_OK;
    if (status == MLT_ERR_SYSTEM) {
        refuse(switchover, why);
        fetch->begun = true; // and never done
    }
    return fetch->begun;
}

static void queue_fetch(tcp_endpoint *endpoint, tcp_fetch *fetch)
{
    tcp_switchover *switchover = fetch->switchover;
    *switchover->fetches_end = fetch;
    switchover->fetches_end = &fetch->next;
    endpoint->mail[mlt_wire_frame_to(&fetch->head)].fetches++;
    if (!begin_fetch(fetch) || fetch->done)
        be_busy(switchover);
}

void mlt_switchover_fetch(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                          unsigned char *land)
{
    tcp_switchover *switchover = link->pair->switchover;
    tcp_endpoint *endpoint = me->endpoint;
    uint32_t bytes = mlt_wire_frame_data_at(frame);
    tcp_fetch *fetch = new_fetch(endpoint);
    *fetch = (tcp_fetch){.switchover = switchover, .land = land, .begun = !land, .done = !land};
    memcpy(&fetch->head, frame, bytes);
    memcpy(&fetch->from, (const unsigned char *)frame + bytes, sizeof fetch->from);
    fetch->head.kind = MLT_WIRE_FRAME_DATA;
    queue_fetch(endpoint, fetch);
}

bool mlt_switchover_reads(const tcp_pair *pair)
{
    return mlt_switchover_is_out(pair) && mlt_switchover_is_in(pair) && reads(pair->switchover);
}

// In the order in which they were asked for.
static void finish_fetches(tcp_worker *me, tcp_switchover *switchover, const mlt_wire_taker *taker,
                           bool *enough)
{
    tcp_endpoint *endpoint = me->endpoint;
    for (tcp_fetch *fetch; (fetch = switchover->fetches) && fetch->done;) {
        switchover->fetches = fetch->next;
        if (!switchover->fetches)
            switchover->fetches_end = &switchover->fetches;
        endpoint->mail[mlt_wire_frame_to(&fetch->head)].fetches--;
        switchover->fetched++;
        (void)mlt_tcp_deliver(me, &switchover->link, &fetch->head, taker, enough);
        fetch->next = endpoint->spare_fetches;
        endpoint->spare_fetches = fetch;
    }
    for (tcp_fetch *fetch = switchover->fetches; fetch && begin_fetch(fetch); fetch = fetch->next) {
    }
}

// The other side has read so many.
static bool were_fetched(tcp_worker *me, tcp_switchover *switchover, uint32_t count)
{
    uint32_t n = count - switchover->exposed_head;
    if (n > switchover->exposed_tail - switchover->exposed_head)
        return false;
    for (; n; n--) {
        tcp_exposed *e = &switchover->exposed[switchover->exposed_head++ % SWITCHOVER_FETCHES];
        mlt_fabric_conceal(me->endpoint->fabric, &e->window);
        mlt_spsc_leave(e->queue, e->reference);
        wake_if_starved(switchover->pair, e->queue, e->worker);
        me->wire->received++;
    }
    return true;
}

// ---- HELLO and CONTROL

// False: later, or never.
static bool say_hello(tcp_switchover *switchover)
{
    unsigned char *packet = mlt_fabric_packet(switchover->pair->endpoint->fabric);
    if (!packet)
        return false;
    mlt_status status = send_packet(switchover, PACKET_HELLO, packet, sizeof(tcp_packet));
    if (status == MLT_PENDING)
        mlt_fabric_give_back(switchover->pair->endpoint->fabric, packet);
    switchover->greeted = status == MLT_OK;
    return switchover->greeted;
}

static bool say_control(tcp_worker *me, tcp_switchover *switchover)
{
    unsigned char *packet = mlt_fabric_packet(switchover->pair->endpoint->fabric);
    tcp_control control = {.fetched = switchover->fetched};
    if (!packet)
        return false;
    memcpy(packet, &control, sizeof control);
    mlt_status status = send_packet(switchover, PACKET_CONTROL, packet, sizeof control);
    if (status == MLT_PENDING)
        mlt_fabric_give_back(switchover->pair->endpoint->fabric, packet);
    if (status != MLT_OK)
        return false;
    me->wire->sent += switchover->fetched - switchover->fetched_told;
    switchover->fetched_told = switchover->fetched;
    return true;
}

// What comes is of no use. (A pair that is gone may still have packets under way: the mark of a second
// connection may be faster.)
static bool is_lost(const tcp_switchover *switchover)
{
    return atomic_load_explicit(&switchover->pair->lost, memory_order_relaxed) ||
           atomic_load_explicit(&switchover->link.state, memory_order_relaxed) == TCP_SHUT;
}

static bool has_control(const tcp_switchover *switchover)
{
    return switchover->owes || switchover->fetched != switchover->fetched_told;
}

// False: something is left to do.
static bool serve_switchover(tcp_worker *me, tcp_switchover *switchover)
{
    if (switchover->refused || !switchover->met)
        return true;
    if (is_lost(switchover))
        return true;
    if (!switchover->greeted && !say_hello(switchover))
        return switchover->refused;
    if (has_control(switchover) && !say_control(me, switchover))
        return is_lost(switchover);
    return !switchover->fetches || (switchover->fetches->begun && !switchover->fetches->done);
}

static void serve(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    tcp_switchover *list = me->endpoint->busy_switchovers;
    me->endpoint->busy_switchovers = NULL;
    while (list) {
        tcp_switchover *switchover = list;
        list = switchover->next_busy;
        switchover->busy = false;
        if (taker && switchover->fetches)
            finish_fetches(me, switchover, taker, enough);
        if (!serve_switchover(me, switchover))
            be_busy(switchover);
    }
}

// ---- What came

static void take_head(tcp_worker *me, tcp_switchover *switchover, const tcp_packet *head,
                      const unsigned char *packet)
{
    uint32_t confirmed = atomic_load_explicit(&switchover->confirmed, memory_order_relaxed);
    uint32_t taken = confirmed + (uint8_t)(head->taken - confirmed);
    bool sound = taken - confirmed <= switchover->sent - confirmed;
    if (sound && head->from >> FROM_BITS == PACKET_CONTROL) {
        tcp_control control;
        memcpy(&control, packet, sizeof control);
        sound = were_fetched(me, switchover, control.fetched);
    }
    if (!sound) {
        mlt_tcp_distrust(&switchover->link, "it confirms what was not sent");
        return;
    }
    atomic_store_explicit(&switchover->confirmed, taken, memory_order_relaxed);
    // The fabric is proven: whoever has something to send switches.
    if (!confirmed && taken)
        be_blocked(switchover);
    // A provider may complete a long packet after a short one that was sent later, and call that order.
    if (head->from >> FROM_BITS != PACKET_CONTROL && head->number != (uint8_t)switchover->taken)
        mlt_tcp_lose(switchover->pair,
                     "the fabric fails: packets come in another order than they were "
                     "sent; variables of libfabric may have changed what it sends at "
                     "once");
}

// The frames before SWITCH are still to be read from the connection. False: not yet.
static bool wait_for_switch(tcp_worker *me, tcp_switchover *switchover, const mlt_wire_taker *taker,
                            bool *enough)
{
    for (int i = 0; i < LINKS && taker; i++) {
        tcp_link *link = atomic_load_explicit(&switchover->pair->links[i], memory_order_acquire);
        if (link && !mlt_switchover_is_in(switchover->pair))
            (void)mlt_tcp_read(me, link, taker, enough);
    }
    return mlt_switchover_is_in(switchover->pair);
}

// Providers lay packets where they like, and SHORT ones lack something. *end: of the frames.
static unsigned char *laid_out(tcp_endpoint *endpoint, const mlt_fabric_event *event,
                               const tcp_packet *head, uint32_t *end)
{
    bool is_short = head->from >> FROM_BITS == PACKET_SHORT;
    *end = is_short ? event->bytes + SHORT_LACKS : event->bytes;
    if (!is_short && (uintptr_t)event->packet % 8 == 0)
        return event->packet;
    if (!endpoint->aligned)
        endpoint->aligned = mlt_take(1, MLT_FABRIC_PACKET_MOST);
    if (endpoint->held_at)
        return endpoint->aligned;
    if (!is_short) {
        memcpy(endpoint->aligned, event->packet, event->bytes);
        return endpoint->aligned;
    }
    mlt_wire_frame frame = {
        .in_slot = SHORT_PAYLOAD, .kind = MLT_WIRE_FRAME_MESSAGE, .from = head->worker};
    memcpy(&frame.slot, event->packet + sizeof *head, SHORT_FRAME - SHORT_LACKS);
    memcpy(endpoint->aligned + sizeof *head, &frame, SHORT_FRAME);
    return endpoint->aligned;
}

// False: it has to wait.
static bool take_frames(tcp_worker *me, tcp_switchover *switchover, const mlt_fabric_event *event,
                        const tcp_packet *head, const mlt_wire_taker *taker, bool *enough)
{
    tcp_link *link = &switchover->link;
    tcp_endpoint *endpoint = me->endpoint;
    if (!mlt_switchover_is_in(switchover->pair) && !wait_for_switch(me, switchover, taker, enough))
        return false;
    link->room = laid_out(endpoint, event, head, &link->end);
    link->at = endpoint->held_at ? endpoint->held_at : sizeof(tcp_packet);
    bool whole = mlt_tcp_take_packet(me, link, taker, enough);
    endpoint->held_at = whole ? 0 : link->at;
    link->room = NULL;
    if (!whole)
        return false;
    switchover->taken++;
    bool ended = atomic_load_explicit(&link->state, memory_order_relaxed) != TCP_UP;
    if (ended || switchover->taken - switchover->told >= SWITCHOVER_WINDOW / 2) {
        switchover->owes = true;
        be_busy(switchover);
    }
    return true;
}

// Whoever does not know the nonce is no process of the job, or speaks of a pair that is no more: not
// heard. False: it has to wait.
static bool take_event(tcp_worker *me, const mlt_fabric_event *event, const mlt_wire_taker *taker,
                       bool *enough)
{
    tcp_endpoint *endpoint = me->endpoint;
    tcp_packet head;
    if (event->bytes < sizeof head)
        return true;
    memcpy(&head, event->packet, sizeof head);
    uint32_t proc = head.from & ((UINT32_C(1) << FROM_BITS) - 1), kind = head.from >> FROM_BITS;
    tcp_pair *pair = proc < endpoint->job->procs
                         ? atomic_load_explicit(&endpoint->pairs[proc], memory_order_acquire)
                         : NULL;
    tcp_switchover *switchover = pair ? pair->switchover : NULL;
    if (!switchover || !switchover->pair || head.nonce != switchover->own_nonce ||
        (kind == PACKET_CONTROL && event->bytes != sizeof(tcp_control)) ||
        (kind == PACKET_SHORT && event->bytes != SHORT_BYTES))
        return true;
    if (endpoint->held_at == 0 && !is_lost(switchover))
        take_head(me, switchover, &head, event->packet);
    if (is_lost(switchover)) {
        endpoint->held_at = 0;
        return true;
    }
    if (kind == PACKET_FRAMES || kind == PACKET_SHORT)
        return take_frames(me, switchover, event, &head, taker, enough);
    if (kind == PACKET_HELLO) {
        switchover->taken++;
        switchover->owes = true;
        be_busy(switchover);
    }
    return true;
}

static mlt_fabric_event *held(tcp_endpoint *endpoint, uint32_t i)
{
    return &endpoint->held[(endpoint->held_first + i) % FABRIC_HELD];
}

static void hold(tcp_endpoint *endpoint, const mlt_fabric_event *event)
{
    uint32_t count = held_count(endpoint);
    *held(endpoint, count) = *event;
    atomic_store_explicit(&endpoint->held_count, count + 1, memory_order_relaxed);
}

static void take_held(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    tcp_endpoint *endpoint = me->endpoint;
    while (held_count(endpoint) && !*enough) {
        mlt_fabric_event event = *held(endpoint, 0);
        if (!take_event(me, &event, taker, enough))
            return;
        endpoint->held_first++;
        atomic_store_explicit(&endpoint->held_count, held_count(endpoint) - 1,
                              memory_order_relaxed);
        mlt_fabric_release(endpoint->fabric, &event);
    }
}

static void hear(tcp_endpoint *endpoint, const mlt_fabric_event *event)
{
    tcp_fetch *fetch = event->owner;
    switch (event->kind) {
    case MLT_FABRIC_CAME:
        hold(endpoint, event);
        break;
    case MLT_FABRIC_READ:
        fetch->done = true;
        be_busy(fetch->switchover);
        break;
    case MLT_FABRIC_FAILED:
        if (event->owner)
            refuse(((tcp_pair *)event->owner)->switchover,
                   mlt_fabric_error(endpoint->fabric, event->error));
        break;
    case MLT_FABRIC_READ_FAILED:
        refuse(fetch->switchover, mlt_fabric_error(endpoint->fabric, event->error));
        break;
    }
}

// Those that found no room try again. Without the lock: each takes the pair's first.
static void carry_blocked(tcp_endpoint *endpoint)
{
    enum { MOST = 32 };
    tcp_pair *pairs[MOST];
    uint32_t n = 0;
    enter(endpoint);
    for (tcp_switchover *switchover; n < MOST && (switchover = endpoint->blocked_switchovers);) {
        endpoint->blocked_switchovers = switchover->next_blocked;
        switchover->blocked = false;
        atomic_store_explicit(&switchover->pair->blocked, 0, memory_order_relaxed);
        pairs[n++] = switchover->pair;
    }
    switchover_leave(endpoint);
    for (uint32_t i = 0; i < n; i++)
        (void)mlt_tcp_carry(pairs[i]);
}

// What happened is heard, but not taken yet. Returns how much.
static uint32_t switchover_gather(tcp_endpoint *endpoint)
{
    mlt_fabric_event events[EVENTS];
    uint32_t n = mlt_fabric_poll(endpoint->fabric, events, EVENTS);
    for (uint32_t i = 0; i < n; i++)
        hear(endpoint, &events[i]);
    return n;
}

bool mlt_switchover_poll(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    enum { TURNS = 8 };
    tcp_endpoint *endpoint = me->endpoint;
    if (!try_enter(endpoint))
        return false;
    bool any = held_count(endpoint) != 0;
    take_held(me, taker, enough);
    // Not once more for a rank that has got what it waited for: a poll costs system calls.
    for (uint32_t i = 0;
         i < TURNS && !*enough && !held_count(endpoint) && switchover_gather(endpoint); i++) {
        any = true;
        take_held(me, taker, enough);
    }
    if (endpoint->busy_switchovers)
        serve(me, taker, enough);
    bool blocked = endpoint->blocked_switchovers != NULL;
    switchover_leave(endpoint);
    if (blocked)
        carry_blocked(endpoint);
    return any;
}

void mlt_switchover_patrol(tcp_worker *me)
{
    tcp_endpoint *endpoint = me->endpoint;
    if (!try_enter(endpoint))
        return;
    bool any = !held_count(endpoint) && switchover_gather(endpoint);
    uint64_t sent = me->wire->sent;
    serve(me, NULL, NULL);
    if (endpoint->complains)
        complain(endpoint);
    bool blocked = endpoint->blocked_switchovers != NULL;
    switchover_leave(endpoint);
    if (blocked)
        carry_blocked(endpoint);
    if (any || sent != me->wire->sent) // a sleeper has told how many it had sent
        mlt_tcp_wake(endpoint, me->index);
}

bool mlt_switchover_may_sleep(tcp_worker *me)
{
    tcp_endpoint *endpoint = me->endpoint;
    if (!try_enter(endpoint))
        return false;
    bool may = !held_count(endpoint) && mlt_fabric_may_sleep(endpoint->fabric);
    for (const tcp_switchover *switchover = endpoint->busy_switchovers; switchover && may;
         switchover = switchover->next_busy)
        may = !switchover->fetches || !switchover->fetches->done;
    switchover_leave(endpoint);
    return may;
}

// ---- The end

void mlt_switchover_withdraw(tcp_worker *me)
{
    tcp_endpoint *endpoint = me->endpoint;
    uint64_t until = mlt_os_now_ns() + (uint64_t)mlt_tcp_gone_ms * 1000000;
    for (bool some = true; some && mlt_os_now_ns() < until;) {
        bool enough = false;
        (void)mlt_switchover_poll(me, &mlt_wire_nobody, &enough);
        enter(endpoint);
        some = endpoint->mail[me->index].fetches != 0;
        switchover_leave(endpoint);
    }
}

void mlt_switchover_write_mark(tcp_pair *pair)
{
    tcp_switchover *switchover = pair->switchover;
    if (switchover->marked || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    (void)mlt_switchover_write(pair);
    enter(pair->endpoint);
    mlt_fabric *fabric = pair->endpoint->fabric;
    mlt_wire_frame end = {.kind = MLT_WIRE_FRAME_END, .slot = {.flags = 1}};
    unsigned char *packet = switchover->packet || switchover->rest.queue ||
                                    under_switchover(switchover) >= SWITCHOVER_WINDOW
                                ? NULL
                                : mlt_fabric_packet(fabric);
    if (packet) {
        memcpy(packet + sizeof(tcp_packet), &end, MLT_WIRE_FRAME_HEAD);
        mlt_status status = send_packet(switchover, PACKET_FRAMES, packet,
                                        sizeof(tcp_packet) + MLT_WIRE_FRAME_HEAD);
        if (status == MLT_PENDING)
            mlt_fabric_give_back(fabric, packet);
        switchover->marked = status == MLT_OK;
    }
    switchover_leave(pair->endpoint);
}

bool mlt_switchover_is_settled(const tcp_pair *pair)
{
    const tcp_switchover *switchover = pair->switchover;
    return atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
           (switchover->marked && under_switchover(switchover) == 0);
}
