// SPDX-License-Identifier: BSD-3-Clause
// The graph as placed (Figure 7 of the paper): tasks, which run as processes, each on one worker,
// and lines between them, which are queues in memory or connections between workers.
//
//     as written                     as placed, two workers
//
//     p[0]─┐                         p[0]──┐                  ┌──p[2]
//     p[1]─┤                         p[1]──┤ r1@0 <=GOAL=> r1@1 ├──p[3]
//     p[2]─┼─> r1 ─> p[0], p[2]      p[0]<─┘                  └─>p[2]
//     p[3]─┘
//
// A Reduce becomes a part on each worker that has contributors or receivers: it combines those of
// its worker, takes part in the reduction's schedule between the workers, and hands the result to
// the receivers of its worker. A Broadcast becomes a relay on each worker concerned; relays are
// joined by lines in a tree. Deal and Collect run at one place, that of their neighbours.
//
// What only hands an element on is left out:
//
//     a Broadcast with one receiver, a Deal or Collect of one, a relay with one line in and one out
//     a Broadcast that follows a Reduce: its receivers are the Reduce's
//     a Reduce of one contributor: it is a Broadcast, and so is the task's kind
//     a part with one contributor or receiver and one edge of the schedule: its line leads to, or
//     comes from, the part on the other worker. So a part may have lines from and to other workers
//
// All ranks compute the same, so a line has one number everywhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/reduce_to.h"
#include "flow/graph/graph.h"
#include "flow/place/place.h"

typedef struct mlt_flow_task {
    uint8_t kind; // mlt_flow_kind
    uint32_t node;
    uint32_t place, worker;
    uint32_t reduction; // of a part: its number; else UINT32_MAX
} mlt_flow_task;

typedef struct mlt_flow_line {
    uint32_t from, to; // tasks
    uint16_t out, in;  // queues of modules; else 0
    uint32_t edge;     // of the graph: one of those that it stems from, for names
    uint32_t cap;      // elements
    bool by_bytes;     // nobody declared the cap: MLT_FLOW_BYTES bounds it, too
} mlt_flow_line;

// A reduction between workers. Its members are the workers that have a part, in order. A member
// contributes if its part has lines in, and receives if it has lines out.
typedef struct mlt_flow_reduction {
    uint32_t node;
    uint32_t members;
    uint32_t *worker;                // [members]
    uint32_t *task;                  // [members] the part
    uint8_t *contributes, *receives; // [members]
    // The edges of its schedule between members 0, 1, ...: per host first, then between hosts by
    // Aspen's algorithm under the load of the reductions before it, then to the receivers of a
    // host. One member has none.
    mlt_reduce_to_plan plan;
    uint32_t rounds; // of the plan: the longest chain of edges
} mlt_flow_reduction;

typedef struct mlt_flow_lowered {
    const mlt_flow_graph *graph;
    const mlt_flow_placing *placing;
    mlt_flow_task *tasks; // modules first, in the order of nodes
    uint32_t task_count;
    mlt_flow_line *lines;
    uint32_t line_count;
    // By task (flow/graph/index.h), in the order of lines: that of the graph's edges, so
    // contributors of a part are in the order of their statement.
    mlt_flow_index out, in;
    mlt_flow_reduction *reductions;
    uint32_t reduction_count;
    uint32_t removed;      // tasks that only handed on
    mlt_flow_arena *arena; // of arrays that do not grow
} mlt_flow_lowered;

typedef struct mlt_flow_lowering {
    bool balance;      // reductions go around each other's load; false: for comparison
    bool reproducible; // every Reduce is one part, on one worker, whatever the job's layout
    bool keep;         // leave nothing out: for drawing Figure 7(a)
} mlt_flow_lowering;

mlt_flow_lowered *mlt_flow_lower(const mlt_flow_graph *graph, const mlt_flow_placing *placing,
                                 const mlt_flow_lowering *how);
void mlt_flow_lowered_free(mlt_flow_lowered *lowered);

// "p[1]", "r1 on worker 0". Returns text.
const char *mlt_flow_task_name(const mlt_flow_lowered *l, uint32_t task, char *text, size_t size);

// Adds to `program` what member `rank` of a reduction does: the plan's edges as GOAL, with the
// buffers of MLT_COLL_REDUCE_TO. Operands of an ordered operation are in the order of members.
void mlt_flow_reduction_emit(const mlt_flow_reduction *reduction, const mlt_coll_shape *shape,
                             mlt_goal_program *program, uint32_t rank);
