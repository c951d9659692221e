// SPDX-License-Identifier: BSD-3-Clause
// Reads a trace: what chunks there are, what its numbers stand for, the events of a chunk. A file
// that was cut or damaged gives what is whole in it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/chunk.h"
#include "trace/facts.h"

enum { MLT_TRACE_RANKS = 1 << 24 }; // of a run, at most

typedef struct mlt_trace_chunk {
    mlt_trace_head head;
    uint64_t at; // where its data are in the file
} mlt_trace_chunk;

// How the counter of a worker becomes nanoseconds.
typedef struct mlt_trace_clock {
    uint32_t worker;
    mlt_trace_stamp first, last;
} mlt_trace_clock;

typedef struct mlt_trace_place { // of an event
    uint64_t chunk;
    uint32_t event;
} mlt_trace_place;

typedef struct mlt_trace {
    const uint8_t *data;     // the file, mapped
    uint64_t bytes, damaged; // bytes that belong to no chunk
    mlt_trace_chunk *chunks; // of events, as they lie in the file: those of a worker by time
    mlt_trace_clock *clocks; // by worker
    uint64_t count, room, events;
    uint32_t clock_count, clock_room;
    uint32_t kinds;             // bits of those that there may be
    mlt_trace_place *cancelled; // sends, in order: their events have no peer (cancel.h)
    uint64_t cancelled_count;
    uint64_t begin_ns, end_ns; // the times that events have are nanoseconds from begin_ns on
    // Messages between hosts, by align.h: those that both ends tell of; of these, those that seemed to
    // come before they were sent, and by how much at most; the most that a host was moved for them.
    uint64_t crossings, early, early_ns, moved_ns;
    bool crossed; // messages went backwards both ways between hosts, which no move can help
    mlt_trace_facts_table facts;
} mlt_trace;

// On failure a message in `why`: the file cannot be read, or it is no trace.
mlt_status mlt_trace_open(mlt_trace *trace, const char *path, char *why,
                          size_t why_size) MLT_MUST_CHECK;
mlt_status mlt_trace_parse(mlt_trace *trace, const uint8_t *data, size_t bytes, char *why,
                           size_t why_size) MLT_MUST_CHECK;
void mlt_trace_close(mlt_trace *trace); // what mlt_trace_open has opened
void mlt_trace_drop(mlt_trace *trace); // what mlt_trace_parse has parsed; the data are the caller's

// The events of chunk i, with times in nanoseconds from the trace's begin on. `events` has room for
// the chunk's count. False: the data are damaged, or tell of ranks that the run does not have.
bool mlt_trace_load(const mlt_trace *trace, uint64_t i, mlt_trace_event *events) MLT_MUST_CHECK;
