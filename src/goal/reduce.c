// SPDX-License-Identifier: BSD-3-Clause
// A dependency of b on a's end is implied if b waits, by some other way, for an action that a is
// before; one on a's start if b waits for an action that starts after a. What remains of a graph
// without cycles is the least set with the same order, and taking all of them away at once is safe:
// each is implied by ways whose steps are shorter in the order.
#include "goal/reduce.h"

#include <stdlib.h>

#include "base/memory.h"
#include "goal/reach.h"

typedef struct reduction {
    mlt_goal_graph *graph;
    mlt_goal_reach *reach;
    bool exact;     // searches do not give up
    uint32_t *upto; // [chains]: 1 + the last member that comes before one of an action's sources
    uint32_t *stamp, now; // of actions, by searches
    uint32_t *stack;
    uint64_t budget; // of what may still be marked, if not exact
} reduction;

static inline bool by_end(uint32_t on)
{
    return !(on & MLT_GOAL_STARTED);
}

// Members of chains know who comes after them, and after their end unless someone waits for their
// start only.
static bool known(const mlt_goal_reach *reach, uint32_t on)
{
    uint32_t a = mlt_goal_plain(on);
    return reach->chain[a] != MLT_GOAL_NONE && !(by_end(on) && reach->mixed[a]);
}

static bool implied(reduction *x, uint32_t b, uint32_t on)
{
    const mlt_goal_graph *graph = x->graph;
    uint32_t a = mlt_goal_plain(on);
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++) {
        uint32_t way = mlt_goal_plain(graph->before[e]);
        if (way == a)
            continue;
        if (by_end(on) ? mlt_goal_reach_before(x->reach, a, way)
                       : mlt_goal_reach_starts(x->reach, a, way))
            return true;
        if (x->exact && !known(x->reach, on) && mlt_goal_chain(x->graph, a, way, by_end(on)))
            return true;
    }
    return false;
}

// ---- the same for an action that waits for many

// If all that it waits for are members of chains: what comes before any of them, one look at each.
static bool look_at_chains(reduction *x, uint32_t b)
{
    const mlt_goal_graph *graph = x->graph;
    const mlt_goal_reach *reach = x->reach;
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++)
        if (!known(reach, graph->before[e]))
            return false;
    for (uint32_t c = 0; c < reach->chains; c++)
        x->upto[c] = 0;
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++) {
        uint32_t a = mlt_goal_plain(graph->before[e]), own = reach->chain[a];
        const uint32_t *row = reach->seen_to + (size_t)a * reach->chains;
        for (uint32_t c = 0; c < reach->chains; c++) {
            uint32_t seen = row[c] - (c == own); // itself it does not come before
            x->upto[c] = seen > x->upto[c] ? seen : x->upto[c];
        }
    }
    return true;
}

// Else all that comes before any of those is marked, in one search that stops where the first of
// them stands in the order. False: it gave up.
static bool mark(reduction *x, uint32_t b)
{
    const mlt_goal_graph *graph = x->graph;
    uint32_t count = 0, limit = UINT32_MAX;
    x->now += 2; // now: comes before one of them; now - 1: is one of them
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++) {
        uint32_t a = mlt_goal_plain(graph->before[e]);
        limit = graph->place[a] < limit ? graph->place[a] : limit;
        x->stamp[a] = x->now - 1;
        x->stack[count++] = a;
    }
    while (count) {
        uint32_t a = x->stack[--count];
        uint64_t edges = graph->before_at[a + 1] - graph->before_at[a];
        if (!x->exact && x->budget < edges)
            return false;
        x->budget -= x->exact ? 0 : edges;
        for (uint32_t e = graph->before_at[a]; e < graph->before_at[a + 1]; e++) {
            uint32_t to = mlt_goal_plain(graph->before[e]);
            if (graph->place[to] < limit || x->stamp[to] == x->now)
                continue;
            if (x->stamp[to] != x->now - 1) // else it is on the stack, or was
                x->stack[count++] = to;
            x->stamp[to] = x->now;
        }
    }
    return true;
}

static bool implied_by_marks(const reduction *x, uint32_t on)
{
    const mlt_goal_graph *graph = x->graph;
    uint32_t a = mlt_goal_plain(on);
    if (x->stamp[a] != x->now || !by_end(on))
        return x->stamp[a] == x->now;
    for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++) {
        uint32_t to = graph->next[e];
        if (by_end(to) && x->stamp[to] >= x->now - 1)
            return true;
    }
    return false;
}

// ----

enum { MANY = 32, VISITS = 1 << 28 }; // a second or so

// Those dependencies of b that are needed; how many have been kept in all.
static uint32_t keep_needed(reduction *x, mlt_goal_rank *rank, uint32_t b, uint32_t kept)
{
    const mlt_goal_graph *graph = x->graph;
    uint32_t begin = graph->before_at[b], end = graph->before_at[b + 1];
    bool many = end - begin > MANY, chains = many && look_at_chains(x, b);
    bool marked = many && !chains && mark(x, b);
    for (uint32_t e = begin; e < end; e++) {
        uint32_t on = graph->before[e], a = mlt_goal_plain(on);
        bool drop = chains   ? x->upto[x->reach->chain[a]] > x->reach->pos[a]
                    : marked ? implied_by_marks(x, on)
                             : !many && implied(x, b, on);
        if (!drop)
            rank->deps[kept++] = (mlt_goal_dep){b, on};
    }
    return kept;
}

uint64_t mlt_goal_reduce(mlt_goal_rank *rank, bool exact)
{
    if (!rank->deps_count)
        return 0;
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    uint32_t had = rank->deps_count, kept = 0;
    if (!graph->order) { // the caller that needs an order reports the cycle
        mlt_goal_graph_free(graph);
        return 0;
    }
    reduction x = {.graph = graph, .exact = exact, .budget = VISITS};
    x.reach = mlt_goal_reach_new(graph);
    x.upto = mlt_xcalloc(x.reach->chains, sizeof *x.upto);
    x.stamp = mlt_xcalloc(rank->count, sizeof *x.stamp);
    x.stack = mlt_xcalloc(rank->count, sizeof *x.stack);
    for (uint32_t b = 0; b < rank->count; b++)
        kept = keep_needed(&x, rank, b, kept);
    rank->deps_count = kept;
    free(x.upto);
    free(x.stamp);
    free(x.stack);
    mlt_goal_reach_free(x.reach);
    mlt_goal_graph_free(graph);
    return had - kept;
}
