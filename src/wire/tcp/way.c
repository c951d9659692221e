// SPDX-License-Identifier: BSD-3-Clause
#include "wire/tcp/way.h"

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
    WAY_WINDOW = 32,    // packets under way
    WAY_FETCHES = 64,   // data that the other side is to read
    WAY_CONTROL = 1024, // bytes for the connection
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
_Static_assert(WAY_WINDOW <= UINT8_MAX, "8 bits tell one packet under way from another");
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
    tcp_way *way;
    mlt_wire_frame head;
    mlt_wire_frame_fetch from;
    unsigned char *land;
    bool begun, done;
} tcp_fetch;

// Data that the other side reads.
typedef struct tcp_exposed {
    mlt_tube *tube;
    uint32_t worker;
    uint64_t reference;
    mlt_fabric_window window;
} tcp_exposed;

struct tcp_way {
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
    unsigned char control[WAY_CONTROL];
    uint32_t control_at, control_end;
    // The rest of data that did not fit into the last packet.
    struct {
        mlt_tube *tube;
        uint32_t worker;
        uint64_t reference;
        const unsigned char *data;
        uint64_t left, pad;
    } rest;
    tcp_exposed exposed[WAY_FETCHES];
    uint32_t exposed_head, exposed_tail;
    tcp_fetch *fetches, **fetches_end;
    bool busy, blocked; // in the house's list
    tcp_way *next_busy, *next_blocked;
    tcp_link link; // what came
};

// ---- The lock
//
// Whoever polls only tries it: another one polls for it. Whoever sends waits: the holder is done in
// some microseconds, and a message must not stay behind because somebody else looked at the fabric. A
// handler that is called by a poll may send, so the holder may come in again: mlt_os_foreign counts.

static bool try_enter(tcp_house *house)
{
    if (!mlt_os_foreign && !tcp_try_lock(&house->fabric_lock))
        return false;
    mlt_os_foreign++;
    return true;
}

static void enter(tcp_house *house)
{
    for (uint32_t n = 0; !try_enter(house); n++)
        if (n % SPINS < SPINS - 1)
            mlt_arch_pause();
        else
            mlt_os_yield();
}

static void leave(tcp_house *house)
{
    if (--mlt_os_foreign == 0)
        tcp_unlock(&house->fabric_lock);
}

static uint32_t gather(tcp_house *house);

static uint32_t held_count(const tcp_house *house)
{
    return atomic_load_explicit(&house->held_count, memory_order_relaxed);
}

// ---- The house

static MLT_COLD void say_note(const tcp_house *house, const char *text)
{
    mlt_ctl head = {
        .type = MLT_CTL_NOTE, .rank = MLT_CTL_NO_RANK, .length = (uint32_t)strlen(text)};
    (void)mlt_ctl_send(house->ctl, &head, text);
}

static MLT_COLD void say_by_tcp(const tcp_house *house, const char *why)
{
    char text[WHY_BYTES + 128];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but messages go by TCP: %s", mlt_tcp_fabric,
             why);
    say_note(house, text);
}

// The user has said that it must be the fabric.
static MLT_COLD _Noreturn void give_up(const tcp_house *house, const char *why)
{
    char text[WHY_BYTES + 128];
    snprintf(text, sizeof text, "MILLET_FABRIC is %s, but %s", mlt_tcp_fabric, why);
    mlt_ctl head = {.type = MLT_CTL_ABORT,
                    .rank = MLT_CTL_NO_RANK,
                    .value = 1,
                    .length = (uint32_t)strlen(text)};
    if (mlt_ctl_send(house->ctl, &head, text) != MLT_OK)
        mlt_log("%s", text);
    mlt_leave(1);
}

// For a fabric without a descriptor: polls for workers that sleep, and wakes them if something came.
static void *look_for_all(void *arg)
{
    enum { NAP_NS = 1000000 };
    tcp_house *house = arg;
    while (!atomic_load_explicit(&house->looker_ends, memory_order_relaxed)) {
        mlt_os_sleep(NAP_NS);
        if (!try_enter(house))
            continue;
        bool any = !held_count(house) && gather(house);
        leave(house);
        for (uint32_t i = 0; any && i < house->workers; i++)
            mlt_tcp_wake(house, i);
    }
    return NULL;
}

static void start_looker(tcp_house *house)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    house->has_looker = pthread_create(&house->looker, NULL, look_for_all, house) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!house->has_looker)
        mlt_fatal("no thread can be started that looks at the fabric %s",
                  mlt_fabric_name(house->fabric));
}

