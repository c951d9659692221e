// SPDX-License-Identifier: BSD-3-Clause
// A flow program as it moves with time: for each module and slice of the run, how long its processes waited for room in
// a queue, and for an element.
#pragma once

#include "base/text.h"
#include "tools/trace/depths.h"
#include "trace/read.h"

typedef struct mlt_moves_module {
    const char *name; // of the facts; not ended: it has `length` bytes
    size_t length;
    uint32_t processes;
    double room[MLT_DEPTH_SLICES], element[MLT_DEPTH_SLICES]; // ns, of all its processes
    double life[MLT_DEPTH_SLICES];                            // ... that they were there
} mlt_moves_module;

typedef struct mlt_moves {
    const mlt_trace *trace;
    uint32_t *module_of; // [facts.process_count]
    mlt_moves_module *modules;
    uint32_t count, room;
    double length_ns;
    bool is_room[MLT_TRACE_HOWS], is_element[MLT_TRACE_HOWS], is_life[MLT_TRACE_HOWS];
} mlt_moves;

void mlt_moves_begin(mlt_moves *moves, const mlt_trace *trace);
// An mlt_trace_see: user is the mlt_moves.
void mlt_moves_see(void *moves, uint32_t worker, const mlt_trace_event *event);

// ,"depths":[[queue, room, queues, [elements in each slice, in the mean]], ...]: "work.in" of all instances of work
void mlt_moves_write_depths(const mlt_depths *depths, mlt_text *json);

// ,"moves":[[module, [share of each slice for room, of 100], [... for an element], [... that its processes were there]], ...]
void mlt_moves_write(const mlt_moves *moves, mlt_text *json);
