// SPDX-License-Identifier: BSD-3-Clause
// Ports: queues for messages, and the streams that lead to them.
//
// A rank sends to a port along one stream, whichever of its processes sends. A message counts as its
// length, but as 64 bytes at least and as `room` at most; the stream has `used` of the port's
// room, and a message leaves if it fits into the rest. The receiver gives room back when a message
// was taken, some at a time:
//
//     sender                                   port
//     LOOK(question, node, name or number) --> when there is one:
//                       <--------------------- FOUND(question, {number, room})
//     MESSAGE(port, stream, data) -----------> a process that waits gets it, or it is queued
//                       <--------------------- ROOM(stream, bytes): a quarter of the room was taken
//     WANT(port, stream) --------------------> the sender waits for room:
//                       <--------------------- ROOM, as soon as all that it sent was taken
//     LEAVE(port, stream) -------------------> nobody there sends any more
//                       <--------------------- CLOSED(stream): the port is gone
//
// A message that is longer than the room and than a packet comes as FIRST (its length) and PARTs.
// The room of a PART goes back when it arrives; the last one's stands for the whole message, and
// goes back when that is taken. OFF: the rest will not come.
//
// So a sender that waits gets something when a quarter was taken, and everything when all was:
// then any message fits.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/table.h"
#include "csp/alt.h"
#include "csp/net/route.h"
#include "csp/state.h"

enum { MLT_PORT_MAGIC = 0x706f7274, MLT_TARGET_MAGIC = 0x74726774, MLT_PORT_ROOM = 256 << 10 };

// Those who sent to a port, at the port.
typedef struct mlt_csp_port_sender {
    mlt_list_node node; // in the port
    mlt_route_user user;
    csp_port *port;
    mlt_route *route; // NULL: lost or gone; kept for the messages that it left
    uint32_t stream;
    uint32_t hash; // in port->by_stream
    int32_t rank;  // that sends; -1: not known
    bool wants;
    uint32_t queued;          // messages
    uint64_t untold;          // room that was taken, and not given back yet
    struct message *arriving; // in pieces; NULL: none
    uint64_t arrived;         // bytes of it
} mlt_csp_port_sender;

struct csp_port {
    uint32_t magic;
    uint32_t number; // of the object
    mlt_csp *csp;
    mlt_list_node messages;    // that nobody has taken
    mlt_list_node offers;      // of those who wait
    mlt_csp_port_sender *last; // that a message came from; NULL: none
    mlt_list_node senders;
    mlt_table by_stream;      // the same, by route and stream
    uint64_t room;            // for each sender
    uint64_t held, held_most; // bytes in the queue, now and ever
    int32_t node;             // the rank that made it
    bool named;               // registered under a name
    bool wrapped;             // it has a way (csp/intercept.h)
    bool told;                // a trace knows its name
    mlt_list_node all;        // in csp->ports
    uint64_t id;              // of a port without a name
    char name[256];
};

// What a rank of this worker sends to one port.
typedef struct mlt_csp_stream {
    mlt_list_node node; // in net->streams
    uint32_t hash;      // in net->by_port
    int32_t rank;       // that sends, of this worker
    mlt_route_user user;
    mlt_route *route;
    uint32_t number, port; // objects here, there
    uint32_t targets;      // that use it
    csp_status status;     // CSP_OK, or why nothing can be sent any more
    bool wants;            // the port was told that somebody waits
    int32_t port_rank;     // that has the port; -1: not known
    uint64_t room, used;
    mlt_list_node waiting;     // sends, in order
    struct sending *piecewise; // that sends in pieces; NULL: none
} mlt_csp_stream;

struct csp_target {
    uint32_t magic;
    bool wrapped; // it has a way (csp/intercept.h)
    mlt_csp *csp;
    mlt_csp_stream *stream;
    char name[256]; // for reports
};

// "numbers" or "port 7". Returns text.
const char *mlt_csp_port_name(const csp_port *port, char *text, size_t size);

// Ends the program unless it is a port of this worker.
void mlt_csp_port_check(const mlt_csp *csp, const csp_port *port, const char *call);

// Of port guards. try: if a message is there, takes it into offer->value (guards[index].size bytes of
// room), sets guards[index].size to its length and settles the alternation, with CSP_TOO_LONG if it
// does not fit; else false. wait: puts the offer at the end of the port's queue. A message that comes
// does what try does for the first offer there whose alternation is open, and takes it out; the
// process that waits takes it out if something else was chosen.
bool mlt_csp_port_try(csp_port *port, mlt_offer *offer);
void mlt_csp_port_wait(csp_port *port, mlt_offer *offer);

// mlt_remote_end calls it.
void mlt_csp_ports_end(mlt_csp *csp);
