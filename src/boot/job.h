// SPDX-License-Identifier: BSD-3-Clause
// The job's shared segment: who is in the job, and the memory that its workers share on this host.
//
// mpirun makes it as a memfd, and its processes inherit the descriptor: nothing has a name, so
// nothing is left behind after any crash. A program that was started alone makes one for itself. It
// holds only offsets and fixed-width fields; every process maps it at an address of its own.
//
//     mlt_job | mlt_job_proc[] | mlt_job_location[] | mlt_job_worker[] | news bitmaps | rings
//             | chunk pools | claims | said | board | recorders
//
// A job over several hosts has a segment on each. Processes, workers and ranks have the same numbers
// on all of them, and the first three parts describe the whole job. The others are there for the
// workers of this host only.
//
// The first three are the head, on pages of its own. A process that has attached (its pid is in its
// mlt_job_proc) can only read it (mlt_job_protect_head), so that a stray pointer of one rank cannot
// break the other ranks. The program of a rank may do worse on purpose: mpirun works with its own
// copy of the head (mlt_job_own_head), takes from its plan which rank is where, and trusts no word of
// the rest. Nobody can change the segment's size.
//
// Rings and pools are laid out here (sizes and offsets) and used by src/wire. Pages that nobody
// touches cost nothing, so a ring for every ordered pair of workers is affordable.
//
// Claims are call signatures: what workers call collectively, four words for each code of 16 bits
// (coll/callsig.h). One word of messages that were printed once for the whole job follows
// (mlt_job_said; p2p/kind.h), then the board of changes from outside (mlt_job_board). The last are the
// flight recorders, one a worker, and the names of functions (recorder.h).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define MLT_JOB_MAGIC UINT64_C(0x314a74656c6c694d) // "MilletJ1"

enum {
    MLT_JOB_VERSION = 14,       // of the segment, and of the records of the control channel (ctl.h)
    MLT_JOB_MAX_WORKERS = 4096, // of a host
    MLT_JOB_MAX_ALL_WORKERS = 1 << 20, // of all hosts
    MLT_SLOT_BYTES = 64,
    MLT_JOB_CPUS = 896, // processors beyond these are no worker's own
    MLT_JOB_CALLSIGS = 1 << 16,
    MLT_JOB_CALLSIG_WORDS = 4,
    MLT_LINE = 128, // two lines: processors that fetch pairs of lines must not couple neighbours
};

typedef struct mlt_job {
    _Alignas(MLT_LINE) uint64_t magic;
    uint32_t version;
    uint32_t hosts, host;                // of the job; this one
    uint32_t procs, workers, ranks;      // of the whole job; ranks: size of MPI_COMM_WORLD
    uint32_t local_procs, local_workers; // those of this host
    uint32_t cores;                      // cores of this host that the job may use
    uint32_t launched;                   // 1: mpirun made it; 0: a program started alone
    uint32_t launcher;                   // its process
    uint32_t readable; // 1: the processes may read each other's memory, as far as it can tell
    uint64_t bytes;    // of the whole segment
    // Offsets.
    uint64_t procs_at, places_at, workers_at, news_at, rings_at, pools_at, callsigs_at;
    uint64_t said_at, board_at, recorders_at;
    uint32_t news_words;             // 64-bit words in one worker's news bitmap
    uint32_t ring_slots, ring_data;  // slots (power of two) and data bytes (power of two) of a ring
    uint32_t chunks, chunk_bytes;    // of a worker's pool for large messages
    uint64_t ring_bytes, pool_bytes; // distances between neighbours
    uint64_t started_ns;             // monotonic clock when mpirun started
    uint64_t identity;               // random: no other job has it; the same on all hosts
    uint64_t memory;                 // bytes that were left when the job was made; 0: not known
    uint32_t profile;                // 1: --report: time calls and count bytes
    // 1: a worker that stops polling, before it sleeps, calls membarrier (mlt_os_barrier), so senders
    // need no fence. Worth it unless workers sleep all the time, as they do when there are more of
    // them than cores.
    uint32_t membarrier;
    // 1: workers stay where they are, on a host of several NUMA nodes; each asks for its rings, which
    // it reads, and for its chunks at its own node (mlt_wire_new).
    uint32_t numa_local;
} mlt_job;

typedef struct mlt_job_proc {
    uint32_t first_worker, workers;
    uint32_t first_rank, ranks;
    uint32_t app; // MPI_APPNUM
    uint32_t host;
    _Atomic uint32_t pid; // taken by the first process that attaches, 0 before and on other hosts
} mlt_job_proc;

// A worker, on whichever host.
typedef struct mlt_job_location {
    uint32_t first_rank, ranks;
    uint32_t proc;
    uint32_t local; // its number among the workers of its host
} mlt_job_location;

