// SPDX-License-Identifier: BSD-3-Clause
// What the files of the switch-over share: the words of packets, and the state of a pair.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "boot/job.h"
#include "os/os.h"
#include "wire/frame.h"
#include "wire/ofi/fabric.h"
#include "wire/ofi/switchover.h"
#include "wire/tcp/pair.h"
#include "wire/tcp/spsc.h"

enum {
    SWITCHOVER_WINDOW = 32,    // packets under way
    SWITCHOVER_FETCHES = 64,   // data that the other side is to read
    SWITCHOVER_CONTROL = 1024, // bytes for the connection
    FABRIC_HELD = 32,          // packets that wait
};

// The head of a packet; so long that with the shortest message it is 64 bytes, which some providers
// send without an operation of their own.
typedef struct ofi_packet {
    uint64_t nonce;
    uint32_t from;   // the sender's process, and above its 24 bits a packet_kind
    uint16_t worker; // SHORT: the frame's `from`
    uint8_t taken;   // packets: the low bits of the count
    uint8_t number;  // of this one, likewise; CONTROL has none
} ofi_packet;
_Static_assert(sizeof(ofi_packet) == 16, "frames that follow are aligned");

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
    SHORT_BYTES = sizeof(ofi_packet) + SHORT_FRAME - SHORT_LACKS,
};
_Static_assert(SWITCHOVER_WINDOW <= UINT8_MAX, "8 bits tell one packet under way from another");
_Static_assert(SHORT_BYTES == 64 && SHORT_LACKS == 8, "so some providers send it by itself");

typedef struct ofi_control { // after the head
    uint32_t fetched;        // count of FETCH that are done
    uint32_t unused;
} ofi_control;

// Data that are read here.
typedef struct ofi_fetch {
    struct ofi_fetch *next;
    ofi_switchover *switchover;
    mlt_wire_frame head;
    mlt_wire_frame_fetch from;
    unsigned char *land;
    bool begun, done;
} ofi_fetch;

// Data that the other side reads.
typedef struct ofi_exposed {
    mlt_spsc *queue;
    uint32_t worker;
    uint64_t reference;
    mlt_fabric_window window;
} ofi_exposed;

struct ofi_switchover {
    ofi_endpoint *ours;
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
    ofi_exposed exposed[SWITCHOVER_FETCHES];
    uint32_t exposed_head, exposed_tail;
    ofi_fetch *fetches, **fetches_end;
    bool busy, blocked; // in the endpoint's list
    ofi_switchover *next_busy, *next_blocked;
    tcp_link link; // what came
};

struct ofi_endpoint {
    tcp_endpoint *endpoint;
    mlt_job *job;
    uint32_t proc, workers;
    int ctl;
    mlt_fabric *fabric;
    const mlt_fabric_facts *facts;
    bool demanded;
    _Atomic uint32_t lock;              // of what follows, and of all pairs' switch-overs
    mlt_fabric_event held[FABRIC_HELD]; // packets that were not taken, oldest first
    uint32_t held_first, held_at;       // where they begin; bytes of the first that were taken
    unsigned char *aligned;             // for a packet that lies at no multiple of 8
    _Atomic uint32_t held_count;
    ofi_switchover *busy;    // with HELLO or CONTROL to be sent
    ofi_switchover *blocked; // that found no room
    ofi_fetch *spare_fetches;
    ofi_switchover *complains; // what was refused is told in a moment; NULL: nothing
    uint64_t complains_ns;     // since then
    char complaint[MLT_FABRIC_WHY];
    pthread_t looker; // polls for sleepers, where the fabric has no descriptor
    bool has_looker;
    _Atomic uint32_t looker_ends;
    uint32_t fetches_of[]; // [workers] reads into their memory that are under way
};

// The lock. Whoever polls only tries it: another one polls for it. Whoever sends waits: the holder
// is done in some microseconds, and a message must not stay behind because somebody else looked at the
// fabric. A handler that is called by a poll may send, so the holder may come in again: mlt_os_foreign
// counts.
static inline bool ofi_try_enter(ofi_endpoint *o)
{
    if (!mlt_os_foreign && !tcp_try_lock(&o->lock))
        return false;
    mlt_os_foreign++;
    return true;
}

void mlt_switchover_lock(ofi_endpoint *o);

static inline void ofi_leave(ofi_endpoint *o)
{
    if (--mlt_os_foreign == 0)
        tcp_unlock(&o->lock);
}

static inline uint32_t ofi_held_count(const ofi_endpoint *o)
{
    return atomic_load_explicit(&o->held_count, memory_order_relaxed);
}

static inline bool ofi_is_out(const ofi_switchover *s)
{
    return atomic_load_explicit(&s->out, memory_order_acquire);
}

// What comes is of no use. (A pair that is gone may still have packets under way: the mark of a second
// connection may be faster.)
static inline bool ofi_is_lost(const ofi_switchover *s)
{
    return atomic_load_explicit(&s->pair->lost, memory_order_relaxed) ||
           atomic_load_explicit(&s->link.state, memory_order_relaxed) == TCP_SHUT;
}

static inline void ofi_wake_if_starved(const ofi_switchover *s, mlt_spsc *queue, uint32_t worker)
{
    if (mlt_spsc_starves(queue))
        mlt_tcp_wake(s->ours->endpoint, worker);
}

// ---- with the lock

// switchover.c. It has HELLO or CONTROL to send; it found no room. The fabric does not do it: the
// connection will, if nothing depends on the fabric yet.
void mlt_switchover_busy(ofi_switchover *s);
void mlt_switchover_blocked(ofi_switchover *s);
void mlt_switchover_refuse(ofi_switchover *s, const char *why) MLT_COLD;
void mlt_switchover_complain(ofi_endpoint *o) MLT_COLD; // of what was refused a while ago

// send.c: HELLO and CONTROL. False: something is left to do.
bool mlt_switchover_serve(tcp_worker *me, ofi_switchover *s);

// receive.c: what happened is heard, but not taken yet. Returns how much.
uint32_t mlt_switchover_gather(ofi_endpoint *o);
