// SPDX-License-Identifier: BSD-3-Clause
// What the files of the transport over TCP share.
//
//     worker ── queue ──┐                                        ┌── mail ── worker
//     worker ── queue ──┤ whoever can: writev ── TCP ── readv ── whoever can ├── mail ── worker
//     worker ── queue ──┘ for the process pair                   └── mail ── worker
//
// An endpoint is what the workers of a process share. A pair is this process and one of another host;
// it has a link (a connection), or two if both have dialled at the same time: then each side sends
// by the one that it got first, and reads from both. A lane is one worker's part of a pair.
//
// Locks: each link has one for reading, and each pair one for writing. Both are only tried: whoever
// does not get it leaves the work to the holder, who looks once more after it has let go. A process
// with one worker takes messages out of the link's own room, without mail.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "os/jitter.h"
#include "wire/frame.h"
#include "wire/ofi/switchover.h"
#include "wire/tcp/pair.h"

struct iovec;

enum {
    QUEUE_BYTES = 2 * MLT_WIRE_FRAME_LARGEST, // so that the largest frame always finds room in time
    ROOM_BYTES = 32 << 10,                    // read at once, for small messages
    // The same of a link that encrypts, which has buffers of its own: the rest of a frame, and a
    // record.
    CIPHER_ROOM_BYTES = 2 * MLT_WIRE_FRAME_LARGEST,
    FABRIC_NUMBER = 0x7fffffff, // of the fabric's descriptor, among those of links
    WINDOW =
        4 * MLT_WIRE_FRAME_LARGEST, // bytes under way between two workers, if the receiver is one
                                    // of several of its process
};

// A frame that found no room in the mail.
typedef struct tcp_spilled {
    struct tcp_spilled *next;
    _Alignas(8) mlt_wire_frame frame; // and what follows
} tcp_spilled;

struct tcp_lane {
    tcp_pair *pair;
    uint32_t worker; // in this process
    // Out: the worker's.
    _Atomic(mlt_spsc *) out; // NULL: it has never sent
    bool dirty;              // in the worker's list
    struct tcp_lane *next_dirty;
    // In: mail for the worker, if the process has several.
    _Atomic uint32_t queued; // in the worker's mail
    struct tcp_lane *next_mail;
    mlt_spsc *in; // made by the first reader, published by queued
    _Atomic uint32_t spills;
    pthread_mutex_t spill_lock;
    tcp_spilled *spill_first, **spill_last;
    tcp_spilled *taken; // the worker's: out of the list, to be taken before what is in the queue
};

typedef struct tcp_entry { // a worker's part of a link
    tcp_link *link;
    bool listens, writes; // as the worker listens to it
    bool fresh;           // what it has to offer was not sent yet
} tcp_entry;

struct tcp_endpoint {
    tcp_endpoint *next;
    mlt_job *job;
    uint32_t proc, workers, first_worker;
    int ctl;
    // Workers that have not closed, and those that have not ended. One that has not begun counts: a
    // worker that ends before it must not end the process's connections.
    uint32_t holders;
    _Atomic uint32_t living;
    _Atomic uint32_t ends; // processes whose end mark has come
    pthread_mutex_t lock;  // of the lists below, and of the control channel
    tcp_link **links;      // by their numbers; NULL: a number to be used again
    uint32_t link_count, link_room;
    _Atomic(tcp_pair *) *pairs;  // [job->procs]
    tcp_pair *abroad;            // processes of other jobs
    pthread_mutex_t abroad_lock; // of that list; inside of `lock`
    tcp_pair *retired;           // those that have ended, and that some worker may still look at
    ofi_endpoint *fabric;        // NULL: none
    struct tcp_mail {
        _Alignas(64) _Atomic(tcp_lane *) first; // lanes with mail, last one first
        _Atomic(tcp_worker *) worker;           // NULL: not there yet, or no longer
        bool open;                              // it may look at pairs and links
    } mail[];                                   // [workers]
};

// The transport's part of a peer.
typedef struct mlt_tcp_peer {
    mlt_peer *peer;
    tcp_lane *lane;
    uint32_t to; // its number in its process
    _Atomic uint64_t backlog;
    _Atomic uint32_t starves_nobody; // mlt_peer.starved until there is a queue
    // Frames to and from it, if the receiver's process has several workers: bytes that were sent,
    // and those of them that it has consumed; bytes that we have consumed, and have told of.
    uint64_t sent, acknowledged, consumed, told;
    bool owes;
    struct mlt_tcp_peer *next_owing;
} mlt_tcp_peer;

static inline tcp_worker *tcp_of(const mlt_wire *wire)
{
    return wire->far;
}

// endpoint.c
tcp_endpoint *mlt_tcp_enter(mlt_job *job, uint32_t proc, int ctl); // NULL: no memory
void mlt_tcp_leave(tcp_endpoint *endpoint);
tcp_pair *mlt_tcp_pair(tcp_endpoint *endpoint, uint32_t proc); // made when it is first asked for
tcp_lane *mlt_tcp_lane(tcp_pair *pair, uint32_t worker);       // the same
void mlt_tcp_free_pair(tcp_pair *pair);                        // and its links
bool mlt_tcp_take_links(tcp_worker *me);                       // those that have come
void mlt_tcp_heat(tcp_worker *me, uint32_t number);            // that link is looked at from now on
void mlt_tcp_want(tcp_pair *pair);

// retire.c: what ended processes of other jobs leave. With the endpoint's lock.
void mlt_tcp_tidy(tcp_worker *me);
extern tcp_link mlt_tcp_vacant; // of an entry or number that has no link: shut, and of no pair

// out.c
bool mlt_tcp_is_sealed(tcp_pair *pair); // something was taken from a lane, and not written yet
bool mlt_tcp_is_full(int error);        // that errno says: later
ssize_t mlt_tcp_send(tcp_link *link, const struct iovec *pieces, uint32_t count);

// in.c
bool mlt_tcp_take_mail(tcp_worker *me, const mlt_wire_taker *taker, bool *enough);
void mlt_tcp_shut(tcp_link *link); // inside its lock

// tcp.c
bool mlt_tcp_has_no_mail(const tcp_lane *lane);
void mlt_tcp_consumed(tcp_worker *me, mlt_tcp_peer *far, uint64_t bytes);
