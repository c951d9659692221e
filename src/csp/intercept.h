// SPDX-License-Identifier: BSD-3-Clause
// Intercepted operations of processes (coll/intercept.h): of channels, ports, groups and queues of flow. An
// object learns when it is made whether a rule book has an interceptor for it, and remembers that; so its operations
// pay a branch at most without one.
#pragma once

#include "coll/intercept.h"
#include "csp/state.h"

// True if objects of that name have one.
bool mlt_csp_has_interceptor(mlt_intercept_kind kind, const char *name);

typedef struct mlt_csp_walk {
    mlt_interceptors *interceptors;
    mlt_intercept_walk walk; // interceptor NULL: there is none
    mlt_intercept_event event;
} mlt_csp_walk;

// Before an operation: suspends while wrappers delay it, so the caller then checks again what it is
// about. `event` has call, peer, tag and bytes.
void mlt_csp_intercept_begin(mlt_csp *csp, mlt_csp_walk *walk, mlt_intercept_kind kind,
                             const char *name, uint32_t ranks, mlt_intercept_event event);
// After one that was done.
void mlt_csp_intercept_end(const mlt_csp_walk *walk, uint64_t bytes);
