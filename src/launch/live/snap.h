// SPDX-License-Identifier: BSD-3-Clause
// A snapshot: what a running job does at one moment. Each host tells its part as bytes, which travel
// as they are: from agents to mpirun (MLT_FRAME_LIVED), and from mpirun to `millet top`.
//
//     part: mlt_live_part | mlt_live_worker[] | mlt_live_proc[] | mlt_live_rank[] | mlt_live_call[]
//           | mlt_live_queue[] | mlt_ctl_path[]
//
// Members are little-endian, as all processors that Millet runs on are. A reader checks everything:
// whoever wrote it may be of another version.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "boot/ctl.h"
#include "boot/live.h"
#include "launch/watch/map.h"

#define MLT_LIVE_PART UINT32_C(0x33504c4d) // "MLP3"

enum { MLT_LIVE_NAME = 40 };

typedef struct mlt_live_part {
    uint32_t magic, host;
    uint32_t workers, procs, ranks, calls, queues, paths; // records that follow
} mlt_live_part;

// What a worker has done so far, and what it does. Numbers that were not read are 0.
typedef struct mlt_live_worker {
    uint32_t worker, proc, host;
    uint32_t first_rank, ranks;
    uint32_t waiting, ended; // of its ranks; the others compute, unless it is `unborn`
    uint8_t unborn;          // it has not joined the job yet
    uint8_t unreadable;      // its memory cannot be read: only the numbers above are known
    uint16_t unused;
    uint64_t messages[MLT_CTL_DISTANCES], bytes[MLT_CTL_DISTANCES]; // sent
    uint64_t eager, rendezvous, switches;
    uint64_t held, held_most; // bytes of messages that no receive has asked for
    mlt_ctl_copies copies;    // by devices
} mlt_live_worker;
_Static_assert(sizeof(mlt_live_worker) == 256, "no holes that would be sent");

typedef struct mlt_live_proc {
    uint32_t proc, host;
    uint64_t pid, memory, cpu_ns; // memory: resident; 0: not known
} mlt_live_proc;

typedef enum mlt_live_doing { MLT_LIVE_COMPUTES, MLT_LIVE_WAITS, MLT_LIVE_ENDED } mlt_live_doing;

// A rank that was looked at: of many, not all are.
typedef struct mlt_live_rank {
    uint32_t rank;
    int32_t peer;                // the world rank that it waits for; -1: several, or not known
    uint16_t call;               // where it waits: the number of the mlt_live_call
    uint8_t doing;               // mlt_live_doing
    uint8_t in_collective;       // 1: it waits in a collective call
    uint32_t unexpected, posted; // messages that wait for a receive, receives for a message
} mlt_live_rank;
_Static_assert(sizeof(mlt_live_rank) == 20, "no holes that would be sent");

typedef struct mlt_live_call {
    char name[MLT_LIVE_NAME]; // with a NUL
} mlt_live_call;

// A queue of a flow program, or a channel with a buffer.
typedef struct mlt_live_queue {
    char name[MLT_LIVE_QUEUE_NAME + 24]; // with a NUL
    uint32_t worker;
    uint32_t held, room;                    // elements
    uint8_t flow, starved, blocked, unused; // of a flow program; a reader waits; a writer does
} mlt_live_queue;
_Static_assert(sizeof(mlt_live_queue) == 80, "no holes that would be sent");

typedef struct mlt_live_snap {
    mlt_live_worker *workers;
    mlt_live_proc *procs;
    mlt_live_rank *ranks;
    mlt_live_call *calls; // of all hosts, each once
    mlt_live_queue *queues;
    uint32_t worker_count, proc_count, rank_count, call_count, queue_count;
    uint32_t worker_room, proc_room, rank_room, call_room, queue_room;
    mlt_path_map map; // what was measured along paths so far
} mlt_live_snap;

// Adds what one host tells. False: it is no part; nothing is added.
bool mlt_live_snap_add(mlt_live_snap *snap, const void *bytes, size_t length) MLT_MUST_CHECK;
// Workers and processes by their numbers, the fullest queues first.
void mlt_live_snap_sort(mlt_live_snap *snap);
void mlt_live_snap_fini(mlt_live_snap *snap); // and it is empty

// The number of the call in the snapshot, which is added if it is new.
uint16_t mlt_live_snap_call(mlt_live_snap *snap, const char *name);

// As a part. The text is the caller's.
void mlt_live_snap_pack(const mlt_live_snap *snap, uint32_t host, mlt_text *out);

// ---- what people ask

typedef struct mlt_live_sum {
    uint64_t unborn, computing, waiting, ended; // ranks
    uint64_t messages[MLT_CTL_DISTANCES], bytes[MLT_CTL_DISTANCES];
    uint64_t eager, rendezvous, switches, held, held_most;
    uint64_t copies[MLT_CTL_COPIES], copy_bytes[MLT_CTL_COPIES]; // by devices
    uint64_t memory, cpu_ns;
    uint64_t unexpected, posted; // of the ranks that were looked at
    uint32_t unreadable;         // workers
} mlt_live_sum;

mlt_live_sum mlt_live_snap_sum(const mlt_live_snap *snap);

extern const char
    *const mlt_live_distances[MLT_CTL_DISTANCES];         // "worker", "process", "host", "far"
extern const char *const mlt_live_copies[MLT_CTL_COPIES]; // "inside", "out", ...

// Ranks that wait in each call, [call_count], the caller's.
uint32_t *mlt_live_snap_calls(const mlt_live_snap *snap);

// A rank for which others wait while it computes.
typedef struct mlt_live_late {
    uint32_t rank, others;
} mlt_live_late;

// The latest ones first, at most `most`. How many there are. Others wait for a rank if its message is
// what they receive, or if most ranks are in a collective call, where it is not.
uint32_t mlt_live_snap_late(const mlt_live_snap *snap, mlt_live_late *out, uint32_t most);

// ---- about the job

typedef struct mlt_live_job {
    uint32_t pid; // of mpirun, as its caller knows it
    uint32_t ranks, workers, procs, hosts;
    uint32_t unused;
    uint64_t age_ms;   // since its start
    char program[104]; // with a NUL
} mlt_live_job;
_Static_assert(sizeof(mlt_live_job) == 136, "no holes that would be sent");
