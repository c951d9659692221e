// SPDX-License-Identifier: BSD-3-Clause
// What a process waits for, for reports: mlt_wait.csp of a wait of kind MLT_WAIT_CSP.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fiber/wait.h"

typedef enum mlt_csp_wait_kind {
    MLT_CSP_READ,    // what: csp_chan
    MLT_CSP_WRITE,   // what: csp_chan
    MLT_CSP_ALT,     // what: mlt_alt, with all its offers
    MLT_CSP_SYNC,    // what: csp_barrier
    MLT_CSP_PAR,     // number: processes that still run
    MLT_CSP_JOIN,    // what: csp_child
    MLT_CSP_SLEEP,   // number: until when
    MLT_CSP_FD,      // number: the descriptor; writes if what is not NULL
    MLT_CSP_RECEIVE, // what: csp_port
    MLT_CSP_SEND,    // what: csp_target: no room at the port
    MLT_CSP_NAME,    // what: const char *, looked for
    MLT_CSP_REMOTE,  // what: csp_chan: an answer of the channel's worker
    MLT_CSP_GROUP,   // what: csp_group
    MLT_CSP_UPPER,   // what: const char *, of the layer above: "waits for room in queue q[1].in"
} mlt_csp_wait_kind;

typedef struct mlt_csp_wait {
    mlt_wait wait; // call, kind and csp are filled in
    mlt_csp_wait_kind kind;
    const void *what;
    uint64_t number;
} mlt_csp_wait;

// For mlt_fiber_park.
static inline const mlt_wait *mlt_csp_wait_for(mlt_csp_wait *w, const char *call,
                                               mlt_csp_wait_kind kind, const void *what,
                                               uint64_t number)
{
    w->wait.call = call;
    w->wait.kind = MLT_WAIT_CSP;
    w->wait.csp = w;
    w->kind = kind;
    w->what = what;
    w->number = number;
    return &w->wait;
}
