// SPDX-License-Identifier: BSD-3-Clause
// What a worker keeps for others even if none of its own ranks uses processes: mlt_worker.reach.
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "csp/state.h"

typedef struct mlt_reach {
    mlt_list_node early;          // packets from before its state was made
    struct mlt_names_kept *names; // csp/names/job.c: of the worker that keeps them; NULL: not yet
    uint8_t *met;                 // [workers of the job]: mlt_reach_met
    bool kept;                    // csp/names/job.c: the heir has the names
    mlt_csp *csp;                 // mlt_csp_for_threads; NULL: none
} mlt_reach;

typedef enum mlt_reach_met {
    MLT_MET_NOT,
    MLT_MET,       // there is a route
    MLT_MET_ENDED, // and it has said that it ends, or others have
} mlt_reach_met;

// Made at the first call; mlt_route_end frees it.
mlt_reach *mlt_reach_of(mlt_worker *worker);

// Handles the packets that came too early. mlt_remote_of calls it once.
void mlt_route_catch_up(mlt_csp *csp);

// Asks those beside a worker of another host, to which something was sent, whether it is gone. If it
// is, met[other] becomes MLT_MET_ENDED.
void mlt_route_ask_about(mlt_worker *worker, uint32_t other);

// Frees the routes within the job. mlt_remote_end calls it.
void mlt_routes_end(mlt_csp *csp);
