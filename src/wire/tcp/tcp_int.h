// SPDX-License-Identifier: BSD-3-Clause
// What the files of the transport over TCP share.
//
//     worker ── queue ──┐                                        ┌── mail ── worker
//     worker ── queue ──┤ whoever can: writev ── TCP ── readv ── whoever can ├── mail ── worker
//     worker ── queue ──┘ for the process pair                   └── mail ── worker
//
// A endpoint is what the workers of a process share. A pair is this process and one of another host;
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
#include "wire/ofi/fabric.h"
#include "wire/tcp/cipher.h"
#include "wire/tcp/spsc.h"
#include "wire/wire.h"

struct iovec;
typedef struct tcp_endpoint tcp_endpoint;
typedef struct tcp_pair tcp_pair;
typedef struct tcp_switchover tcp_switchover; // switchover.h

enum {
    QUEUE_BYTES = 2 * MLT_WIRE_FRAME_LARGEST, // so that the largest frame always finds room in time
    ROOM_BYTES = 32 << 10,                    // read at once, for small messages
    // The same of a link that encrypts, which has buffers of its own: the rest of a frame, and a
    // record.
    CIPHER_ROOM_BYTES = 2 * MLT_WIRE_FRAME_LARGEST,
    LINKS = 2,                  // of a pair
    HOT = 4,                    // links that an awake worker looks at all the time
    FABRIC_HELD = 32,           // packets that wait
    FABRIC_NUMBER = 0x7fffffff, // of the fabric's descriptor, among those of links
    WINDOW =
        4 * MLT_WIRE_FRAME_LARGEST, // bytes under way between two workers, if the receiver is one
                                    // of several of its process
};

typedef enum tcp_state {
    TCP_UP,
    TCP_ENDED, // its end mark has come
    TCP_DEAF,  // and then its end: nothing more is read
    TCP_SHUT,  // closed
} tcp_state;

typedef struct tcp_link {
    tcp_pair *pair;
    uint32_t number; // in endpoint->links
    int fd;
    _Atomic uint32_t state;   // tcp_state
    _Atomic uint32_t reading; // the lock of what follows
    bool heard;               // something has come
    bool stopped;             // frames are left in the room
    bool lands;               // the last frame had data that landed: the next one may, too
    unsigned char *room;      // [room_bytes]
    uint32_t room_bytes;
    uint32_t at, end; // what was read and not taken yet
    // Data on their way into the user's memory.
    bool landing;
    mlt_wire_frame head;
    uint32_t land_worker; // in this process
    unsigned char *land;  // NULL: nobody wants them, or no more of them
    uint64_t land_room;   // so many of them
    uint64_t land_left;
    uint32_t land_pad;
    uint32_t marked;    // bytes of our end mark that were written
    bool finished;      // nothing follows it
    mlt_cipher *cipher; // NULL: it does not encrypt
    bool by_fabric;     // no connection, but the pair's way: what is in the room is a packet
} tcp_link;

// A frame that found no room in the mail.
typedef struct tcp_spilled {
    struct tcp_spilled *next;
    _Alignas(8) mlt_wire_frame frame; // and what follows
} tcp_spilled;

typedef struct tcp_lane {
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
} tcp_lane;

struct tcp_pair {
    tcp_endpoint *endpoint;
    const mlt_world *world; // that it is of; NULL: the own job
    tcp_pair *next;         // of other jobs
    bool *left;    // [endpoint->workers] that have left it; NULL: it is not retired (retire.c)
    bool stays;    // a worker that is about to leave has something left there
    uint32_t proc; // the other one
    uint32_t workers, first_worker;   // of it
    _Atomic(tcp_link *) links[LINKS]; // we send by the first
    _Atomic(tcp_link *) speaks;       // the one by which the other process sends
    _Atomic uint32_t wanted;          // a connection was asked for
    _Atomic uint32_t gone;            // it has ended in order, or is lost: nothing is sent any more
    _Atomic uint32_t ended;           // it has ended in order, and all that it has sent came
    _Atomic uint32_t lost;            // that was told
    _Atomic uint32_t writing;         // the lock of what follows
    _Atomic uint32_t sealed;          // a record of the link is not written to its end
    _Atomic uint32_t blocked;         // the system had no room for more
    bool mute;                        // writing has failed; reading will tell why
    int error;                        // with that errno
    uint32_t turn;                    // the lane that was written last, perhaps to a part
    bool inside;                      // ... so that a frame has to go on
    tcp_switchover *switchover;       // NULL: there is no fabric
    _Atomic(tcp_lane *) lanes[];      // [endpoint->workers]
};

typedef struct tcp_entry { // a worker's part of a link
    tcp_link *link;
    bool listens, writes; // as the worker listens to it
    bool fresh;           // what it has to offer was not sent yet
} tcp_entry;

typedef struct tcp_worker { // wire->far
    mlt_wire *wire;
    tcp_endpoint *endpoint;
    uint32_t index; // in the process
    bool ended;
    uint32_t links_seen, ends_seen;
    tcp_lane *dirty;    // lanes with something to be written
    tcp_lane *busy;     // lanes whose mail was not taken to the end
    tcp_entry *entries; // [entry_count], as endpoint->links
    uint32_t entry_count, entry_room;
    uint32_t entries_taken; // those that are not vacant
    bool new_entries;       // some that the worker does not listen to yet
    bool hears_fabric;      // it listens to the fabric
    uint32_t hot[HOT], hot_count, hot_next;
    struct mlt_tcp_peer *owing; // peers that are to hear of what was consumed
} tcp_worker;

