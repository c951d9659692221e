// SPDX-License-Identifier: BSD-3-Clause
// What a process waits for, for reports: mlt_wait.csp of a wait of kind MLT_WAIT_CSP.
#pragma once

#include <stdint.h>

#include "base/event.h"
#include "fiber/wait.h"

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
