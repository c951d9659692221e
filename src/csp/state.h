// SPDX-License-Identifier: BSD-3-Clause
// What a worker keeps for its processes, and how a call finds it. Made by the first call of the
// worker; lives as long as the worker's thread runs ranks. All of it is the worker's own: nothing
// is locked or atomic.
#pragma once

#include <millet/csp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/pool.h"
#include "fiber/fiber.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

struct mlt_proc;   // proc.h
struct mlt_remote; // remote.h
struct mlt_csp_groups;

enum { MLT_CSP_BURIED = 64 };

typedef struct mlt_csp {
    mlt_worker *worker;
    mlt_sched *sched;
    uint32_t chan_magic;    // of this worker's channels: an end is known by it
    struct mlt_proc *procs; // [pool->limit], by fiber id; address space
    mlt_list_node chans;    // all channels (csp_chan.all), for reports
    mlt_list_node barriers; // csp_barrier.all
    mlt_list_node ports;    // csp_port.all
    uint64_t processes;     // started so far
    uint64_t numbers;       // of things without a name
    uint64_t random;        // where a fair alternation begins, if nothing else says
    mlt_pool children;      // csp_child
    void *spare;            // memory for the offers of a large alternation
    size_t spare_bytes;
    struct mlt_remote *net;       // other nodes; NULL until the first call that needs them
    char why[512];                // csp_why
    void *buried[MLT_CSP_BURIED]; // things that were freed last, for checks
    uint32_t buried_next;
    // Of groups of processes (group.h); NULL until the first one.
    struct mlt_csp_groups *groups;
} mlt_csp;

// The calling worker's; NULL before its first call, and on threads that are no workers.
extern _Thread_local mlt_csp *mlt_csp_self __attribute__((tls_model("initial-exec")));

// Makes it: joins the job if the process has not yet (mlt_upcalls.join), and hires a pool. Ends the
// program with a message if that is impossible, or if the calling thread is no rank's own. `call`:
// csp_par, ...
mlt_csp *mlt_csp_begin(const char *call) MLT_COLD;

static inline mlt_csp *mlt_csp_enter(const char *call)
{
    return MLT_LIKELY(mlt_csp_self != NULL) ? mlt_csp_self : mlt_csp_begin(call);
}

// For a rank with MPI_THREAD_MULTIPLE, from inside its gate: a state for names alone, without a pool,
// as its threads may not have processes. mlt_csp_self never is that one.
mlt_csp *mlt_csp_for_threads(mlt_worker *worker);

// A worker's state, of either kind, for whichever thread makes progress; NULL: it has none.
mlt_csp *mlt_csp_of(const mlt_worker *worker);

// Instead of free, for a thing that calls know by its magic number, which is cleared: its memory
// stays for a while, so that a program that uses it by mistake is told.
void mlt_csp_bury(mlt_csp *csp, void *thing);

// Gives the worker's state back, and ends its routes (mlt_route_end); the host layer calls it when
// the ranks of a worker have ended.
void mlt_csp_end(mlt_worker *worker);

// Instead of mlt_csp_end where a process ends the program, and its stack is still in use: others
// are told, nothing else is given back.
void mlt_csp_leave(mlt_worker *worker);

// The rank on whose behalf the calling process runs.
static inline mlt_rank *mlt_csp_rank(void)
{
    return mlt_rank_self();
}

// Ends the job: "rank 3: csp_read: ...".
_Noreturn void mlt_csp_end_job(int32_t rank, const char *message);

// What a thing is called in messages: its name, or "channel 7" if that is "". Returns text.
const char *mlt_csp_name(const char *name, const char *kind, uint64_t number, char *text,
                         size_t size);

// A fault of the program: "csp_read: the end is NULL". Names the process, ends the job.
_Noreturn void mlt_csp_fault(const char *call, const char *format, ...) MLT_COLD MLT_PRINTF(2, 3);

// What csp_why says from now on. why: returns false; refuse: returns the status.
bool mlt_csp_why(mlt_csp *csp, const char *format, ...) MLT_PRINTF(2, 3);
csp_status mlt_csp_refuse(mlt_csp *csp, csp_status status, const char *format, ...)
    MLT_PRINTF(3, 4);
