// SPDX-License-Identifier: BSD-3-Clause
// What a running worker lets its agent see: where its counts, its ranks and what they wait for lie in
// its memory. The agent reads them there (mlt_os_read_peer), so that being looked at costs a worker
// nothing, and works while its ranks compute.
//
// The worker writes two addresses into its words of the segment (mlt_job_worker): its own, and that
// of this table, which says how things lie. So the agent needs no structure of the library's. What
// it reads may change meanwhile: it is a sample, and each number is checked before it is used.
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "boot/ctl.h"

#define MLT_LIVE_MAGIC UINT64_C(0x324c74656c6c694d) // "MilletL2"

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
    uint16_t copies; // of a worker: mlt_ctl_copies
    uint64_t shown;  // the address of the worker's mlt_live_shown
} mlt_live_layout;

// ---- what layers above show

#define MLT_LIVE_SHEET UINT64_C(0x314574656c6c694d) // "MilletE1"

// What was measured along paths so far (coll/intercept.h, coll/path.h): records that the owner of the sheet
// changes while they are shown.
typedef struct mlt_live_sheet {
    uint64_t magic; // MLT_LIVE_SHEET while it is shown
    struct mlt_live_sheet *next;
    struct mlt_live_sheet **place; // what points here
    const mlt_ctl_path *records;
    uint64_t count;
} mlt_live_sheet;

// Queues: a list of structures that are linked by a mlt_list_node. They are found at offsets, too.
typedef struct mlt_live_queues {
    const mlt_list_node *list; // NULL: none
    uint16_t bytes;            // of one
    uint16_t link;             // mlt_list_node
    uint16_t name;             // char[MLT_LIVE_QUEUE_NAME], "": it has none
    uint16_t number;           // uint64_t
    uint16_t held, room;       // uint32_t: elements; room 0: it is no queue
    uint16_t flow;             // an address, not 0: it is one of a flow program
    uint16_t reads, writes;    // mlt_list_node: who waits at it
    uint16_t unused[3];
} mlt_live_queues;

enum { MLT_LIVE_QUEUE_NAME = 40 };

typedef struct mlt_live_shown { // of a worker
    mlt_live_sheet *sheets;
    mlt_live_queues queues;
} mlt_live_shown;

// Both are the worker's own thread's. shown NULL: nobody can look.
static inline void mlt_live_sheet_show(mlt_live_shown *shown, mlt_live_sheet *sheet,
                                       const mlt_ctl_path *records, uint64_t count)
{
    sheet->records = records;
    sheet->count = count;
    if (!shown || sheet->place)
        return;
    *sheet = (mlt_live_sheet){MLT_LIVE_SHEET, shown->sheets, &shown->sheets, records, count};
    if (sheet->next)
        sheet->next->place = &sheet->next;
    shown->sheets = sheet;
}

static inline void mlt_live_sheet_hide(mlt_live_sheet *sheet)
{
    if (!sheet->place)
        return;
    *sheet->place = sheet->next;
    if (sheet->next)
        sheet->next->place = sheet->place;
    *sheet = (mlt_live_sheet){0};
}
