// SPDX-License-Identifier: BSD-3-Clause
// What this layer lacks until it is written: there are no other programs, and no groups.
#include <stdio.h>

#include "csp/names.h"
#include "csp/route.h"
#include "csp/wire_socket.h"

#define PENDING __attribute__((weak))

PENDING mlt_route *mlt_socket_to(mlt_csp *csp, const mlt_endpoint *to, csp_time deadline,
                                 csp_status *status)
{
    snprintf(csp->why, sizeof csp->why, "other programs cannot be reached yet");
    *status = CSP_REFUSED;
    return NULL;
}

PENDING void mlt_socket_send(mlt_route *route, const mlt_packet *packet, const void *data,
                             uint64_t bytes)
{
}

PENDING uint64_t mlt_socket_most(void)
{
    return UINT64_MAX;
}

PENDING bool mlt_socket_listen(mlt_csp *csp, mlt_endpoint *own)
{
    snprintf(csp->why, sizeof csp->why, "other programs cannot be reached yet");
    return false;
}

PENDING void mlt_socket_end(mlt_csp *csp)
{
}

PENDING const mlt_names_ops *mlt_names_of(mlt_csp *csp)
{
    return &mlt_names_job;
}

PENDING void mlt_names_leave(mlt_csp *csp)
{
}

PENDING void mlt_group_packet(mlt_route *route, const mlt_packet *packet, const void *data,
                              uint64_t bytes)
{
    mlt_route_lose(route, "it sent a packet that nobody understands");
}
