// SPDX-License-Identifier: BSD-3-Clause
// A worker: one thread's engine. It holds its ranks, their scheduler, the transports' state and the
// pools.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "base/settings.h"
#include "base/status.h"
#include "boot/ctl.h"
#include "p2p/p2p.h"

typedef struct mlt_worker_counts {
    // Sent: same worker, same process, same host, other host.
    uint64_t messages[MLT_CTL_DISTANCES], bytes[MLT_CTL_DISTANCES];
    uint64_t eager, rendezvous;
    uint64_t wait_ns;
    uint64_t unexpected_peak;
    mlt_ctl_copies copies; // by devices
} mlt_worker_counts;

struct mlt_worker {
    mlt_sched *sched;
    mlt_rank *ranks; // [count]
    uint32_t count;
    int32_t first_rank; // world rank of ranks[0]
    uint32_t index;     // in the job
    uint32_t world_size;
    uint8_t
        watched; // who hears by mlt_upcalls.event what its ranks do: bits of base/event.h; 0: nobody
    bool unsent; // messages to other hosts may wait to be written (mlt_p2p_let_go)
    // Ranks of every worker, if all have the same number; else 0. Once the worker has met another
    // job, the first is 0, so that whoever looks for a rank searches.
    uint32_t ranks_a_worker, uniform;
    uint32_t abroad; // communicators with ranks of other jobs: it may hear from outside of the job
    struct mlt_recorder_head *recorder; // of its calls of MPI (boot/recorder.h)
    struct mlt_wire *wire; // transports to the other workers; NULL if it is the only one
    mlt_boot *boot;
    mlt_pool reqs;
    struct mlt_p2p_state *p2p;         // protocols' own
    uint64_t eager[MLT_CTL_DISTANCES]; // largest eager message, by mlt_distance
    uint64_t peer_hold;                // bytes that one peer may make us hold
    uint64_t order;                    // of posting receives
    uint64_t held;                     // bytes of unexpected messages held
    uint64_t held_limit; // above it, sends from this worker to itself wait for their receive
    mlt_pool messages;   // held messages of at most MLT_MSG_SMALL bytes
    mlt_worker_counts counts;
    bool reads; // large messages between processes are to be read from the sender's memory: the
                // same for all workers of the job, whether the system then lets them or not
    uint32_t living; // ranks that have not ended
    // Operations under way in which all workers take part: where workers share cores, they end as
    // soon as the others have run. Those of them that span hosts, but in which this worker exchanges
    // messages with its own host only: others wait for the network in its place.
    uint32_t together, sheltered;
    mlt_fiber *drainer; // the thread that drains the rank of a worker with a gate
    void *mpi;          // the MPI layer's state of this worker
    void *windows;      // the win layer's: its parts of windows; NULL: none so far
    void *calls;        // the coll layer's: pools of its teams' calls; NULL: none now
    void *rulebook;     // the coll layer's (choose.h): the job's; NULL: none
    void *reach;        // the csp layer's: names of the job, packets that came before its state
};

// Makes the calling thread worker `index` of the job: scheduler, ranks, transports. The ranks'
// fibers are not spawned yet. On failure an error message in why.
mlt_status mlt_worker_new(mlt_boot *boot, uint32_t index, uint32_t process_fibers, mlt_worker **out,
                          char *why, size_t why_size) MLT_MUST_CHECK;

// Runs entry(rank) for each rank of the worker and returns when all have ended. A single rank runs
// on the calling stack.
void mlt_worker_run(mlt_worker *worker, void (*entry)(void *rank));

void mlt_worker_free(mlt_worker *worker);

// From now on several threads may use the worker, each inside its gate: those of its one rank, or the
// library's own.
// Called by the thread that uses it now. False if memory is exhausted.
bool mlt_worker_open_gate(mlt_worker *worker) MLT_MUST_CHECK;

// The same for a worker with several ranks, by delegation (fiber/delegate.h).
bool mlt_worker_open_delegates(mlt_worker *worker) MLT_MUST_CHECK;

// Ends a worker whose rank has ended while threads or processes of it live: frees nothing that they
// may still touch.
void mlt_worker_abandon(mlt_worker *worker);

// From now on, or no longer, mlt_upcalls.event hears on behalf of `who` (MLT_WATCH_TOOLS and the like) what the
// ranks of the calling worker do. With TOOLS, counts.wait_ns is kept.
void mlt_worker_watch(mlt_worker *worker, uint8_t who, bool watched);

// Settings that a worker takes anew while it runs, named by where their values lie
// (&mlt_conf.spin_us): what it works with now; -1: it is none of these, or is not in effect. set: takes
// the value, or the nearest one that it can work with.
int64_t mlt_worker_tuned(const mlt_worker *worker, const void *setting);
void mlt_worker_tune(mlt_worker *worker, const void *setting, int64_t value);

// One look at everything that may have come, by the thread that has the worker. True if there was
// something. Neither runs fibers nor sleeps.
bool mlt_worker_step(mlt_worker *worker);

// The fiber that runs on behalf of that rank now, which is of this worker: its own, that of a
// thread inside the gate, or that of a process that stems from it.
static inline mlt_fiber *mlt_rank_fiber(const mlt_rank *rank)
{
    return rank->worker->sched->current;
}

// Whether a job of several processes that started here would read (what `reads` is then).
bool mlt_p2p_reads_here(void);

// How large messages between processes travel: "read", "chunks", or "chunks: refused" if the system
// refused to let them be read.
const char *mlt_worker_large_kind(const mlt_worker *worker);

// Sends the wait records of all ranks to the launcher, or prints them without one.
void mlt_worker_report(mlt_worker *worker);

// Lets the worker have to do with other jobs (wire/world.h). False: memory is exhausted, or the
// program was started without mpirun.
bool mlt_worker_go_abroad(mlt_worker *worker) MLT_MUST_CHECK;

// The worker of a world rank, or of a rank of another job.
uint32_t mlt_worker_search(const mlt_worker *worker, int32_t world); // in any job

static inline uint32_t mlt_worker_of_rank(const mlt_worker *worker, int32_t world)
{
    if (worker->ranks_a_worker == 1)
        return (uint32_t)world;
    if (worker->ranks_a_worker)
        return (uint32_t)world / worker->ranks_a_worker;
    return mlt_worker_search(worker, world);
}

// The settings of every layer up to p2p, for mlt_settings_read and `millet info`.
extern const mlt_settings_table mlt_p2p_settings[];
extern const size_t mlt_p2p_settings_count;

// The world rank of `peer`, a rank in the communicator of that context as `rank` knows it.
int32_t mlt_worker_world_rank(const mlt_rank *rank, uint32_t context, int32_t peer);

// An operation that a MLT_REQ_OTHER request stands for, for hang reports: an action of a schedule
// (mlt_upcalls.parts).
typedef struct mlt_worker_part {
    const mlt_req *req;
    uint32_t action;
    char label[20]; // its name; "": none
} mlt_worker_part;

enum { MLT_WORKER_PARTS = 16 };
