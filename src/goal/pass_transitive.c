// SPDX-License-Identifier: BSD-3-Clause
// transitive: drops dependencies that others imply.
//
// A dependency of b on a's end is implied if b waits, by some other way, for an action that a is
// before; one on a's start if b waits for an action that starts after a. What remains of a graph
// without cycles is the least set with the same order, and taking all of them away at once is safe:
// each is implied by ways whose steps are shorter in the order.
#include "goal/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool implied(mlt_pass_reach *reach, uint32_t b, uint32_t on)
{
    const mlt_goal_graph *graph = reach->graph;
    uint32_t a = mlt_pass_plain(on);
    for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++) {
        uint32_t way = mlt_pass_plain(graph->before[e]);
        if (way == a)
            continue;
        if (on & MLT_GOAL_STARTED ? mlt_pass_starts(reach, a, way) : mlt_pass_before(reach, a, way))
            return true;
    }
    return false;
}

// The same for an action that waits for many: all that comes before any of those is marked, in one
// search that stops where the first of them stands in the order.
typedef struct marking {
    uint32_t *stamp, now, *stack;
} marking;

static void mark(const mlt_goal_graph *graph, marking *marks, uint32_t b)
{
    uint32_t begin = graph->before_at[b], end = graph->before_at[b + 1], count = 0;
    uint32_t limit = UINT32_MAX;
    marks->now += 2; // now: comes before one of them; now - 1: is one of them
    for (uint32_t e = begin; e < end; e++) {
        uint32_t a = mlt_pass_plain(graph->before[e]);
        limit = graph->place[a] < limit ? graph->place[a] : limit;
        marks->stamp[a] = marks->now - 1;
        marks->stack[count++] = a;
    }
    while (count) {
        uint32_t a = marks->stack[--count];
        for (uint32_t e = graph->before_at[a]; e < graph->before_at[a + 1]; e++) {
            uint32_t to = mlt_pass_plain(graph->before[e]);
            if (graph->place[to] < limit || marks->stamp[to] == marks->now)
                continue;
            if (marks->stamp[to] != marks->now - 1) // else it is on the stack, or was
                marks->stack[count++] = to;
            marks->stamp[to] = marks->now;
        }
    }
}

static bool implied_by_marks(const mlt_goal_graph *graph, const marking *marks, uint32_t on)
{
    uint32_t a = mlt_pass_plain(on);
    if (marks->stamp[a] != marks->now || on & MLT_GOAL_STARTED)
        return marks->stamp[a] == marks->now;
    for (uint32_t e = graph->next_at[a]; e < graph->next_at[a + 1]; e++) {
        uint32_t to = graph->next[e];
        if (!(to & MLT_GOAL_STARTED) && marks->stamp[to] >= marks->now - 1)
            return true;
    }
    return false;
}

enum { MANY = 32 };

uint64_t mlt_pass_reduce(mlt_goal_rank *rank)
{
    if (!rank->deps_count)
        return 0;
    mlt_goal_graph *graph = mlt_goal_graph_new(rank);
    mlt_pass_reach *reach = mlt_pass_reach_new(graph);
    uint32_t had = rank->deps_count, kept = 0;
    marking marks = {mlt_pass_take(rank->count, sizeof *marks.stamp), 0,
                     mlt_pass_take(rank->count, sizeof *marks.stack)};
    for (uint32_t b = 0; b < rank->count; b++) {
        bool many = graph->before_at[b + 1] - graph->before_at[b] > MANY;
        if (many)
            mark(graph, &marks, b);
        for (uint32_t e = graph->before_at[b]; e < graph->before_at[b + 1]; e++) {
            uint32_t on = graph->before[e];
            if (!(many ? implied_by_marks(graph, &marks, on) : implied(reach, b, on)))
                rank->deps[kept++] = (mlt_goal_dep){b, on};
        }
    }
    free(marks.stamp);
    free(marks.stack);
    rank->deps_count = kept;
    mlt_pass_reach_free(reach);
    mlt_goal_graph_free(graph);
    return had - kept;
}

mlt_status mlt_pass_transitive(mlt_goal_program *program, const mlt_pass_options *options,
                               mlt_pass_report *report, char *why, size_t why_size)
{
    mlt_status status = mlt_pass_want_acyclic(program, why, why_size);
    if (status != MLT_OK)
        return status;
    uint64_t had = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        had += program->rank[r].deps_count;
        report->changed += mlt_pass_reduce(&program->rank[r]);
    }
    snprintf(report->text, sizeof report->text, "removed %" PRIu64 " of %" PRIu64 " dependencies",
             report->changed, had);
    return MLT_OK;
}