struct tcp_endpoint {
    tcp_endpoint *next;
    mlt_job *job;
    uint32_t proc, workers, first_worker;
    int ctl;
    uint32_t holders;        // workers that have not closed
    _Atomic uint32_t living; // ... that have not ended
    _Atomic uint32_t ends;   // processes whose end mark has come
    pthread_mutex_t lock;    // of the lists below, and of the control channel
    tcp_link **links;        // by their numbers; NULL: a number to be used again
    uint32_t link_count, link_room;
    _Atomic(tcp_pair *) *pairs;  // [job->procs]
    tcp_pair *abroad;            // processes of other jobs
    pthread_mutex_t abroad_lock; // of that list; inside of `lock`
    tcp_pair *retired;           // those that have ended, and that some worker may still look at
    mlt_fabric *fabric;          // NULL: none
    bool fabric_demanded;
    _Atomic uint32_t fabric_lock;       // of what follows, and of all ways
    mlt_fabric_event held[FABRIC_HELD]; // packets that were not taken, oldest first
    uint32_t held_first, held_at;       // where they begin; bytes of the first that were taken
    unsigned char *aligned;             // for a packet that lies at no multiple of 8
    _Atomic uint32_t held_count;
    tcp_switchover *busy_switchovers;    // with HELLO or CONTROL to be sent
    tcp_switchover *blocked_switchovers; // that found no room
    struct tcp_fetch *spare_fetches;
    tcp_switchover *complains; // what was refused is told in a moment; NULL: nothing
    uint64_t complains_ns;     // since then
    char complaint[256];
    pthread_t looker; // polls for sleepers, where the fabric has no descriptor
    bool has_looker;
    _Atomic uint32_t looker_ends;
    struct tcp_mail {
        _Alignas(64) _Atomic(tcp_lane *) first; // lanes with mail, last one first
        _Atomic(tcp_worker *) worker;           // NULL: not there yet, or no longer
        uint32_t fetches;                       // reads into its memory that are under way
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

static inline bool tcp_try_lock(_Atomic uint32_t *lock)
{
    // acquire: pairs with tcp_unlock.
    return atomic_load_explicit(lock, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(lock, 1, memory_order_acquire) == 0;
}

static inline void tcp_unlock(_Atomic uint32_t *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}

static inline tcp_worker *tcp_of(const mlt_wire *wire)
{
    return wire->far;
}

// endpoint.c
tcp_endpoint *mlt_tcp_enter(mlt_job *job, uint32_t proc, int ctl); // NULL: no memory
void mlt_tcp_leave(tcp_endpoint *endpoint);
tcp_pair *mlt_tcp_pair(tcp_endpoint *endpoint, uint32_t proc); // made when it is first asked for
mlt_worlds *mlt_tcp_worlds(tcp_endpoint *endpoint);
tcp_lane *mlt_tcp_lane(tcp_pair *pair, uint32_t worker); // the same
void mlt_tcp_free_pair(tcp_pair *pair);                  // and its links
bool mlt_tcp_take_links(tcp_worker *me);                 // those that have come
void mlt_tcp_heat(tcp_worker *me, uint32_t number);      // that link is looked at from now on
void mlt_tcp_want(tcp_pair *pair);
void mlt_tcp_lose(tcp_pair *pair, const char *why); // tells, once
void mlt_tcp_wake(tcp_endpoint *endpoint, uint32_t worker);

// retire.c: what ended processes of other jobs leave. With the endpoint's lock.
void mlt_tcp_tidy(tcp_worker *me);
extern tcp_link mlt_tcp_vacant; // of a entry or number that has no link: shut, and of no pair

// out.c
bool mlt_tcp_carry(tcp_pair *pair);     // writes what can be written; true: something was
bool mlt_tcp_pending(tcp_pair *pair);   // something is to be written
bool mlt_tcp_is_sealed(tcp_pair *pair); // something was taken from a lane, and not written yet
bool mlt_tcp_is_full(int error);        // that errno says: later
ssize_t mlt_tcp_send(tcp_link *link, const struct iovec *pieces, uint32_t count);

// in.c
bool mlt_tcp_read(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough);
bool mlt_tcp_take_mail(tcp_worker *me, const mlt_wire_taker *taker, bool *enough);
void mlt_tcp_shut(tcp_link *link); // inside its lock
void mlt_tcp_distrust(tcp_link *link, const char *fault);
// A frame for whom it is addressed to. False: the link was shut.
bool mlt_tcp_deliver(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                     const mlt_wire_taker *taker, bool *enough);
// Frames of a packet that is the link's room. False: some are left, because it is enough.
bool mlt_tcp_take_packet(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough);

// tcp.c
bool mlt_tcp_has_no_mail(const tcp_lane *lane);
void mlt_tcp_consumed(tcp_worker *me, mlt_tcp_peer *far, uint64_t bytes);
