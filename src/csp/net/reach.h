// SPDX-License-Identifier: BSD-3-Clause
// What a worker keeps for others even if none of its own ranks uses processes: mlt_worker.reach.
#ifndef MLT_CSP_NET_REACH_H
#define MLT_CSP_NET_REACH_H

#include <stdint.h>

#include "base/list.h"
#include "csp/state.h"

typedef struct mlt_reach {
    mlt_link early;               // packets from before its state was made
    struct mlt_names_kept *names; // csp/names/job.c: of the worker that keeps them; NULL: not yet
    uint8_t *met;                 // [workers of the job]: 1: there is a route
} mlt_reach;

// Made at the first call; mlt_route_end frees it.
mlt_reach *mlt_reach_of(mlt_worker *worker);

// Handles the packets that came too early. mlt_net_of calls it once.
void mlt_route_catch_up(mlt_csp *csp);

// Frees the routes within the job. mlt_net_end calls it.
void mlt_routes_end(mlt_csp *csp);

#endif
