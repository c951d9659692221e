// SPDX-License-Identifier: BSD-3-Clause
// What a flow program did: how deep the queues of each module's instances were, in slices of the run,
// and how long each instance ran.
#pragma once

#include <stdint.h>

#include "trace/read.h"

enum { MLT_DEPTH_SLICES = 256 };

// The queue of one instance, "work[3].in".
typedef struct mlt_depth {
    const mlt_trace_channel *channel;
    uint64_t depth, since; // what it holds, since when
    uint32_t vector;
} mlt_depth;

// The same queue of all instances, "work.in".
typedef struct mlt_depth_vector {
    char *name;
    uint32_t queues;
    uint64_t room;                   // the most that one of them has
    double slices[MLT_DEPTH_SLICES]; // elements times ns
} mlt_depth_vector;

// An instance of a module.
typedef struct mlt_flow_task_depth {
    uint64_t begin, end, waited; // end 0: nobody said that it had ended
} mlt_flow_task_depth;

typedef struct mlt_depths {
    const mlt_trace *trace;
    mlt_depth *all;
    mlt_depth_vector *vectors;
    uint32_t count, room, vector_count, vector_room;
    uint32_t *place; // [facts.channel_count]: in `all`; UINT32_MAX: it has told nothing yet
    mlt_flow_task_depth *tasks; // [facts.process_count], which are by worker and number
    uint64_t length_ns;
    bool is_life[MLT_TRACE_HOWS];
} mlt_depths;

void mlt_depths_begin(mlt_depths *depths, const mlt_trace *trace);
void mlt_depths_see(mlt_depths *depths, uint32_t worker, const mlt_trace_event *event);
void mlt_depths_end(mlt_depths *depths); // after the last event

// Elements in each of the vector's queues, in the mean of a slice.
double mlt_depth_slice(const mlt_depths *depths, const mlt_depth_vector *vector, int slice);

// Adds what lasted from begin to end to the slices of a run that is so long.
void mlt_depths_spread(double slices[MLT_DEPTH_SLICES], double length_ns, uint64_t begin,
                       uint64_t end, double weight);

// How long an instance ran, or could have: all of its life but its waits.
uint64_t mlt_flow_ran(const mlt_depths *depths, uint32_t task);

// The one of a module ("work") that ran longest, or of all modules (NULL); UINT32_MAX: none is known.
// *mean: of the module's instances; *count: how many.
uint32_t mlt_flow_busiest(const mlt_depths *depths, const char *module, double *mean,
                          uint32_t *count);