void mlt_way_enter(tcp_house *house)
{
    mlt_fabric_choice choice;
    char why[WHY_BYTES];
    if (mlt_fabric_choose(mlt_tcp_fabric, &choice) != MLT_OK)
        give_up(house, "it should be tcp, auto, ofi or ofi:PROVIDER");
    if (!choice.wanted || house->job->hosts == 1)
        return;
    choice.processes = house->job->procs;
    choice.trusts = mlt_tcp_fabric_trust != 0;
    house->fabric_demanded = choice.demanded;
    house->fabric = mlt_fabric_open(&choice, why, sizeof why);
    if (!house->fabric && choice.demanded)
        give_up(house, why);
    if (!house->fabric && *why)
        say_by_tcp(house, why);
    if (house->fabric && mlt_fabric_fd(house->fabric) < 0)
        start_looker(house);
}

void mlt_way_leave(tcp_house *house)
{
    atomic_store_explicit(&house->looker_ends, 1, memory_order_relaxed);
    if (house->has_looker)
        (void)pthread_join(house->looker, NULL);
    mlt_fabric_close(house->fabric);
    free(house->aligned);
    for (tcp_fetch *next; house->spare_fetches; house->spare_fetches = next) {
        next = house->spare_fetches->next;
        free(house->spare_fetches);
    }
}

int mlt_way_fd(const tcp_house *house)
{
    return house->fabric ? mlt_fabric_fd(house->fabric) : -1;
}

// ---- A pair

tcp_way *mlt_way_new(tcp_house *house)
{
    if (!house->fabric)
        return NULL;
    tcp_way *way = mlt_take(1, sizeof *way);
    way->fetches_end = &way->fetches;
    way->link = (tcp_link){.by_fabric = true, .fd = -1, .heard = true};
    if (mlt_os_random(&way->own_nonce, sizeof way->own_nonce) != MLT_OK)
        way->refused = true; // without a nonce, no offer
    return way;
}

// After the fabric was closed.
void mlt_way_free(tcp_way *way)
{
    for (tcp_fetch *next, *f = way ? way->fetches : NULL; f; f = next) {
        next = f->next;
        free(f);
    }
    free(way);
}

static bool reads(const tcp_way *way)
{
    return atomic_load_explicit(&way->reads, memory_order_relaxed);
}

static bool is_out(const tcp_way *way)
{
    return atomic_load_explicit(&way->out, memory_order_acquire);
}

bool mlt_way_is_out(const tcp_pair *pair)
{
    return pair->way && is_out(pair->way);
}

bool mlt_way_is_in(const tcp_pair *pair)
{
    return pair->way && atomic_load_explicit(&pair->way->in, memory_order_acquire);
}

static void be_busy(tcp_way *way)
{
    tcp_house *house = way->pair->house;
    if (way->busy)
        return;
    way->busy = true;
    way->next_busy = house->busy_ways;
    house->busy_ways = way;
}

static void be_blocked(tcp_way *way)
{
    tcp_house *house = way->pair->house;
    atomic_store_explicit(&way->pair->blocked, 1, memory_order_relaxed);
    if (way->blocked)
        return;
    way->blocked = true;
    way->next_blocked = house->blocked_ways;
    house->blocked_ways = way;
}

