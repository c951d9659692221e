// SPDX-License-Identifier: BSD-3-Clause
// Which actions of a rank come before which, in little memory even for long programs.
//
// An answer that is true is exact. A false one may also mean that looking further would have taken
// too long, so nothing follows from it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/graph.h"

typedef struct mlt_goal_reach {
    const mlt_goal_graph *graph;
    uint32_t chains;              // of the table
    uint32_t *chain, *pos;        // of an action: its chain (or NONE) and place in it
    uint32_t *seen_to;            // [action * chains + chain]: 1 + the last one that comes before
    bool *mixed;                  // some action waits for its start only
    uint32_t *stamp, now, *stack; // of a search
} mlt_goal_reach;

// The graph has no cycle and outlives it.
mlt_goal_reach *mlt_goal_reach_new(const mlt_goal_graph *graph);
void mlt_goal_reach_free(mlt_goal_reach *reach);
bool mlt_goal_reach_starts(mlt_goal_reach *reach, uint32_t a,
                           uint32_t b); // a == b, or a starts first
bool mlt_goal_reach_before(mlt_goal_reach *reach, uint32_t a, uint32_t b); // a ends before b starts
