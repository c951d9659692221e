// SPDX-License-Identifier: BSD-3-Clause
// Intercepted calls of MPI (coll/intercept.h): the surface's detour calls these around a body.
#pragma once

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "coll/intercept.h"
#include "mpi/comm/comm.h"
#include "mpi/trace.h"
#include "p2p/p2p.h"

// Set for good when the first rule book with an interceptor is there; then calls go by the detour.
extern _Atomic bool mlt_interceptors_exist __attribute__((visibility("hidden")));

static inline bool mlt_interceptors_are_there(void)
{
    return atomic_load_explicit(&mlt_interceptors_exist, memory_order_relaxed);
}

typedef struct mlt_intercept_call {
    mlt_intercept_walk walk; // interceptor NULL: there is none
    mlt_intercept_event event;
} mlt_intercept_call;

struct mlt_win;
struct mlt_file;

// Before a call on the communicator, the window or the file, whose arguments are there. May suspend.
mlt_intercept_call mlt_intercept_messages(mlt_rank *me, uint16_t fn, const mlt_comm *comm,
                                          const mlt_trace_call *call);
// gets: it only reads; if walk.at_cache is set then, a cache is to be asked first (win/cached.h).
mlt_intercept_call mlt_intercept_window(mlt_rank *me, uint16_t fn, struct mlt_win *win,
                                        const mlt_trace_call *call, bool gets);
// cached: the body asks the cache then (mlt_file_cached_now).
mlt_intercept_call mlt_intercept_file(mlt_rank *me, uint16_t fn, const struct mlt_file *file,
                                      const mlt_trace_call *call, bool cached);
// A cache on the way did not answer: on to the operation. May suspend.
void mlt_intercept_goes_on(mlt_rank *me, uint16_t fn, mlt_intercept_call *call);
void mlt_intercept_call_ends(mlt_rank *me, const mlt_intercept_call *call); // after it
