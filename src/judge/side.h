// SPDX-License-Identifier: BSD-3-Clause
// The side table of a window that slides (Theorem 3 of the paper): a cell for each action that is
// behind the window and waits for one that has finished. It holds how many of those have.
//
// Actions enter the window in the order of the program, as far as dependencies allow. What is
// counted suffices for every run: an executor may count all that ends in its window before it moves
// it. So the table is that of a window's last action, with all actions up to there finished, and
// the most of them that a window of so many actions can have.
#pragma once

#include <stdint.h>

#include "goal/graph.h"

typedef struct mlt_side_cell {
    uint32_t action, sources; // sources of the action that have finished
} mlt_side_cell;

typedef struct mlt_side {
    uint32_t window;
    uint32_t cells, at; // the most, and by place in the graph's order where the window ends then
} mlt_side;

// window: at least 1. Not for graphs with a cycle.
mlt_side mlt_side_of(const mlt_goal_graph *graph, uint32_t window);

// The table when all up to place `at` of the graph's order have finished: in the order in which the
// actions will enter the window. The caller frees it.
mlt_side_cell *mlt_side_table(const mlt_goal_graph *graph, uint32_t at, uint32_t *count);
