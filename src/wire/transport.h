// SPDX-License-Identifier: BSD-3-Clause
// A transport to workers of other hosts: a table of functions. (The ring, to workers of this host,
// is none: its calls are inline in wire.h.)
//
// What every transport promises: messages between two workers arrive once and in order, whatever
// other workers of either process do. A sender that finds no room is told so, and told again when
// there is room (mlt_peer.starved). A message wakes a worker that sleeps. Nothing is allocated for a
// message whose receive is posted and has no gaps. All messages are counted: wire->sent when posted,
// wire->received when taken.
//
// All functions are called by the worker's thread and never block, except `end` and `await`.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "wire/frame.h"

typedef struct mlt_wire mlt_wire; // wire.h
typedef struct mlt_peer mlt_peer;
typedef struct mlt_world mlt_world; // world.h

// The user of the wire takes a message, which is valid during the call. False: enough for now. A
// fault of the message goes into *fault, a text: then the sender cannot be trusted.
typedef bool mlt_wire_take(void *arg, mlt_peer *peer, const mlt_wire_frame *frame,
                           const char **fault);

// The user of the wire says where the data of a long message go, of which only the slot has come:
// into so many bytes of memory (*bytes), which stay until the message is taken; what does not fit is
// dropped. NULL: nobody wants them. Then `take` follows when they are there.
typedef unsigned char *mlt_wire_place(void *arg, mlt_peer *peer, const mlt_wire_frame *frame,
                                      uint64_t *bytes, const char **fault);

typedef struct mlt_wire_taker {
    mlt_wire_take *take;
    mlt_wire_place *place;
    void *arg;
} mlt_wire_taker;

// Drops whatever comes.
extern const mlt_wire_taker mlt_wire_nobody;

// How the user of the wire listens: from now on the worker's sleep ends when that descriptor can be
// read from, or also if it can be written to (writes), and mlt_transport.rang is told about
// `number`; or no longer (reads is false). False: the system refuses it.
typedef bool mlt_wire_listen(void *arg, int fd, uint32_t number, bool reads, bool writes);

typedef struct mlt_transport {
    const char *name;

    // A worker begins. ctl: the control channel of its process. Its state is wire->far.
    mlt_status (*open)(mlt_wire *wire, int ctl);
    // It has ended: everything that it posted has left when this returns, or cannot. The last worker
    // of a process ends the connections in order.
    void (*end)(mlt_wire *wire);
    void (*close)(mlt_wire *wire);

    // Fills in the transport's part of a peer of another host.
    mlt_status (*meet)(mlt_wire *wire, mlt_peer *peer);
    void (*forget)(mlt_wire *wire, mlt_peer *peer);
    // Gives back memory for processes of other jobs that have ended and that nobody is connected
    // with. `patrol` does it, too.
    void (*tidy)(mlt_wire *wire);

    // See mlt_wire_reserve, mlt_wire_post.
    mlt_slot *(*reserve)(mlt_wire *wire, mlt_peer *peer, uint32_t in_slot, uint64_t bytes,
                         unsigned char **data);
    void (*post)(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot);

    // Posts data for the memory that the receiver has named: the first bytes of the slot's payload
    // are an mlt_wire_frame_place. Either the data lie in the reserved room, or at `memory`, in the
    // caller's own memory, which must stay until has_left(ticket). False: no room now.
    void (*post_data)(mlt_wire *wire, mlt_peer *peer, mlt_slot *slot);
    bool (*post_memory)(mlt_wire *wire, mlt_peer *peer, mlt_wire_frame_kind kind,
                        const mlt_slot *slot, uint32_t in_slot, const void *memory, uint64_t bytes,
                        uint64_t *ticket);
    bool (*has_left)(const mlt_peer *peer, uint64_t ticket);

    // Whether a message of so many bytes should be posted with data from memory before its receiver
    // has named any (kind: MLT_WIRE_FRAME_LONG, instead of MLT_WIRE_FRAME_DATA).
    bool (*takes_long)(const mlt_peer *peer, uint64_t bytes);

    // Lets everything go that was posted, as far as there is room. True: something has left.
    bool (*push)(mlt_wire *wire);

    // Waits until everything that was posted has a connection to leave by, or never will, or a peer
    // that is silent for so long would be lost. Lets it go.
    void (*await)(mlt_wire *wire);

    // Takes what has come. True: there was something.
    bool (*look)(mlt_wire *wire, const mlt_wire_taker *taker);

    // The peer's process has ended in order, or its connection is lost.
    bool (*is_gone)(const mlt_peer *peer);

    // The peer's process has ended in order, and this worker has taken everything that it has sent.
    bool (*has_ended)(const mlt_peer *peer);

    // Whether that became true of processes since this was asked last, and this worker has taken what they
    // sent to it. That wakes it, as a message does.
    bool (*some_ended)(mlt_wire *wire);

    // Nothing will come from that job any more: all of its processes have ended in order, this one had
    // connections with each, and this worker has taken what came by them.
    bool (*job_has_ended)(mlt_wire *wire, const mlt_world *world);

    // Before a sleep: tells what to listen to. False: there is nothing. After the worker has said
    // that it sleeps: whether something is to do nevertheless. While it listened: what rang. True:
    // the last `look` did not see that.
    bool (*listen)(mlt_wire *wire, mlt_wire_listen *listen, void *arg);
    bool (*ready)(mlt_wire *wire);
    // Something is to do that a sleeper, which began to listen before, does not hear of.
    bool (*has_work)(const mlt_wire *wire);
    bool (*rang)(mlt_wire *wire, uint32_t number);

    // Some connections are not looked at by `look`, but only if they rang.
    bool (*is_cold)(const mlt_wire *wire);

    // Looks for connections whose other side has been silent for too long. For a worker that sleeps,
    // or has nothing to do, about once a second.
    void (*patrol)(mlt_wire *wire);
} mlt_transport;

extern const mlt_transport mlt_tcp;

// A connection whose other side does not answer for so long is lost.
extern int64_t mlt_tcp_gone_ms;

// Whether frames go by a fabric (wire/ofi/fabric.h): tcp, auto, ofi or ofi:PROVIDER.
extern const char *mlt_tcp_fabric;
// 1: also by a provider whose keys to memory can be guessed.
extern int64_t mlt_tcp_fabric_trust;

// Processes of other jobs that this one keeps something for: those that it is connected with, or was
// until they end.
extern _Atomic uint64_t mlt_tcp_abroad;

// Packets that this process has sent by it.
extern _Atomic uint64_t mlt_tcp_fabric_packets;
