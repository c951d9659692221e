// SPDX-License-Identifier: BSD-3-Clause
// Routes: how a worker reaches others, of its job by packets (route.c) and of other programs by
// connections (socket.c), on this host or another. What is said along them is remote.h's and port.h's business.
//
// A route carries packets in order, without loss, until it is lost; it is lost once, and for good:
// what is sent afterwards goes nowhere. There is at most one route to a worker that is not lost.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "csp/net/far.h"
#include "csp/state.h"
#include "p2p/p2p.h"

enum { MLT_ENDPOINT = 104 };

// Where a worker of any program can be reached: on its own host by the abstract name of the socket
// that it listens at, with a 0 at the end ("": it does not listen, and is reached within its job
// only); from other hosts at `far`, if that has a port.
typedef struct mlt_endpoint {
    uint64_t job; // random, of its job
    mlt_far_place far;
    uint32_t worker; // in that job
    char socket[MLT_ENDPOINT - 60];
} mlt_endpoint;
_Static_assert(sizeof(mlt_endpoint) == MLT_ENDPOINT, "it is sent as it is");

typedef struct mlt_route {
    mlt_csp *csp;
    mlt_list_node node; // in the list of all routes
    uint32_t worker;    // of this job; UINT32_MAX: of another program
    bool lost;
    bool ended; // lost, as the other one ended in order
    bool heard; // a packet came
    bool asked; // whether a worker of another host is still there
    mlt_endpoint to;
    char who[96];        // "rank 3", "program ./server (process 1234)": for messages
    void *socket;        // of another program: the connection
    mlt_list_node users; // those that want to hear of its loss: mlt_route_user
    // A long packet that is arriving: `got` bytes of `want`.
    unsigned char *parts;
    uint64_t got, want;
} mlt_route;

// Never suspends. The data, of any length, are copied: what is longer than mlt_route_most goes in
// pieces, and arrives as one.
void mlt_route_send(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes);
uint64_t mlt_route_most(const mlt_route *route);

// The route to a worker of the job; never NULL.
mlt_route *mlt_route_to_worker(mlt_csp *csp, uint32_t worker);

// The route to any endpoint: of the job, or by a connection, which may have to be made first (then
// it waits, as a process; deadline). NULL: *status is CSP_LATE, or another and csp->why tells.
mlt_route *mlt_route_to(mlt_csp *csp, const mlt_endpoint *to, csp_time deadline,
                        csp_status *status);

// This worker's own; makes it listen if it must (listen: for other programs). NULL: csp->why tells.
const mlt_endpoint *mlt_route_own(mlt_csp *csp, bool listen);

// ---- what is told by a route

typedef struct mlt_route_user {
    mlt_list_node node;
    void (*lost)(struct mlt_route_user *user, mlt_route *route);
} mlt_route_user;

// A packet came. Must not suspend.
void mlt_route_arrived(mlt_route *route, const mlt_packet *packet, const void *data,
                       uint64_t bytes);

// The carrier has lost it: `why` is the end of a message ("its program has ended"). Tells all
// users.
void mlt_route_lose(mlt_route *route, const char *why);

// The other one has said that it ends, having told all that it had to tell: what it had has
// retired.
void mlt_route_ends(mlt_route *route);

// What has become of things behind a route that is lost: CSP_RETIRED or CSP_LOST.
static inline csp_status mlt_route_loss(const mlt_route *route)
{
    return route->ended ? CSP_RETIRED : CSP_LOST;
}

// This worker ends in order. Nothing is sent after it.
void mlt_route_say_bye(mlt_route *route);

// The kinds of packets, in ranges: who handles which.
enum {
    MLT_PACKET_ROUTE = 0x001, // route.c
    MLT_PACKET_PORT = 0x100,  // port.c
    MLT_PACKET_CHAN = 0x200,  // chan.c, home.c
    MLT_PACKET_NAMES = 0x300, // csp/names/job.c
    MLT_PACKET_UPPER = 0x400, // mlt_upcalls.flow_packet
    // 0x500: windows (win/packet.h), 0x700: partitions (mpi/p2p/partition.h), 0x800: --strict
    // (mpi/strict.h); they never come here
    MLT_PACKET_RANGE = 0x100,
};

typedef void mlt_route_handler(mlt_route *route, const mlt_packet *packet, const void *data,
                               uint64_t bytes);
extern mlt_route_handler mlt_port_packet, mlt_chan_packet, mlt_names_packet;

// ---- the carrier within a job

// The first packet of a route has left, and its answer is waited for: loses it if the other worker
// has taken its last look. Whom a worker has ever said something to hears of its end.
//
// On this host the segment tells. On another one, the end of its process is told by the transport;
// while that lives, the other workers of the process are asked (route.c).
void mlt_route_check(mlt_route *route);

// mlt_upcalls.processes_ended.
void mlt_route_processes_ended(mlt_worker *worker);

// mlt_upcalls.packet. Packets for a worker whose ranks use no processes (yet) are kept, except those
// about names, which are handled at once.
void mlt_route_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet, const void *data,
                      uint64_t bytes);

// The ranks of a worker have ended: others lose their routes to it. mlt_csp_end and mlt_csp_leave
// call it at their end.
void mlt_route_end(mlt_worker *worker);
