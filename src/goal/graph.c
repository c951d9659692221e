// SPDX-License-Identifier: BSD-3-Clause
// Neighbours in compressed rows; Kahn's order with a heap, so that it is the smallest by index;
// "before" by bit sets of descendants while they fit in memory, else by a search from both sides.
#include "goal/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "goal/heap.h"

enum { REACH_ACTIONS = 16384 }; // n * n / 8 bytes: 32 MiB

// Rows by counting. Duplicates of a row are dropped; of two kinds of one dependency the stronger
// one, on the end, stays.
static void rows(const mlt_goal_rank *rank, bool forward, uint32_t **at_out, uint32_t **to_out)
{
    uint32_t n = rank->count;
    uint32_t *at = mlt_xcalloc((size_t)n + 2, sizeof *at),
             *to = mlt_xcalloc(rank->deps_count, sizeof *to);
    for (uint32_t d = 0; d < rank->deps_count; d++)
        at[(forward ? mlt_goal_plain(rank->deps[d].on) : rank->deps[d].action) + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        at[i] += at[i - 1];
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        mlt_goal_dep dep = rank->deps[d];
        uint32_t started = dep.on & MLT_GOAL_STARTED;
        if (forward)
            to[at[mlt_goal_plain(dep.on) + 1]++] = dep.action | started;
        else
            to[at[dep.action + 1]++] = dep.on;
    }
    // seen[b]: 1 + where b stands in the current row.
    uint32_t *seen = mlt_xcalloc(n, sizeof *seen), kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t begin = at[i], end = at[i + 1], first = kept;
        for (uint32_t e = begin; e < end; e++) {
            uint32_t b = mlt_goal_plain(to[e]);
            if (seen[b] > first && seen[b] <= kept && mlt_goal_plain(to[seen[b] - 1]) == b) {
                to[seen[b] - 1] &= to[e]; // STARTED survives only if both have it
                continue;
            }
            to[kept++] = to[e];
            seen[b] = kept;
        }
        at[i] = first;
    }
    at[n] = kept;
    free(seen);
    *at_out = at;
    *to_out = to;
}

// ---- order: a heap of free actions, smallest index first

// Some cycle: walking from an action that was never free to one that it waits for, until one comes
// again.
static void find_cycle(mlt_goal_graph *graph, const uint32_t *open)
{
    uint32_t n = graph->count, a = 0;
    while (!open[a])
        a++;
    uint32_t *step = mlt_xcalloc(n, sizeof *step), *path = mlt_xcalloc(n, sizeof *path), length = 0;
    while (!step[a]) {
        path[length++] = a;
        step[a] = length;
        uint32_t e = graph->before_at[a];
        while (!open[mlt_goal_plain(graph->before[e])])
            e++;
        a = mlt_goal_plain(graph->before[e]);
    }
    uint32_t first = step[a] - 1;
    graph->cycle_count = length - first;
    graph->cycle = mlt_xcalloc(graph->cycle_count, sizeof *graph->cycle);
    memcpy(graph->cycle, path + first, graph->cycle_count * sizeof *path);
    free(step);
    free(path);
}

static void sort(mlt_goal_graph *graph)
{
    uint32_t n = graph->count, done = 0, free_count = 0;
    uint32_t *open = mlt_xcalloc(n, sizeof *open);
    uint64_t *heap = mlt_xcalloc(n, sizeof *heap);
    graph->order = mlt_xcalloc(n, sizeof *graph->order);
    graph->place = mlt_xcalloc(n, sizeof *graph->place);
    for (uint32_t a = 0; a < n; a++) {
        open[a] = graph->before_at[a + 1] - graph->before_at[a];
        if (!open[a])
            mlt_heap_put(heap, &free_count, a);
    }
    while (free_count) {
        uint32_t a = (uint32_t)mlt_heap_take(heap, &free_count);
        graph->place[a] = done;
        graph->order[done++] = a;
        for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++)
            if (--open[mlt_goal_plain(graph->next[e])] == 0)
                mlt_heap_put(heap, &free_count, mlt_goal_plain(graph->next[e]));
    }
    if (done < n) {
        find_cycle(graph, open);
        free(graph->order);
        free(graph->place);
        graph->order = graph->place = NULL;
    }
    free(open);
    free(heap);
}

mlt_goal_graph *mlt_goal_graph_new(const mlt_goal_rank *rank)
{
    mlt_goal_graph *graph = mlt_xcalloc(1, sizeof *graph);
    graph->count = rank->count;
    rows(rank, true, &graph->next_at, &graph->next);
    rows(rank, false, &graph->before_at, &graph->before);
    sort(graph);
    return graph;
}

