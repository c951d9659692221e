// SPDX-License-Identifier: BSD-3-Clause
// One rank's dependencies as a graph: neighbours of an action, an order, which comes before which.
// A snapshot: changing the rank's program makes it stale. Duplicate dependencies appear once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/program.h"

typedef struct mlt_goal_graph {
    uint32_t count;               // actions
    uint32_t *next_at, *next;     // actions that depend on a: next[next_at[a] .. next_at[a + 1])
    uint32_t *before_at, *before; // actions that a depends on
    // Neighbours carry MLT_GOAL_STARTED where the dependency is on the start only.
    uint32_t *order; // a topological order, by index among the free ones; NULL: there
                     // is a cycle
    uint32_t *place; // place[order[i]] == i
    uint32_t *cycle; // if there is one: its actions, each requires the next
    uint32_t cycle_count;
    uint64_t *reach;                        // private: bit sets, made on the first mlt_goal_before
    uint32_t *seen[2], *stack[2], searches; // private: of mlt_goal_chain, from a and from b
} mlt_goal_graph;

mlt_goal_graph *mlt_goal_graph_new(const mlt_goal_rank *rank);
void mlt_goal_graph_free(mlt_goal_graph *graph);

// True if a has finished before b can start, in every run. Not for graphs with a cycle. The first
// step of the chain from a must wait for a's end; further ones may wait for a start, for an action
// that has started has seen the end of what it waited for.
bool mlt_goal_before(mlt_goal_graph *graph, uint32_t a, uint32_t b);

// The same by a search each time, which takes no memory that grows faster than the graph. With
// !from_end any chain from a to b counts: b cannot start before a has started. False if a is b.
bool mlt_goal_chain(mlt_goal_graph *graph, uint32_t a, uint32_t b, bool from_end);
