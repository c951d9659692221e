// SPDX-License-Identifier: BSD-3-Clause
// Routes to the workers of other programs: connections, one a pair of workers, of Unix sockets on
// this host and of TCP to others.
//
// A worker that others may reach listens at a socket of the abstract name space, whose random name
// is in its endpoint. Whoever connects and whoever is connected to say who they are and show the
// name server's key (frame.h), over a socket whose other side belongs to the same user, by the
// kernel's word; then packets follow each other. If the name server listens for other hosts, so does
// the worker; there the greeting of src/net proves the key first. All of it runs in the background,
// in small steps on the worker's thread, when its descriptors are ready.
//
// Routes made here are this file's memory, and stay until mlt_socket_end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "csp/net/route.h"
#include "csp/state.h"

// Listens, if the worker does not yet, and puts where into own->socket and own->far. False: csp->why
// tells.
bool mlt_socket_listen(mlt_csp *csp, mlt_endpoint *own);

// The route to a worker of another job, which is connected to first if it must be. Waits, as a
// process. NULL: *status is CSP_LATE, CSP_LOST or CSP_REFUSED, and csp->why tells.
mlt_route *mlt_socket_to(mlt_csp *csp, const mlt_endpoint *to, csp_time deadline,
                         csp_status *status);

// What mlt_route_send and mlt_route_most do for these routes. mlt_route_lose is never called from
// inside of a send.
void mlt_socket_send(mlt_route *route, const mlt_packet *packet, const void *data, uint64_t bytes);
uint64_t mlt_socket_most(void);

// Says that this worker ends and gives what is queued to the kernel, as mlt_socket_end does.
void mlt_socket_flush(mlt_csp *csp);

// Says that this worker ends, gives what is queued to the kernel (waiting for peers that do not
// take it for a short while only), closes everything, frees the routes. Nobody is told of a loss.
void mlt_socket_end(mlt_csp *csp);
