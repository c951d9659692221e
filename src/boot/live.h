// SPDX-License-Identifier: BSD-3-Clause
// What a running worker lets its agent see: where its counts, its ranks and what they wait for lie in
// its memory. The agent reads them there (mlt_os_read_peer), so that being looked at costs a worker
// nothing, and works while its ranks compute.
//
// The worker writes two addresses into its words of the segment (mlt_job_worker): its own, and that
// of this table, which says how things lie. So the agent needs no structure of the library's. What
// it reads may change meanwhile: it is a sample, and each number is checked before it is used.
#ifndef MLT_BOOT_LIVE_H
#define MLT_BOOT_LIVE_H

#include <stdint.h>

#define MLT_LIVE_MAGIC UINT64_C(0x314c74656c6c694d) // "MilletL1"

enum { MLT_LIVE_MOST_BYTES = 1024 }; // of each structure

typedef struct mlt_live_layout {
    uint64_t magic;
    uint16_t worker_bytes, sched_bytes, rank_bytes, fiber_bytes, wait_bytes;
    // Of a worker: addresses; uint64_t[MLT_CTL_DISTANCES] by distance; uint64_t.
    uint16_t sched, ranks, messages, sizes, eager, rendezvous, held, held_most;
    // Of a scheduler: uint64_t; uint32_t.
    uint16_t switches, runnable;
    // Of a rank: an address; bool; uint32_t: messages that wait for a receive, and receives for one.
    uint16_t fiber, ended, unexpected, posted;
    // Of a fiber: the address of what it waits for, 0: nothing.
    uint16_t wait;
    // Of that: the address of the call's name; mlt_wait_kind; uint32_t; int32_t.
    uint16_t call, kind, context, peer;
} mlt_live_layout;

#endif
