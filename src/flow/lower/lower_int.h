// SPDX-License-Identifier: BSD-3-Clause
// What the files that lower share: lower.c (the whole), wire.c (which edges stay, and between which
// nodes), tree.c (broadcasts), reduce.c (parts of reductions), plan.c (their schedules).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/lower/lower.h"

#define MLT_FLOW_NONE UINT32_MAX

// What becomes a line: an edge, or several in a row with nodes between them that only hand on.
typedef struct mlt_flow_wire {
    uint32_t from, to; // nodes
    uint16_t out, in;
    uint32_t edge; // the last of them
    uint32_t key;  // wires are in the order of this
    uint32_t cap;
    bool by_bytes;
    uint32_t from_task, to_task;
} mlt_flow_wire;

typedef struct mlt_flow_lowerer {
    const mlt_flow_graph *g;
    const mlt_flow_placing *placing;
    const mlt_flow_sites *sites;
    mlt_flow_lowering how;
    mlt_flow_lowered *l;   // tasks and reductions, which grow
    mlt_flow_arena *arena; // of all that goes with the lowerer

    // wire.c. kind: as what a node is lowered; a Reduce of one contributor is a Broadcast. gone: it
    // only hands on, and has no task.
    uint8_t *kind;
    bool *gone, *one_part; // [node_count]; one_part: a Reduce that is not spread
    mlt_flow_wire *wires;
    uint32_t wire_count;
    mlt_flow_index out, in; // by node, in the order of wires

    mlt_flow_line *tree; // lines between tasks of one node
    uint32_t tree_count, tree_room, task_room, reduction_room;
    uint32_t *slot_of;        // [workers] scratch: MLT_FLOW_NONE between uses
    uint32_t *first_place;    // [workers]
    mlt_reduce_to_load *load; // of workers; NULL: not balanced
} mlt_flow_lowerer;

static inline uint32_t mlt_flow_home(const mlt_flow_lowerer *w, uint32_t node)
{
    return mlt_flow_worker_of(w->placing, node);
}

// For qsort.
static inline int mlt_flow_by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

// ---- wire.c

void mlt_flow_wires_make(mlt_flow_lowerer *w);
// The worker where a wire begins, and where it ends, as far as its nodes decide.
uint32_t mlt_flow_wire_from(const mlt_flow_lowerer *w, const mlt_flow_wire *wire);
uint32_t mlt_flow_wire_to(const mlt_flow_lowerer *w, const mlt_flow_wire *wire);

// ---- tree.c

// A new task; its place is that of `near` if that is on the worker, else the worker's first.
uint32_t mlt_flow_task_add(mlt_flow_lowerer *w, uint8_t kind, uint32_t node, uint32_t worker,
                           uint32_t near);

// Relays for the wires out of a node. The tree begins at the task `root`, or, if that is
// MLT_FLOW_NONE, at a relay on `worker` (on another one, if one wire leads in and only one line
// would lead out). Returns the task where wires into the node end.
uint32_t mlt_flow_tree_make(mlt_flow_lowerer *w, uint32_t node, uint32_t root, uint32_t worker);

// ---- reduce.c

void mlt_flow_reduce_make(mlt_flow_lowerer *w, uint32_t node);

// ---- plan.c

// Who takes part in a reduction.
typedef struct mlt_flow_members {
    uint32_t count;
    const uint32_t *worker; // ascending
    const uint8_t *contributes, *receives;
} mlt_flow_members;

// The schedule between members. Its edges are added to the load; load NULL: it is not looked at.
// ordered: only values of neighbours are combined.
mlt_reduce_to_plan mlt_flow_plan_new(const mlt_flow_sites *sites, const mlt_flow_members *members,
                                     mlt_reduce_to_load *load, bool ordered);