typedef enum mlt_job_worker_state {
    MLT_WORKER_AWAKE,
    MLT_WORKER_ASLEEP,     // every rank of it is parked in MPI or has ended; waits on the futex
    MLT_WORKER_ENDED,      // every rank of it has ended
    MLT_WORKER_UNBORN = 3, // not attached yet (the initial value that mpirun writes)
    MLT_WORKER_LISTENS, // as ASLEEP, but it waits for descriptors: its doorbell wakes it (doorbell.h)
    MLT_WORKER_ROUSED, // was ASLEEP; somebody is about to wake its futex
    MLT_WORKER_RUNG,   // was LISTENS; somebody is about to ring its doorbell
} mlt_job_worker_state;

// The word `state` of a worker is its state, and above it the number of the nap, one more at each:
// a waker that comes late cannot take a later nap for its own. ENDED and UNBORN have no nap number: they
// may be compared without the mask.
enum { MLT_NAP_STATE = 0xff, MLT_NAP = MLT_NAP_STATE + 1 };

typedef struct mlt_job_worker {
    // Written by mpirun before the start.
    _Alignas(MLT_LINE) uint32_t pinned; // 1: its thread runs on `cpus` only
    uint64_t cpus[MLT_JOB_CPUS / 64];   // some of those of its process
    // Written by the owner, read by senders before they wake it and by mpirun. `sent` and
    // `received` count messages to other workers; they and `epoch` (one more at each wake) are current while
    // asleep. If in two looks all workers of the job are asleep or ended with the same epochs, and
    // the sums of sent and received agree, then nothing is in flight and no rank can ever go on: a
    // proven deadlock (if any worker is asleep, and none of them wakes itself).
    _Alignas(MLT_LINE) _Atomic uint32_t state; // the futex; see MLT_NAP
    _Atomic uint32_t epoch;
    _Atomic uint64_t sent, received;
    _Atomic uint32_t blocked; // ranks parked in MPI
    // mpirun asks for a hang report by raising the first and waking the worker (mlt_job_ask_waits). The
    // other is the request that was answered last.
    _Atomic uint32_t report_wanted, reported;
    // 1: something that is no message may wake it: a thread of its rank outside of MPI, which may call,
    // time, a descriptor, another job. Such a worker is never quiet. Changed while asleep, by the
    // sleeper.
    _Atomic uint32_t wakes_itself;
    _Atomic uint32_t thread;   // its thread's id; 0: not known
    _Atomic uint64_t doorbell; // the name of its doorbell (doorbell.h); 0: it has none
    // 1: it has read its last packet of csp; later ones get no answer (mlt_route_end).
    _Atomic uint32_t csp_ended;
    // Where it lies in its process's memory, and what tells how (live.h); 0: there is nothing to see.
    _Atomic uint64_t live, layout;
    _Atomic uint32_t rules_seen; // the last one of mlt_job_board that its ranks know of
    // Written by senders.
    _Alignas(MLT_LINE) _Atomic uint32_t news; // nonzero: some bit of the news bitmap is set
    // Written by mpirun: connections that it has put into the control channel of the worker's
    // process (ctl.h).
    _Atomic uint32_t links;
} mlt_job_worker;

// What mpirun decides, to lay a segment out. Ranks are numbered in blocks, worker by worker.
typedef struct mlt_job_plan {
    uint32_t procs;
    const uint32_t *workers_of_proc; // [procs]
    const uint32_t *ranks_a_worker;  // [procs]: ranks of each worker of that process
    const uint32_t *larger_of_proc;  // [procs]: so many of its first workers have one more; NULL: 0
    const uint32_t *app_of_proc;     // [procs]
    const uint32_t *host_of_proc;    // [procs]; NULL: all are on one host
    uint32_t hosts, host;            // if there are several: how many, and which is this one
    uint64_t identity;               // the same on all hosts; 0: a new one
    uint32_t cores;                  // of this host
    bool launched, profile;
    bool numa_local; // mlt_job.numa_local
} mlt_job_plan;

// Makes a segment: a memfd if plan->launched (descriptor in *fd, close-on-exec, the caller's),
// otherwise private memory. On failure a message in why.
mlt_status mlt_job_new(const mlt_job_plan *plan, mlt_job **out, int *fd, char *why,
                       size_t why_size) MLT_MUST_CHECK;

// Maps the segment of an inherited descriptor and checks magic, version and size. On failure a
// message in why.
mlt_status mlt_job_open(int fd, mlt_job **out, char *why, size_t why_size) MLT_MUST_CHECK;
void mlt_job_close(mlt_job *job);

// A process that has attached (its pid is in its mlt_job_proc): it will not write into the head any more.
mlt_status mlt_job_protect_head(mlt_job *job) MLT_MUST_CHECK;

// mpirun, when the segment is complete: its head becomes a copy that no rank can reach.
mlt_status mlt_job_own_head(mlt_job *job) MLT_MUST_CHECK;

static inline mlt_job_proc *mlt_job_proc_at(mlt_job *job, uint32_t i)
{
    return (mlt_job_proc *)((char *)job + job->procs_at) + i;
}

static inline mlt_job_location *mlt_job_location_at(mlt_job *job, uint32_t worker)
{
    return (mlt_job_location *)((char *)job + job->places_at) + worker;
}

