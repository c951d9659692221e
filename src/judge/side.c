// SPDX-License-Identifier: BSD-3-Clause
#include "judge/side.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"

// Of an action's sources, how many stand at a place up to `at`.
static uint32_t side_sources(const mlt_goal_graph *graph, uint32_t action, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t e = graph->before_at[action]; e < graph->before_at[action + 1]; e++)
        count += graph->place[mlt_goal_plain(graph->before[e])] <= at;
    return count;
}

// A cell is taken when the first source finishes, and free when its action enters the window.
mlt_side mlt_side_of(const mlt_goal_graph *graph, uint32_t window)
{
    mlt_side side = {.window = window};
    bool *taken = mlt_xcalloc(graph->count, sizeof *taken);
    uint32_t now = 0;
    for (uint32_t at = 0; at < graph->count; at++) {
        uint32_t action = graph->order[at];
        now -= taken[action];
        for (uint32_t e = graph->next_at[action]; e < graph->next_at[action + 1]; e++) {
            uint32_t next = mlt_goal_plain(graph->next[e]);
            now += !taken[next];
            taken[next] = true;
        }
        if (at + UINT64_C(1) >= window && now > side.cells) {
            side.cells = now;
            side.at = at;
        }
    }
    free(taken);
    return side;
}

mlt_side_cell *mlt_side_table(const mlt_goal_graph *graph, uint32_t at, uint32_t *count)
{
    mlt_side_cell *table = mlt_xcalloc(graph->count, sizeof *table);
    *count = 0;
    for (uint32_t i = at + 1; i < graph->count; i++) {
        uint32_t sources = side_sources(graph, graph->order[i], at);
        if (sources)
            table[(*count)++] = (mlt_side_cell){graph->order[i], sources};
    }
    return table;
}
