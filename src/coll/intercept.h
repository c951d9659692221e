// SPDX-License-Identifier: BSD-3-Clause
// Interceptors: what stands around operations that are no collective calls: messages of communicators,
// operations on windows and files, channels, ports, groups of processes, queues of flow. Paths (path.h) are the same idea for collective calls, whose ranks meet.
//
//     call --- count --- delay --- function of the user's --- trace --- the operation
//
// The interceptor of an object is the wrappers around it. A rule book names objects by patterns of their
// names and kinds. The first interceptor that fits an object is its own, and an operation passes its
// wrappers, the outermost first. An interceptor of another kind of object needs a line of
// mlt_intercept_kind, and its operations call mlt_intercept_of, mlt_intercept_before and mlt_intercept_after.
//
// An object without one pays nothing: callers look at a flag that they look at anyway (in MPI: whether
// calls go by the detour; of channels: whether one is an ordinary one). A worker has its interceptors for itself; nothing here suspends.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boot/ctl.h"
#include "boot/live.h"

struct mlt_coll_rulebook;
struct mlt_ledger;

typedef enum mlt_intercept_kind {
    MLT_INTERCEPT_MESSAGES,  // point-to-point calls on a communicator
    MLT_INTERCEPT_WINDOW,    // puts, gets and accumulates
    MLT_INTERCEPT_FILE,      // what reads and writes a file of MPI
    MLT_INTERCEPT_CHANNEL,   // reads and writes of processes (millet/csp.h)
    MLT_INTERCEPT_CSP_PORT,  // messages of a csp_port; no MPI port
    MLT_INTERCEPT_CSP_GROUP, // calls on a csp_group
    MLT_INTERCEPT_QUEUE,     // what modules send and take (millet/flow.h)
    MLT_INTERCEPT_KINDS,
} mlt_intercept_kind;
extern const char
    *const mlt_intercept_kind_names[MLT_INTERCEPT_KINDS]; // "messages": as in rule books and maps

// A wrapper of an interceptor.
typedef struct mlt_intercept_wrapper {
    uint8_t kind;      // mlt_coll_wrapper: COUNT, TRACE, DELAY or CACHE; MLT_WRAPPERS: a function
    bool until_unlock; // CACHE: nobody changes what a rank reads before it unlocks
    uint64_t delay_us; // DELAY
    uint64_t room;     // CACHE: bytes that it may take
    int function;      // the rule book's number of it
} mlt_intercept_wrapper;

// A line of a rule book.
typedef struct mlt_intercept_spec {
    uint8_t kind;                          // mlt_intercept_kind
    const char *name;                      // a pattern as of fnmatch
    const mlt_intercept_wrapper *wrappers; // the outermost first
    uint32_t count;
    const char *by; // "my.lua:12"
} mlt_intercept_spec;

// An operation, as a user's function sees it.
typedef struct mlt_intercept_event {
    uint8_t kind;
    const char *name; // of the object
    const char *call; // "MPI_Send"
    int32_t rank;     // of the world
    int32_t peer;     // of the object's ranks; negative: any, or none
    int32_t tag;      // negative: any, or none
    uint64_t bytes;
} mlt_intercept_event;

// What a user's function answers.
typedef struct mlt_intercept_answer {
    uint64_t delay_us; // to wait before the operation
    char line[256];    // for the log; "": none
} mlt_intercept_answer;

// The interceptor of one object, by its name.
typedef struct mlt_interceptor {
    const mlt_intercept_spec *spec; // NULL: none, as mlt_intercept_of remembers
    uint8_t kind;                   // mlt_intercept_kind
    // Its name (object), ranks (0: it has none), wrappers (stack), and what was measured.
    mlt_ctl_path record;
    mlt_live_sheet sheet;
} mlt_interceptor;

typedef struct mlt_interceptors mlt_interceptors; // a worker's

// rule book must stay. NULL if it has no interceptors.
mlt_interceptors *mlt_interceptors_new(struct mlt_coll_rulebook *rulebook,
                                       struct mlt_ledger *ledger);
void mlt_interceptors_report(
    mlt_interceptors *interceptors); // NULL is allowed. Into the ledger, once
void mlt_interceptors_free(mlt_interceptors *interceptors); // NULL is allowed

// Sets, gets the calling thread's interceptors. NULL: none.
void mlt_interceptors_set(mlt_interceptors *interceptors);
mlt_interceptors *mlt_interceptors_current(void);

// A rule matches objects of that name.
bool mlt_intercept_matches(const mlt_interceptors *interceptors, mlt_intercept_kind kind,
                           const char *name);
// The object's interceptor; NULL: none. It stays until mlt_interceptors_free.
mlt_interceptor *mlt_intercept_of(mlt_interceptors *interceptors, mlt_intercept_kind kind,
                                  const char *name, uint32_t ranks);

// An operation that passes.
typedef struct mlt_intercept_walk {
    mlt_interceptor *interceptor;
    uint32_t next;       // wrapper
    bool counts, traces; // it has passed a wrapper that does
    bool can_cache;      // the caller can ask a cache
    bool at_cache;       // it stands at the wrapper before `next`, a cache
    uint64_t since_ns;   // when it passed the first wrapper that counts or traces
} mlt_intercept_walk;

// Runs the wrappers up to the next wait. Returns the nanoseconds to wait before calling again. 0: do the
// operation, or, if walk->at_cache, ask the cache; on a miss call again. A function of the user's that
// fails ends the job with a message.
uint64_t mlt_intercept_before(mlt_interceptors *interceptors, mlt_intercept_walk *walk,
                              const mlt_intercept_event *event);
// The caller has asked the cache at which the walk stands: hit or miss, and how long that took.
void mlt_intercept_cache_asked(const mlt_intercept_walk *walk, bool hit, uint64_t ns);
// After it. Wrappers behind a cache that has answered were not passed.
void mlt_intercept_after(mlt_interceptors *interceptors, const mlt_intercept_walk *walk,
                         const mlt_intercept_event *event);