// The fabric does not do it: the connection will, if nothing depends on the fabric yet.
static MLT_COLD void refuse(tcp_way *way, const char *why)
{
    tcp_pair *pair = way->pair;
    char text[WHY_BYTES + 128];
    if (is_out(way) || atomic_load_explicit(&way->in, memory_order_relaxed)) {
        snprintf(text, sizeof text, "the fabric fails: %s", why);
        mlt_tcp_lose(pair, text);
        return;
    }
    if (way->refused || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    way->refused = true;
    if (pair->house->complains)
        return;
    pair->house->complains = way;
    pair->house->complains_ns = mlt_os_now_ns();
    snprintf(pair->house->complaint, sizeof pair->house->complaint, "%s", why);
}

// An endpoint may be gone because its process has ended, which the connection tells in a moment: that
// is no reason to complain.
static MLT_COLD void complain(tcp_house *house)
{
    enum { PATIENCE_NS = 1000000000 };
    const tcp_way *way = house->complains;
    char text[WHY_BYTES + 128];
    if (mlt_os_now_ns() - house->complains_ns < PATIENCE_NS)
        return;
    house->complains = NULL;
    if (atomic_load_explicit(&way->pair->gone, memory_order_relaxed))
        return;
    snprintf(text, sizeof text, "process %u and process %u cannot talk by it: %s", house->proc,
             way->pair->proc, house->complaint);
    if (house->fabric_demanded)
        give_up(house, text);
    snprintf(text, sizeof text, "a connection stays with TCP instead of the fabric %s: %s",
             mlt_fabric_name(house->fabric), house->complaint);
    say_note(house, text);
}

// ---- Offers

void mlt_way_offer(tcp_pair *pair)
{
    tcp_way *way = pair->way;
    mlt_fabric *fabric = pair->house->fabric;
    tcp_offer offer = {.nonce = way->own_nonce, .reads = mlt_fabric_reads(fabric)};
    mlt_wire_frame head = {.kind = MLT_WIRE_FRAME_OFFER, .length = sizeof offer};
    way->pair = way->link.pair = pair;
    if (way->refused)
        return;
    offer.address_bytes = mlt_fabric_address(fabric, offer.address);
    snprintf(offer.name, sizeof offer.name, "%s", mlt_fabric_name(fabric));
    memcpy(way->control, &head, MLT_WIRE_FRAME_HEAD);
    memcpy(way->control + MLT_WIRE_FRAME_HEAD, &offer, sizeof offer);
    way->control_end = MLT_WIRE_FRAME_HEAD + sizeof offer;
}

bool mlt_way_write_control(tcp_pair *pair, tcp_link *link)
{
    tcp_way *way = pair->way;
    while (way->control_at < way->control_end) {
        struct iovec piece = {.iov_base = way->control + way->control_at,
                              .iov_len = way->control_end - way->control_at};
        ssize_t n = mlt_os_tcp_send(link->fd, &piece, 1);
        if (n < 0)
            return false; // reading will tell why
        way->control_at += (uint32_t)n;
    }
    way->control_at = way->control_end = 0;
    return true;
}

// Whoever wants to know what came by the connection before must have read it.
void mlt_way_heard_switch(tcp_pair *pair)
{
    // release: pairs with mlt_way_is_in.
    atomic_store_explicit(&pair->way->in, 1, memory_order_release);
}

void mlt_way_heard_offer(tcp_pair *pair, const mlt_wire_frame *frame)
{
    tcp_way *way = pair->way;
    tcp_house *house = pair->house;
    tcp_offer offer;
    char why[WHY_BYTES];
    if (frame->length != sizeof offer || way->met || !way->pair)
        return;
    memcpy(&offer, mlt_wire_frame_data(frame), sizeof offer);
    offer.name[sizeof offer.name - 1] = '\0';
    enter(house);
    if (strcmp(offer.name, mlt_fabric_name(house->fabric)) != 0) {
        snprintf(why, sizeof why, "one has %s, the other one %.*s", mlt_fabric_name(house->fabric),
                 MLT_FABRIC_NAME, offer.name);
        refuse(way, why);
    } else if (mlt_fabric_meet(house->fabric, offer.address, &way->to, why, sizeof why) != MLT_OK) {
        refuse(way, why);
    } else {
        way->nonce = offer.nonce;
        atomic_store_explicit(&way->reads, offer.reads && mlt_fabric_reads(house->fabric),
                              memory_order_relaxed);
        way->met = true;
        be_busy(way);
    }
    leave(house);
}

// The other side has taken HELLO: the way is open.
bool mlt_way_switch(tcp_pair *pair, tcp_link *link)
{
    tcp_way *way = pair->way;
    if (!way->switching) {
        if (!atomic_load_explicit(&way->confirmed, memory_order_relaxed) || way->control_end)
            return false;
        mlt_wire_frame frame = {.kind = MLT_WIRE_FRAME_SWITCH};
        memcpy(way->control, &frame, MLT_WIRE_FRAME_HEAD);
        way->control_end = MLT_WIRE_FRAME_HEAD;
        way->switching = true;
    }
    if (!mlt_way_write_control(pair, link))
        return false;
    atomic_store_explicit(&way->out, 1, memory_order_release);
    return true;
}

// ---- Writing

static tcp_packet head_of(const tcp_way *way, packet_kind kind)
{
    return (tcp_packet){.nonce = way->nonce,
                        .from = way->pair->house->proc | (uint32_t)kind << FROM_BITS,
                        .worker = kind == PACKET_SHORT ? way->packet_worker : 0,
                        .taken = (uint8_t)way->taken,
                        .number = (uint8_t)way->sent};
}

// MLT_PENDING: the packet is still the caller's.
static mlt_status send_packet(tcp_way *way, packet_kind kind, unsigned char *packet, uint32_t bytes)
{
    mlt_fabric *fabric = way->pair->house->fabric;
    char why[WHY_BYTES];
    tcp_packet head = head_of(way, kind);
    memcpy(packet, &head, sizeof head);
    mlt_status status = mlt_fabric_send(fabric, way->to, packet, bytes, way->pair, why, sizeof why);
    if (status == MLT_OK) {
        way->told = way->taken;
        way->owes = false;
        way->sent += kind != PACKET_CONTROL;
        // A statistic; only whoever has the lock writes.
        atomic_store_explicit(&mlt_tcp_fabric_packets,
                              atomic_load_explicit(&mlt_tcp_fabric_packets, memory_order_relaxed) +
                                  1,
                              memory_order_relaxed);
        return MLT_OK;
    }
    if (status != MLT_PENDING) {
        mlt_fabric_give_back(fabric, packet);
        refuse(way, why);
    }
    return status;
}

static mlt_tube *tube_of(const tcp_pair *pair, uint32_t worker)
{
    tcp_lane *lane = atomic_load_explicit(&pair->lanes[worker], memory_order_acquire);
    return lane ? atomic_load_explicit(&lane->out, memory_order_acquire) : NULL;
}

static void wake_if_starved(tcp_pair *pair, mlt_tube *tube, uint32_t worker)
{
    if (mlt_tube_starves(tube))
        mlt_tcp_wake(pair->house, worker);
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
static void put_rest(tcp_way *way, filling *f)
{
    uint64_t n = way->rest.left < room_in(f) ? way->rest.left : room_in(f);
    put(f, way->rest.data, n);
    way->rest.data += n;
    way->rest.left -= n;
    if (way->rest.left)
        return;
    memset(f->packet + f->at, 0, way->rest.pad);
    f->at += (uint32_t)way->rest.pad;
    mlt_tube_leave(way->rest.tube, way->rest.reference);
    wake_if_starved(way->pair, way->rest.tube, way->rest.worker);
    way->rest.tube = NULL;
}

static void put_long(tcp_way *way, filling *f, mlt_tube *tube, uint32_t worker,
                     const mlt_wire_frame *frame, const mlt_tube_reference *data)
{
    uint32_t head = mlt_wire_frame_data_at(frame);
    way->rest.tube = tube;
    way->rest.worker = worker;
    way->rest.data = data->data;
    way->rest.left = data->bytes;
    way->rest.pad = mlt_wire_frame_pad(data->bytes) - data->bytes;
    put(f, frame, head);
    way->rest.reference = mlt_tube_take(tube, head, true);
    put_rest(way, f);
}

// False: it cannot be read there, so it has to be sent.
static bool put_fetch(tcp_way *way, filling *f, mlt_tube *tube, uint32_t worker,
                      const mlt_wire_frame *frame, const mlt_tube_reference *data)
{
    tcp_exposed *e = &way->exposed[way->exposed_tail % WAY_FETCHES];
    if (mlt_fabric_expose(way->pair->house->fabric, data->data, data->bytes, &e->window) != MLT_OK)
        return false;
    uint32_t head = mlt_wire_frame_data_at(frame);
    mlt_wire_frame_fetch fetch = {.address = e->window.address, .key = e->window.key};
    mlt_wire_frame *copy = (mlt_wire_frame *)(void *)(f->packet + f->at);
    put(f, frame, head);
    copy->kind = MLT_WIRE_FRAME_FETCH;
    put(f, &fetch, sizeof fetch);
    e->tube = tube;
    e->worker = worker;
    e->reference = mlt_tube_take(tube, head, true);
    way->exposed_tail++;
    return true;
}

// The next frame of a lane. False: there is none, or no room for it.
static bool put_frame(tcp_way *way, filling *f, mlt_tube *tube, uint32_t worker)
{
    const mlt_tube_reference *data;
    const mlt_wire_frame *frame = mlt_tube_front(tube, &data);
    if (!frame)
        return false;
    uint64_t head = mlt_wire_frame_data_at(frame);
    uint64_t needs = data ? head + sizeof(mlt_wire_frame_fetch) : mlt_wire_frame_bytes(frame);
    if (needs > room_in(f))
        return false;
    if (!data) {
        put(f, frame, needs);
        (void)mlt_tube_take(tube, needs, false);
    } else if (frame->kind == MLT_WIRE_FRAME_DATA && reads(way)) {
        if (way->exposed_tail - way->exposed_head == WAY_FETCHES) {
            be_blocked(way);
            return false;
        }
        if (!put_fetch(way, f, tube, worker, frame, data)) {
            // Pages that cannot be registered. All that follows is sent: parts of one message must not
            // overtake each other.
            atomic_store_explicit(&way->reads, 0, memory_order_relaxed);
            be_blocked(way);
            return false;
        }
    } else {
        if (way->exposed_tail != way->exposed_head && frame->kind == MLT_WIRE_FRAME_DATA) {
            be_blocked(way); // the parts before are still being read
            return false;
        }
        put_long(way, f, tube, worker, frame, data);
    }
    wake_if_starved(way->pair, tube, worker);
    return !way->rest.tube;
}

static void fill(tcp_way *way, filling *f)
{
    tcp_pair *pair = way->pair;
    uint32_t workers = pair->house->workers;
    if (way->rest.tube)
        put_rest(way, f);
    for (uint32_t k = 0; k < workers && !way->rest.tube; k++) {
        uint32_t worker = (pair->turn + k) % workers;
        mlt_tube *tube = tube_of(pair, worker);
        while (tube && put_frame(way, f, tube, worker)) {
        }
    }
    pair->turn = workers > 1 ? (pair->turn + 1) % workers : 0;
}

static uint32_t under_way(const tcp_way *way)
{
    return way->sent - atomic_load_explicit(&way->confirmed, memory_order_relaxed);
}

static void shorten(tcp_way *way)
{
    unsigned char *at = way->packet + sizeof(tcp_packet);
    mlt_wire_frame frame;
    way->packet_kind = PACKET_FRAMES;
    if (way->packet_bytes != sizeof(tcp_packet) + SHORT_FRAME)
        return;
    memcpy(&frame, at, SHORT_FRAME);
    if (frame.kind != MLT_WIRE_FRAME_MESSAGE || frame.in_slot != SHORT_PAYLOAD || frame.length)
        return;
    memmove(at, at + SHORT_LACKS, SHORT_FRAME - SHORT_LACKS);
    way->packet_kind = PACKET_SHORT;
    way->packet_worker = frame.from;
    way->packet_bytes = SHORT_BYTES;
}

// False: there is none to be sent, or no room.
static bool next_packet(tcp_way *way)
{
    mlt_fabric *fabric = way->pair->house->fabric;
    filling f = {.packet = mlt_fabric_packet(fabric),
                 .at = sizeof(tcp_packet),
                 .most = mlt_fabric_packet_bytes(fabric)};
    if (!f.packet) {
        be_blocked(way);
        return false;
    }
    fill(way, &f);
    if (f.at == sizeof(tcp_packet)) {
        mlt_fabric_give_back(fabric, f.packet);
        return false;
    }
    way->packet = f.packet;
    way->packet_bytes = f.at;
    shorten(way);
    return true;
}

static bool write_packet(tcp_way *way)
{
    if (under_way(way) >= WAY_WINDOW) {
        be_blocked(way);
        return false;
    }
    if (!way->packet && !next_packet(way))
        return false;
    mlt_status status = send_packet(way, way->packet_kind, way->packet, way->packet_bytes);
    if (status == MLT_PENDING)
        be_blocked(way);
    else
        way->packet = NULL;
    return status == MLT_OK;
}

bool mlt_way_write(tcp_pair *pair)
{
    bool any = false;
    enter(pair->house);
    atomic_store_explicit(&pair->blocked, 0, memory_order_relaxed);
    while (write_packet(pair->way))
        any = true;
    leave(pair->house);
    return any;
}

void mlt_way_begin_drop(tcp_pair *pair)
{
    tcp_way *way = pair->way;
    enter(pair->house);
    if (way->packet)
        mlt_fabric_give_back(pair->house->fabric, way->packet);
    way->packet = NULL;
    way->rest.tube = NULL;
    for (; way->exposed_head != way->exposed_tail; way->exposed_head++)
        mlt_fabric_conceal(pair->house->fabric,
                           &way->exposed[way->exposed_head % WAY_FETCHES].window);
}

void mlt_way_end_drop(tcp_pair *pair)
{
    leave(pair->house);
}

// ---- Data that are read

static tcp_fetch *new_fetch(tcp_house *house)
{
    tcp_fetch *fetch = house->spare_fetches;
    if (!fetch)
        return mlt_take(1, sizeof *fetch);
    house->spare_fetches = fetch->next;
    return fetch;
}

// False: later.
static bool begin_fetch(tcp_fetch *fetch)
{
    tcp_way *way = fetch->way;
    char why[WHY_BYTES];
    if (fetch->begun)
        return true;
    mlt_status status =
        mlt_fabric_read(way->pair->house->fabric, way->to, fetch->from.address, fetch->from.key,
                        fetch->land, fetch->head.length, fetch, why, sizeof why);
    fetch->begun = status == MLT_OK;
    if (status == MLT_ERR_SYSTEM) {
        refuse(way, why);
        fetch->begun = true; // and never done
    }
    return fetch->begun;
}

static void queue_fetch(tcp_house *house, tcp_fetch *fetch)
{
    tcp_way *way = fetch->way;
    *way->fetches_end = fetch;
    way->fetches_end = &fetch->next;
    house->mail[mlt_wire_frame_to(&fetch->head)].fetches++;
    if (!begin_fetch(fetch) || fetch->done)
        be_busy(way);
}

void mlt_way_fetch(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame, unsigned char *land)
{
    tcp_way *way = link->pair->way;
    tcp_house *house = me->house;
    uint32_t bytes = mlt_wire_frame_data_at(frame);
    tcp_fetch *fetch = new_fetch(house);
    *fetch = (tcp_fetch){.way = way, .land = land, .begun = !land, .done = !land};
    memcpy(&fetch->head, frame, bytes);
    memcpy(&fetch->from, (const unsigned char *)frame + bytes, sizeof fetch->from);
    fetch->head.kind = MLT_WIRE_FRAME_DATA;
    queue_fetch(house, fetch);
}

bool mlt_way_reads(const tcp_pair *pair)
{
    return mlt_way_is_out(pair) && mlt_way_is_in(pair) && reads(pair->way);
}

// In the order in which they were asked for.
static void finish_fetches(tcp_worker *me, tcp_way *way, const mlt_wire_taker *taker, bool *enough)
{
    tcp_house *house = me->house;
    for (tcp_fetch *fetch; (fetch = way->fetches) && fetch->done;) {
        way->fetches = fetch->next;
        if (!way->fetches)
            way->fetches_end = &way->fetches;
        house->mail[mlt_wire_frame_to(&fetch->head)].fetches--;
        way->fetched++;
        (void)mlt_tcp_deliver(me, &way->link, &fetch->head, taker, enough);
        fetch->next = house->spare_fetches;
        house->spare_fetches = fetch;
    }
    for (tcp_fetch *fetch = way->fetches; fetch && begin_fetch(fetch); fetch = fetch->next) {
    }
}

// The other side has read so many.
static bool were_fetched(tcp_worker *me, tcp_way *way, uint32_t count)
{
    uint32_t n = count - way->exposed_head;
    if (n > way->exposed_tail - way->exposed_head)
        return false;
    for (; n; n--) {
        tcp_exposed *e = &way->exposed[way->exposed_head++ % WAY_FETCHES];
        mlt_fabric_conceal(me->house->fabric, &e->window);
        mlt_tube_leave(e->tube, e->reference);
        wake_if_starved(way->pair, e->tube, e->worker);
        me->wire->received++;
    }
    return true;
}

// ---- HELLO and CONTROL

// False: later, or never.
static bool say_hello(tcp_way *way)
{
    unsigned char *packet = mlt_fabric_packet(way->pair->house->fabric);
    if (!packet)
        return false;
    mlt_status status = send_packet(way, PACKET_HELLO, packet, sizeof(tcp_packet));
    if (status == MLT_PENDING)
        mlt_fabric_give_back(way->pair->house->fabric, packet);
    way->greeted = status == MLT_OK;
    return way->greeted;
}

static bool say_control(tcp_worker *me, tcp_way *way)
{
    unsigned char *packet = mlt_fabric_packet(way->pair->house->fabric);
    tcp_control control = {.fetched = way->fetched};
    if (!packet)
        return false;
    memcpy(packet, &control, sizeof control);
    mlt_status status = send_packet(way, PACKET_CONTROL, packet, sizeof control);
    if (status == MLT_PENDING)
        mlt_fabric_give_back(way->pair->house->fabric, packet);
    if (status != MLT_OK)
        return false;
    me->wire->sent += way->fetched - way->fetched_told;
    way->fetched_told = way->fetched;
    return true;
}

// What comes is of no use. (A pair that is gone may still have packets under way: the mark of a second
// connection may be faster.)
static bool is_lost(const tcp_way *way)
{
    return atomic_load_explicit(&way->pair->lost, memory_order_relaxed) ||
           atomic_load_explicit(&way->link.state, memory_order_relaxed) == TCP_SHUT;
}

static bool has_control(const tcp_way *way)
{
    return way->owes || way->fetched != way->fetched_told;
}

// False: something is left to do.
static bool serve_way(tcp_worker *me, tcp_way *way)
{
    if (way->refused || !way->met)
        return true;
    if (is_lost(way))
        return true;
    if (!way->greeted && !say_hello(way))
        return way->refused;
    if (has_control(way) && !say_control(me, way))
        return is_lost(way);
    return !way->fetches || (way->fetches->begun && !way->fetches->done);
}

static void serve(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    tcp_way *list = me->house->busy_ways;
    me->house->busy_ways = NULL;
    while (list) {
        tcp_way *way = list;
        list = way->next_busy;
        way->busy = false;
        if (taker && way->fetches)
            finish_fetches(me, way, taker, enough);
        if (!serve_way(me, way))
            be_busy(way);
    }
}

// ---- What came

static void take_head(tcp_worker *me, tcp_way *way, const tcp_packet *head,
                      const unsigned char *packet)
{
    uint32_t confirmed = atomic_load_explicit(&way->confirmed, memory_order_relaxed);
    uint32_t taken = confirmed + (uint8_t)(head->taken - confirmed);
    bool sound = taken - confirmed <= way->sent - confirmed;
    if (sound && head->from >> FROM_BITS == PACKET_CONTROL) {
        tcp_control control;
        memcpy(&control, packet, sizeof control);
        sound = were_fetched(me, way, control.fetched);
    }
    if (!sound) {
        mlt_tcp_distrust(&way->link, "it confirms what was not sent");
        return;
    }
    atomic_store_explicit(&way->confirmed, taken, memory_order_relaxed);
    // The way is proven: whoever has something to send switches.
    if (!confirmed && taken)
        be_blocked(way);
    // A provider may complete a long packet after a short one that was sent later, and call that order.
    if (head->from >> FROM_BITS != PACKET_CONTROL && head->number != (uint8_t)way->taken)
        mlt_tcp_lose(way->pair, "the fabric fails: packets come in another order than they were "
                                "sent; variables of libfabric may have changed what it sends at "
                                "once");
}

// The frames before SWITCH are still to be read from the connection. False: not yet.
static bool wait_for_switch(tcp_worker *me, tcp_way *way, const mlt_wire_taker *taker, bool *enough)
{
    for (int i = 0; i < LINKS && taker; i++) {
        tcp_link *link = atomic_load_explicit(&way->pair->links[i], memory_order_acquire);
        if (link && !mlt_way_is_in(way->pair))
            (void)mlt_tcp_read(me, link, taker, enough);
    }
    return mlt_way_is_in(way->pair);
}

// Providers lay packets where they like, and SHORT ones lack something. *end: of the frames.
static unsigned char *laid_out(tcp_house *house, const mlt_fabric_event *event,
                               const tcp_packet *head, uint32_t *end)
{
    bool is_short = head->from >> FROM_BITS == PACKET_SHORT;
    *end = is_short ? event->bytes + SHORT_LACKS : event->bytes;
    if (!is_short && (uintptr_t)event->packet % 8 == 0)
        return event->packet;
    if (!house->aligned)
        house->aligned = mlt_take(1, MLT_FABRIC_PACKET_MOST);
    if (house->held_at)
        return house->aligned;
    if (!is_short) {
        memcpy(house->aligned, event->packet, event->bytes);
        return house->aligned;
    }
    mlt_wire_frame frame = {
        .in_slot = SHORT_PAYLOAD, .kind = MLT_WIRE_FRAME_MESSAGE, .from = head->worker};
    memcpy(&frame.slot, event->packet + sizeof *head, SHORT_FRAME - SHORT_LACKS);
    memcpy(house->aligned + sizeof *head, &frame, SHORT_FRAME);
    return house->aligned;
}

// False: it has to wait.
static bool take_frames(tcp_worker *me, tcp_way *way, const mlt_fabric_event *event,
                        const tcp_packet *head, const mlt_wire_taker *taker, bool *enough)
{
    tcp_link *link = &way->link;
    tcp_house *house = me->house;
    if (!mlt_way_is_in(way->pair) && !wait_for_switch(me, way, taker, enough))
        return false;
    link->room = laid_out(house, event, head, &link->end);
    link->at = house->held_at ? house->held_at : sizeof(tcp_packet);
    bool whole = mlt_tcp_take_packet(me, link, taker, enough);
    house->held_at = whole ? 0 : link->at;
    link->room = NULL;
    if (!whole)
        return false;
    way->taken++;
    bool ended = atomic_load_explicit(&link->state, memory_order_relaxed) != TCP_UP;
    if (ended || way->taken - way->told >= WAY_WINDOW / 2) {
        way->owes = true;
        be_busy(way);
    }
    return true;
}

// Whoever does not know the nonce is no process of the job, or speaks of a pair that is no more: not
// heard. False: it has to wait.
static bool take_event(tcp_worker *me, const mlt_fabric_event *event, const mlt_wire_taker *taker,
                       bool *enough)
{
    tcp_house *house = me->house;
    tcp_packet head;
    if (event->bytes < sizeof head)
        return true;
    memcpy(&head, event->packet, sizeof head);
    uint32_t proc = head.from & ((UINT32_C(1) << FROM_BITS) - 1), kind = head.from >> FROM_BITS;
    tcp_pair *pair = proc < house->job->procs
                         ? atomic_load_explicit(&house->pairs[proc], memory_order_acquire)
                         : NULL;
    tcp_way *way = pair ? pair->way : NULL;
    if (!way || !way->pair || head.nonce != way->own_nonce ||
        (kind == PACKET_CONTROL && event->bytes != sizeof(tcp_control)) ||
        (kind == PACKET_SHORT && event->bytes != SHORT_BYTES))
        return true;
    if (house->held_at == 0 && !is_lost(way))
        take_head(me, way, &head, event->packet);
    if (is_lost(way)) {
        house->held_at = 0;
        return true;
    }
    if (kind == PACKET_FRAMES || kind == PACKET_SHORT)
        return take_frames(me, way, event, &head, taker, enough);
    if (kind == PACKET_HELLO) {
        way->taken++;
        way->owes = true;
        be_busy(way);
    }
    return true;
}

static mlt_fabric_event *held(tcp_house *house, uint32_t i)
{
    return &house->held[(house->held_first + i) % FABRIC_HELD];
}

static void hold(tcp_house *house, const mlt_fabric_event *event)
{
    uint32_t count = held_count(house);
    *held(house, count) = *event;
    atomic_store_explicit(&house->held_count, count + 1, memory_order_relaxed);
}

static void take_held(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    tcp_house *house = me->house;
    while (held_count(house) && !*enough) {
        mlt_fabric_event event = *held(house, 0);
        if (!take_event(me, &event, taker, enough))
            return;
        house->held_first++;
        atomic_store_explicit(&house->held_count, held_count(house) - 1, memory_order_relaxed);
        mlt_fabric_release(house->fabric, &event);
    }
}

static void hear(tcp_house *house, const mlt_fabric_event *event)
{
    tcp_fetch *fetch = event->owner;
    switch (event->kind) {
    case MLT_FABRIC_CAME:
        hold(house, event);
        break;
    case MLT_FABRIC_READ:
        fetch->done = true;
        be_busy(fetch->way);
        break;
    case MLT_FABRIC_FAILED:
        if (event->owner)
            refuse(((tcp_pair *)event->owner)->way, mlt_fabric_error(house->fabric, event->error));
        break;
    case MLT_FABRIC_READ_FAILED:
        refuse(fetch->way, mlt_fabric_error(house->fabric, event->error));
        break;
    }
}

// Those that found no room try again. Without the lock: each takes the pair's first.
static void carry_blocked(tcp_house *house)
{
    enum { MOST = 32 };
    tcp_pair *pairs[MOST];
    uint32_t n = 0;
    enter(house);
    for (tcp_way *way; n < MOST && (way = house->blocked_ways);) {
        house->blocked_ways = way->next_blocked;
        way->blocked = false;
        atomic_store_explicit(&way->pair->blocked, 0, memory_order_relaxed);
        pairs[n++] = way->pair;
    }
    leave(house);
    for (uint32_t i = 0; i < n; i++)
        (void)mlt_tcp_carry(pairs[i]);
}

// What happened is heard, but not taken yet. Returns how much.
static uint32_t gather(tcp_house *house)
{
    mlt_fabric_event events[EVENTS];
    uint32_t n = mlt_fabric_poll(house->fabric, events, EVENTS);
    for (uint32_t i = 0; i < n; i++)
        hear(house, &events[i]);
    return n;
}

bool mlt_way_poll(tcp_worker *me, const mlt_wire_taker *taker, bool *enough)
{
    enum { TURNS = 8 };
    tcp_house *house = me->house;
    if (!try_enter(house))
        return false;
    bool any = held_count(house) != 0;
    take_held(me, taker, enough);
    // Not once more for a rank that has got what it waited for: a poll costs system calls.
    for (uint32_t i = 0; i < TURNS && !*enough && !held_count(house) && gather(house); i++) {
        any = true;
        take_held(me, taker, enough);
    }
    if (house->busy_ways)
        serve(me, taker, enough);
    bool blocked = house->blocked_ways != NULL;
    leave(house);
    if (blocked)
        carry_blocked(house);
    return any;
}

void mlt_way_patrol(tcp_worker *me)
{
    tcp_house *house = me->house;
    if (!try_enter(house))
        return;
    bool any = !held_count(house) && gather(house);
    uint64_t sent = me->wire->sent;
    serve(me, NULL, NULL);
    if (house->complains)
        complain(house);
    bool blocked = house->blocked_ways != NULL;
    leave(house);
    if (blocked)
        carry_blocked(house);
    if (any || sent != me->wire->sent) // a sleeper has told how many it had sent
        mlt_tcp_wake(house, me->index);
}

bool mlt_way_may_sleep(tcp_worker *me)
{
    tcp_house *house = me->house;
    if (!try_enter(house))
        return false;
    bool may = !held_count(house) && mlt_fabric_may_sleep(house->fabric);
    for (const tcp_way *way = house->busy_ways; way && may; way = way->next_busy)
        may = !way->fetches || !way->fetches->done;
    leave(house);
    return may;
}

// ---- The end

void mlt_way_withdraw(tcp_worker *me)
{
    tcp_house *house = me->house;
    uint64_t until = mlt_os_now_ns() + (uint64_t)mlt_tcp_gone_ms * 1000000;
    for (bool some = true; some && mlt_os_now_ns() < until;) {
        bool enough = false;
        (void)mlt_way_poll(me, &mlt_wire_nobody, &enough);
        enter(house);
        some = house->mail[me->index].fetches != 0;
        leave(house);
    }
}

void mlt_way_write_mark(tcp_pair *pair)
{
    tcp_way *way = pair->way;
    if (way->marked || atomic_load_explicit(&pair->gone, memory_order_relaxed))
        return;
    (void)mlt_way_write(pair);
    enter(pair->house);
    mlt_fabric *fabric = pair->house->fabric;
    mlt_wire_frame end = {.kind = MLT_WIRE_FRAME_END, .slot = {.flags = 1}};
    unsigned char *packet = way->packet || way->rest.tube || under_way(way) >= WAY_WINDOW
                                ? NULL
                                : mlt_fabric_packet(fabric);
    if (packet) {
        memcpy(packet + sizeof(tcp_packet), &end, MLT_WIRE_FRAME_HEAD);
        mlt_status status =
            send_packet(way, PACKET_FRAMES, packet, sizeof(tcp_packet) + MLT_WIRE_FRAME_HEAD);
        if (status == MLT_PENDING)
            mlt_fabric_give_back(fabric, packet);
        way->marked = status == MLT_OK;
    }
    leave(pair->house);
}

bool mlt_way_is_settled(const tcp_pair *pair)
{
    const tcp_way *way = pair->way;
    return atomic_load_explicit(&pair->gone, memory_order_relaxed) ||
           (way->marked && under_way(way) == 0);
}
