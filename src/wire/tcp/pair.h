// SPDX-License-Identifier: BSD-3-Clause
// A pair: this process and one of another host, its links, and a worker's view of them. This is what
// the fabric (wire/ofi) sees of the transport over TCP; tcp_int.h has the rest.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"
#include "wire/tcp/cipher.h"
#include "wire/tcp/spsc.h"
#include "wire/wire.h"

typedef struct tcp_endpoint tcp_endpoint; // tcp_int.h
typedef struct tcp_lane tcp_lane;
typedef struct tcp_pair tcp_pair;
typedef struct ofi_endpoint ofi_endpoint; // ofi/switchover.h
typedef struct ofi_switchover ofi_switchover;

enum {
    LINKS = 2, // of a pair
    HOT = 4,   // links that an awake worker looks at all the time
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
    ofi_switchover *switchover;       // NULL: there is no fabric
    _Atomic(tcp_lane *) lanes[];      // [endpoint->workers]
};

typedef struct tcp_worker { // wire->far
    mlt_wire *wire;
    tcp_endpoint *endpoint;
    ofi_endpoint *fabric; // the endpoint's; NULL: none
    uint32_t index;       // in the process
    bool ended;
    uint32_t links_seen, ends_seen;
    tcp_lane *dirty;           // lanes with something to be written
    tcp_lane *busy;            // lanes whose mail was not taken to the end
    struct tcp_entry *entries; // [entry_count], as endpoint->links
    uint32_t entry_count, entry_room;
    uint32_t entries_taken; // those that are not vacant
    bool new_entries;       // some that the worker does not listen to yet
    bool hears_fabric;      // it listens to the fabric
    uint32_t hot[HOT], hot_count, hot_next;
    struct mlt_tcp_peer *owing; // peers that are to hear of what was consumed
} tcp_worker;

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

// endpoint.c
tcp_pair *mlt_tcp_find_pair(tcp_endpoint *endpoint, uint32_t proc); // NULL: nobody has asked for it
void mlt_tcp_lose(tcp_pair *pair, const char *why);                 // tells, once
void mlt_tcp_wake(tcp_endpoint *endpoint, uint32_t worker);

// out.c
mlt_spsc *mlt_tcp_queue(const tcp_pair *pair, uint32_t worker); // NULL: the worker has sent nothing
bool mlt_tcp_carry(tcp_pair *pair); // writes what can be written; true: something was

// in.c
bool mlt_tcp_read(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough);
void mlt_tcp_distrust(tcp_link *link, const char *fault);
// A frame for whom it is addressed to. False: the link was shut.
bool mlt_tcp_deliver(tcp_worker *me, tcp_link *link, const mlt_wire_frame *frame,
                     const mlt_wire_taker *taker, bool *enough);
// Frames of a packet that is the link's room. False: some are left, because it is enough.
bool mlt_tcp_take_packet(tcp_worker *me, tcp_link *link, const mlt_wire_taker *taker, bool *enough);
