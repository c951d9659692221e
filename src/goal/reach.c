// SPDX-License-Identifier: BSD-3-Clause
// Which action comes before which. Actions are laid in chains, each a path of the graph; for the
// longest of them every action knows the last member that starts before it, so questions about
// members are one look. Others are answered by a search that ends at members of chains, at the
// order, and at a bound: long programs are mostly long chains.
#include "goal/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"

enum {
    TABLE_WORDS = 1 << 22, // short programs have all their chains in the table
    CHAINS = 16,           // long ones at least that many
    STEPS = 512,           // of a search
};

// Greedily, in the graph's order: an action goes on with the chain of some predecessor that is the
// last of its chain, of the longest such chain.
static uint32_t lay(const mlt_goal_graph *graph, uint32_t *chain, uint32_t *pos, uint32_t **length)
{
    uint32_t n = graph->count, chains = 0;
    uint32_t *count = mlt_xcalloc(n, sizeof *count);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = graph->order[i], best = MLT_GOAL_NONE;
        for (uint32_t e = graph->before_at[a]; e < graph->before_at[a + 1]; e++) {
            uint32_t b = mlt_goal_plain(graph->before[e]);
            if (pos[b] + 1 == count[chain[b]] &&
                (best == MLT_GOAL_NONE || count[chain[b]] > count[best]))
                best = chain[b];
        }
        if (best == MLT_GOAL_NONE)
            best = chains++;
        chain[a] = best;
        pos[a] = count[best]++;
    }
    *length = count;
    return chains;
}

// Numbers the longest chains 0, 1, ...; members of others belong to none.
static void choose(mlt_goal_reach *reach, uint32_t chains, const uint32_t *length)
{
    uint32_t n = reach->graph->count;
    uint64_t *sorted = mlt_xcalloc(chains, sizeof *sorted);
    for (uint32_t c = 0; c < chains; c++)
        sorted[c] = (uint64_t)length[c] << 32 | (UINT32_MAX - c);
    qsort(sorted, chains, sizeof *sorted, mlt_compare_ascending);
    uint32_t room = n ? TABLE_WORDS / n : 0;
    reach->chains = room > CHAINS ? room : CHAINS;
    if (reach->chains > chains)
        reach->chains = chains;
    uint32_t *number = mlt_xcalloc(chains, sizeof *number);
    memset(number, 0xff, chains * sizeof *number); // NONE
    for (uint32_t c = 0; c < reach->chains; c++)
        number[UINT32_MAX - (uint32_t)sorted[chains - 1 - c]] = c;
    for (uint32_t a = 0; a < n; a++)
        reach->chain[a] = number[reach->chain[a]];
    free(number);
    free(sorted);
}

mlt_goal_reach *mlt_goal_reach_new(const mlt_goal_graph *graph)
{
    uint32_t n = graph->count;
    mlt_goal_reach *reach = mlt_xcalloc(1, sizeof *reach);
    reach->graph = graph;
    reach->chain = mlt_xcalloc(n, sizeof *reach->chain);
    reach->pos = mlt_xcalloc(n, sizeof *reach->pos);
    uint32_t *length, chains = lay(graph, reach->chain, reach->pos, &length);
    choose(reach, chains, length);
    free(length);
    reach->seen_to = mlt_xcalloc((size_t)n * reach->chains, sizeof *reach->seen_to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = graph->order[i];
        uint32_t *row = reach->seen_to + (size_t)a * reach->chains;
        for (uint32_t e = graph->before_at[a]; e < graph->before_at[a + 1]; e++) {
            const uint32_t *from =
                reach->seen_to + (size_t)mlt_goal_plain(graph->before[e]) * reach->chains;
            for (uint32_t c = 0; c < reach->chains; c++)
                row[c] = from[c] > row[c] ? from[c] : row[c];
        }
        if (reach->chain[a] != MLT_GOAL_NONE)
            row[reach->chain[a]] = reach->pos[a] + 1;
    }
    reach->mixed = mlt_xcalloc(n, sizeof *reach->mixed);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++)
            reach->mixed[a] |= (graph->next[e] & MLT_GOAL_STARTED) != 0;
    reach->stamp = mlt_xcalloc(n, sizeof *reach->stamp);
    reach->stack = mlt_xcalloc(STEPS, sizeof *reach->stack);
    return reach;
}

