// SPDX-License-Identifier: BSD-3-Clause
// What a worker that is watched tells about its ranks (mlt_upcalls.event). A worker that nobody watches
// pays for a look at a flag where something of this happens, and for nothing else.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mlt_fiber;
struct mlt_run;

typedef enum mlt_event_kind {
    MLT_EVENT_SENT,       // a message left: peer is a world rank, how an mlt_distance (wire.h)
    MLT_EVENT_POSTED,     // a receive found no message and waits for one
    MLT_EVENT_RECEIVED,   // a receive and its message met
    MLT_EVENT_UNEXPECTED, // a message came for which no receive waits
    MLT_EVENT_LARGE,      // the data of a large message are fetched: how is an mlt_event_large
    MLT_EVENT_PARKS,      // the rank waits: how is an mlt_wait_kind (fiber/wait.h)
    MLT_EVENT_GOES_ON,    // ... and goes on; waited_ns: for how long
    MLT_EVENT_PLANNED,    // the worker planned a collective operation, of `ranks`: how is an
                          // mlt_collective, algorithm its place in mlt_coll_algs, -1 if it has
                          // none there
    MLT_EVENT_ONE_SIDED,  // an operation on a window: peer is a world rank, how an mlt_distance,
                          // rma_op what it does (MLT_CTL_PUTS and the like, boot/ctl.h)
    MLT_EVENT_PARTITIONED_SEND,    // a partitioned message was started: how is an mlt_distance, and
    MLT_EVENT_PARTITIONED_RECEIVE, // how many partitions it has
    MLT_EVENT_WOKEN,               // the rank, or a process of it, can go on: woken, by
    MLT_EVENT_SLEPT,               // the worker had nothing to do and slept: since
    MLT_EVENT_IDLE,      // none of its fibers could run, whether it slept or looked: since
    MLT_EVENT_POISONED,  // a channel was: csp_process, thing
    MLT_EVENT_CANCELLED, // a message that left was: since is when it had left
    MLT_EVENT_NAMED,     // a channel, queue or port of which more will be told: thing, name,
                         // held: values that it has room for
    MLT_EVENT_DEPTH,     // a queue of a flow program: thing, held
    MLT_EVENT_LIVED,     // a module of a flow program ends: csp_process, since it began
    MLT_EVENT_STARTED,   // a schedule starts, before its first message: run, and the run's number;
                         // how: 1 if numbers come in any order. Only a trace hears of it
    MLT_EVENT_COPIED, // a device has copied bytes: how is MLT_COPY_INSIDE and the like (boot/ctl.h),
                      // since when it was asked to
    MLT_EVENTS,
} mlt_event_kind;

typedef enum mlt_event_large {
    MLT_LARGE_BY_ONE,        // the receiver copies, inside the process
    MLT_LARGE_BY_BOTH,       // sender and receiver copy
    MLT_LARGE_BY_READING,    // the receiver reads the sender's memory
    MLT_LARGE_BY_CHUNKS,     // a pipeline of chunks
    MLT_LARGE_BY_CONNECTION, // from another host
} mlt_event_large;

// What a process of csp waits for (csp/wait.h has what goes with each).
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

// A field that the kind does not mention is what a message has, or 0.
typedef struct mlt_event {
    uint8_t kind; // mlt_event_kind
    uint8_t how;
    bool eager; // SENT: with its data
    union {
        int32_t peer;
        int32_t algorithm; // PLANNED
    };
    union {
        int32_t tag;
        int32_t rma_op;     // ONE_SIDED
        int32_t partitions; // PARTITIONED_SEND, PARTITIONED_RECEIVE
        int32_t ranks;      // PLANNED
        uint32_t number;    // STARTED
    };
    uint32_t context;
    union {
        uint64_t bytes;
        uint64_t waited_ns; // GOES_ON
    };
    uint64_t since; // GOES_ON: mlt_arch_cycles() when it parked. SENT: when it left; 0: now
    // GOES_ON of a wait for something of csp, or for a window: what was waited for.
    uint8_t inner; // 1 and its mlt_csp_wait_kind, or its mlt_ctl_window (boot/ctl.h); 0: none
    bool queue;    // the channel is a queue of a flow program
    uint32_t csp_process; // number of the CSP process; 0: the rank's own fiber
    uint32_t thing;       // the channel's number, the window's, or that of what else it waited for
    uint64_t held;        // values that were in the channel
    union {
        const char *name;    // NAMED
        struct mlt_run *run; // STARTED
    };
    int32_t target,
        holder; // window: whose lock or epoch; who had the lock. World ranks, -1: unknown
    // WOKEN: who can go on, and who let it; NULL: the worker, because something came.
    const struct mlt_fiber *woken, *by;
} mlt_event;
_Static_assert(offsetof(mlt_event, context) == 12 && offsetof(mlt_event, since) == 24,
               "second names take no room");

// Who listens to a worker (mlt_worker.watched), as bits.
enum {
    MLT_WATCH_TOOLS = 1, // hears everything, and counts what was waited
    MLT_WATCH_TRACE = 2, // calls tell for themselves what they did, where that is cheaper
};