static inline uint32_t mlt_job_host_of(mlt_job *job, uint32_t worker)
{
    return mlt_job_proc_at(job, mlt_job_location_at(job, worker)->proc)->host;
}

// True if the worker is on this host.
static inline bool mlt_job_is_here(mlt_job *job, uint32_t worker)
{
    return job->hosts == 1 || mlt_job_host_of(job, worker) == job->host;
}

// By its number among the workers of this host.
static inline mlt_job_worker *mlt_job_local_at(mlt_job *job, uint32_t local)
{
    return (mlt_job_worker *)((char *)job + job->workers_at) + local;
}

// Of this host only.
static inline mlt_job_worker *mlt_job_worker_at(mlt_job *job, uint32_t worker)
{
    return mlt_job_local_at(job, mlt_job_location_at(job, worker)->local);
}

// The bitmap of worker `local`. Bit i: worker i of this host has put something into its ring to it.
static inline _Atomic uint64_t *mlt_job_news_at(mlt_job *job, uint32_t local)
{
    return (_Atomic uint64_t *)((char *)job + job->news_at) + (size_t)local * job->news_words;
}

static inline _Atomic uint64_t *mlt_job_callsig_at(mlt_job *job, uint16_t code)
{
    return (_Atomic uint64_t *)((char *)job + job->callsigs_at) +
           (size_t)code * MLT_JOB_CALLSIG_WORDS;
}

// A bit for each message that was printed once for the whole job.
static inline _Atomic uint64_t *mlt_job_said(mlt_job *job)
{
    return (_Atomic uint64_t *)((char *)job + job->said_at);
}

// Changes of paths from outside (mpi/coll/outside.h). mpirun writes the number and the file of the
// last change, and asks the workers to look; ranks write when their communicators take it.
enum { MLT_JOB_RULES_PATH = 4096, MLT_JOB_RULE_FILES = 4, MLT_JOB_BOARD_ENTRIES = 1024 };

typedef struct mlt_board_entry {
    _Atomic uint64_t key; // mlt_board_key, or MLT_BOARD_KNOWN and the like (board.h); 0: free
    // Of a communicator: the change, and in the lower half a call: the first after it takes it.
    _Atomic uint64_t word;
} mlt_board_entry;

typedef struct mlt_job_board {
    _Alignas(MLT_LINE) _Atomic uint32_t rules_wanted; // the last change; 0: none so far
    // `millet trace JOB start|stop`: how often, times 2, and 1: workers shall trace. 0: never so far.
    _Atomic uint32_t trace;
    // 0: processes that wait for a debugger (MILLET_HELD) stay; 1: they go on.
    _Atomic uint32_t debug_gate;
    // Of the last changes, by number; "": the job's own rules.
    char rule_files[MLT_JOB_RULE_FILES][MLT_JOB_RULES_PATH];
    mlt_board_entry slots[MLT_JOB_BOARD_ENTRIES];
} mlt_job_board;

static inline mlt_job_board *mlt_job_board_at(mlt_job *job)
{
    return (mlt_job_board *)((char *)job + job->board_at);
}

// mpirun: the job's ranks shall take the rules of that file. Returns the number of the change. The
// file's name is shorter than MLT_JOB_RULES_PATH.
uint32_t mlt_job_want_rules(mlt_job *job, const char *file);

// A process that a debugger wants to see waits at the gate until mpirun opens it.
void mlt_job_debug_gate_wait(mlt_job *job);
void mlt_job_debug_gate_open(mlt_job *job);

// mpirun: workers that have a trace shall write it from now on, or pause (mlt_mpi_trace_look).
void mlt_job_want_trace(mlt_job *job, bool on);

// What the worker does. A load that is stronger than relaxed is the caller's fence.
static inline mlt_job_worker_state mlt_job_state_of(const mlt_job_worker *worker)
{
    uint32_t word = atomic_load_explicit(&worker->state, memory_order_relaxed);
    return (mlt_job_worker_state)(word & MLT_NAP_STATE);
}

// Wakes a sleeping worker; cheap if it is awake. May be called by anyone in the job. If another
// waker has claimed the sleeper but was held up before it woke it, this one wakes it as well.
void mlt_job_wake(mlt_job_worker *worker);

// mpirun: asks every worker of this host for its wait records (they come as MLT_CTL_WAITS).
void mlt_job_ask_waits(mlt_job *job);

// mpirun: a connection waits in the control channel of that process of this host.
void mlt_job_link_came(mlt_job *job, uint32_t proc);

typedef struct mlt_job_observation {
    bool quiet;         // every worker has ended, or is asleep and does not wake itself
    uint32_t asleep;    // workers that are asleep; none: nothing is wrong
    uint64_t epochs;    // sum of epochs
    uint64_t in_flight; // sent minus received
    uint32_t ended;     // workers that have ended; what was sent to them stays in flight for ever
} mlt_job_observation;

// mpirun: one look at all workers of this host. The looks at all hosts are added up. Two equal quiet
// ones with somebody asleep and nothing in flight prove a deadlock, if the second begins after the
// first has ended on all hosts.
mlt_job_observation mlt_job_observe(mlt_job *job);