void mlt_goal_graph_free(mlt_goal_graph *graph)
{
    if (!graph)
        return;
    free(graph->next_at);
    free(graph->next);
    free(graph->before_at);
    free(graph->before);
    free(graph->order);
    free(graph->place);
    free(graph->cycle);
    free(graph->reach);
    for (int side = 0; side < 2; side++) {
        free(graph->seen[side]);
        free(graph->stack[side]);
    }
    free(graph);
}

// ---- before
//
// reach row a: who starts after a has started, by any chain (a itself among them). Then a is before
// b if some action that waits for a's end is b or reaches it; those rows are combined in the row
// that is kept, so a question is one bit.

static void reach_make(mlt_goal_graph *graph)
{
    uint32_t n = graph->count, words = (n + 63) / 64;
    uint64_t *starts = mlt_xcalloc((size_t)n * words, sizeof *starts);
    graph->reach = mlt_xcalloc((size_t)n * words, sizeof *graph->reach);
    for (uint32_t i = n; i-- > 0;) {
        uint32_t a = graph->order[i];
        uint64_t *row = starts + (size_t)a * words, *ends = graph->reach + (size_t)a * words;
        row[a / 64] |= 1ull << a % 64;
        for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++) {
            const uint64_t *from = starts + (size_t)mlt_goal_plain(graph->next[e]) * words;
            bool end = !(graph->next[e] & MLT_GOAL_STARTED);
            for (uint32_t w = 0; w < words; w++) {
                row[w] |= from[w];
                if (end)
                    ends[w] |= from[w];
            }
        }
    }
    free(starts);
}

// The number of a new search, which marks what it has seen.
static uint32_t search_begin(mlt_goal_graph *graph)
{
    if (graph->searches == UINT32_MAX)
        graph->searches = 0;
    for (int side = 0; side < 2 && !graph->searches; side++) {
        free(graph->seen[side]);
        free(graph->stack[side]);
        graph->seen[side] = mlt_xcalloc(graph->count, sizeof *graph->seen[side]);
        graph->stack[side] = mlt_xcalloc((size_t)graph->count + 1, sizeof *graph->stack[side]);
    }
    return ++graph->searches;
}

// A search from both sides, between the places of a and b in the order. The side that has had less
// to do takes the next step, so it is over when the smaller side is.
bool mlt_goal_chain(mlt_goal_graph *graph, uint32_t a, uint32_t b, bool from_end)
{
    mlt_assert(graph->order != NULL);
    const uint32_t *rows[2] = {graph->next_at, graph->before_at};
    const uint32_t *row[2] = {graph->next, graph->before};
    uint32_t count[2] = {1, 1}, low = graph->place[a], high = graph->place[b];
    uint64_t work[2] = {0, 0};
    if (low >= high)
        return false;
    uint32_t number = search_begin(graph);
    graph->stack[0][0] = a;
    graph->stack[1][0] = b;
    graph->seen[0][a] = graph->seen[1][b] = number;
    while (count[0] && count[1]) {
        uint32_t top[2];
        uint64_t cost[2];
        for (int side = 0; side < 2; side++) {
            top[side] = graph->stack[side][count[side] - 1];
            cost[side] = work[side] + rows[side][top[side] + 1] - rows[side][top[side]] + 1;
        }
        int side = cost[1] < cost[0];
        uint32_t at = top[side];
        work[side] = cost[side];
        count[side]--;
        for (uint32_t e = rows[side][at]; e < rows[side][at + 1]; e++) {
            uint32_t to = mlt_goal_plain(row[side][e]);
            // From a itself only some steps count, whichever side takes them.
            if (from_end && (side ? to == a : at == a) && row[side][e] & MLT_GOAL_STARTED)
                continue;
            if (graph->seen[!side][to] == number)
                return true;
            if (graph->seen[side][to] == number || graph->place[to] <= low ||
                graph->place[to] >= high)
                continue;
            graph->seen[side][to] = number;
            graph->stack[side][count[side]++] = to;
        }
    }
    return false;
}

bool mlt_goal_before(mlt_goal_graph *graph, uint32_t a, uint32_t b)
{
    mlt_assert(graph->order != NULL);
    if (graph->place[a] >= graph->place[b])
        return false;
    if (graph->count > REACH_ACTIONS)
        return mlt_goal_chain(graph, a, b, true);
    if (!graph->reach)
        reach_make(graph);
    uint32_t words = (graph->count + 63) / 64;
    return graph->reach[(size_t)a * words + b / 64] >> b % 64 & 1;
}