void mlt_goal_reach_free(mlt_goal_reach *reach)
{
    if (!reach)
        return;
    free(reach->chain);
    free(reach->pos);
    free(reach->seen_to);
    free(reach->mixed);
    free(reach->stamp);
    free(reach->stack);
    free(reach);
}

// Of a member of a chain of the table.
static bool member_starts(const mlt_goal_reach *reach, uint32_t a, uint32_t b)
{
    return reach->seen_to[(size_t)b * reach->chains + reach->chain[a]] > reach->pos[a];
}

// 1: yes; 0: no; -1: too long a search.
static int forward(mlt_goal_reach *reach, uint32_t a, uint32_t b)
{
    const mlt_goal_graph *graph = reach->graph;
    uint32_t count = 0, steps = 0, limit = graph->place[b], at = a;
    reach->now++;
    for (;;) {
        for (uint32_t e = graph->next_at[at]; e < graph->next_at[at + 1]; e++) {
            uint32_t to = mlt_goal_plain(graph->next[e]);
            if (++steps > STEPS)
                return -1;
            if (to == b)
                return 1;
            if (graph->place[to] > limit || reach->stamp[to] == reach->now)
                continue;
            reach->stamp[to] = reach->now;
            if (reach->chain[to] == MLT_GOAL_NONE)
                reach->stack[count++] = to;
            else if (member_starts(reach, to, b))
                return 1;
        }
        if (!count)
            return 0;
        at = reach->stack[--count];
    }
}

static bool backward(mlt_goal_reach *reach, uint32_t a, uint32_t b)
{
    const mlt_goal_graph *graph = reach->graph;
    uint32_t count = 0, steps = 0, limit = graph->place[a], at = b;
    reach->now++;
    for (;;) {
        for (uint32_t e = graph->before_at[at]; e < graph->before_at[at + 1]; e++) {
            uint32_t to = mlt_goal_plain(graph->before[e]);
            if (++steps > STEPS)
                return false;
            if (to == a)
                return true;
            if (graph->place[to] < limit || reach->stamp[to] == reach->now)
                continue;
            reach->stamp[to] = reach->now;
            reach->stack[count++] = to;
        }
        if (!count)
            return false;
        at = reach->stack[--count];
    }
}

bool mlt_goal_reach_starts(mlt_goal_reach *reach, uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    if (reach->graph->place[a] > reach->graph->place[b])
        return false;
    if (reach->chain[a] != MLT_GOAL_NONE)
        return member_starts(reach, a, b);
    int found = forward(reach, a, b);
    return found < 0 ? backward(reach, a, b) : found;
}

bool mlt_goal_reach_before(mlt_goal_reach *reach, uint32_t a, uint32_t b)
{
    const mlt_goal_graph *graph = reach->graph;
    if (graph->place[a] >= graph->place[b])
        return false;
    if (!reach->mixed[a]) // all that start after it do so after its end
        return mlt_goal_reach_starts(reach, a, b);
    uint32_t tried = 0;
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1] && tried < STEPS; e++) {
        tried++;
        if (graph->before[e] == a) // mostly, and it may be one of very many that wait for a
            return true;
    }
    tried = 0;
    for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1] && tried < STEPS; e++) {
        uint32_t to = graph->next[e];
        if (to & MLT_GOAL_STARTED || graph->place[to] > graph->place[b])
            continue;
        tried++;
        if (mlt_goal_reach_starts(reach, to, b))
            return true;
    }
    return false;
}
