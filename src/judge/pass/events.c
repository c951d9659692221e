// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends of all ranks' actions as one graph. Actions wait as dependencies say; a receive
// ends after its send has started; a synchronous send ends after its receive has started. The
// program is free of deadlock if and only if this graph has no cycle, as messages are matched
// statically and nothing else waits.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { BARRIER_VISITS = 1 << 28 }; // a second or so

typedef struct events_edges {
    uint64_t *at, *to;
    bool counting;
} events_edges;

static void events_edge(events_edges *out, uint64_t from, uint64_t to)
{
    if (out->counting)
        out->at[from + 2]++;
    else
        out->to[out->at[from + 1]++] = to;
}

static void all_edges(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                      bool synchronous, events_edges *out)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        uint64_t first = pairs->first[r];
        for (uint32_t d = 0; d < rank->deps_count; d++) {
            mlt_goal_dep dep = rank->deps[d];
            uint64_t on = 2 * (first + mlt_goal_plain(dep.on));
            events_edge(out, on + !(dep.on & MLT_GOAL_STARTED), 2 * (first + dep.action));
        }
        for (uint32_t a = 0; a < rank->count; a++) {
            uint64_t start = 2 * (first + a);
            events_edge(out, start, start + 1);
            if (rank->actions[a].kind != MLT_GOAL_SEND)
                continue;
            mlt_goal_place other = mlt_goal_partner(pairs, r, a);
            if (other.action == MLT_GOAL_NONE)
                continue;
            uint64_t recv = 2 * (pairs->first[other.rank] + other.action);
            events_edge(out, start, recv + 1);
            if (synchronous || rank->actions[a].flags & MLT_GOAL_SYNCHRONOUS)
                events_edge(out, recv, start + 1);
        }
    }
}

static void sort(mlt_pass_events *events)
{
    uint64_t n = events->count, head = 0, tail = 0;
    uint32_t *open = mlt_take(n, sizeof *open);
    events->order = mlt_take(n, sizeof *events->order);
    for (uint64_t e = 0; e < events->next_at[n]; e++)
        open[events->next[e]]++;
    for (uint64_t e = 0; e < n; e++)
        if (!open[e])
            events->order[tail++] = e;
    while (head < tail) {
        uint64_t e = events->order[head++];
        for (uint64_t i = events->next_at[e]; i < events->next_at[e + 1]; i++)
            if (--open[events->next[i]] == 0)
                events->order[tail++] = events->next[i];
    }
    if (tail < n) {
        free(events->order);
        events->order = NULL;
    }
    free(open);
}

mlt_pass_events *mlt_pass_events_new(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                                     bool synchronous)
{
    mlt_pass_events *events = mlt_take(1, sizeof *events);
    uint64_t n = events->count = 2 * pairs->first[program->ranks];
    events_edges out = {mlt_take(n + 2, sizeof *out.at), NULL, true};
    all_edges(program, pairs, synchronous, &out);
    for (uint64_t e = 2; e < n + 2; e++)
        out.at[e] += out.at[e - 1];
    out.to = mlt_take(out.at[n + 1], sizeof *out.to);
    out.counting = false;
    all_edges(program, pairs, synchronous, &out);
    events->next_at = out.at;
    events->next = out.to;
    sort(events);
    return events;
}

void mlt_pass_events_free(mlt_pass_events *events)
{
    if (!events)
        return;
    free(events->next_at);
    free(events->next);
    free(events->order);
    free(events);
}

// ---- barriers

// 64 ranks at a time: who of them has begun when an event happens.
static bool all_begun(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                      const mlt_pass_events *events, uint32_t from, uint64_t *begun)
{
    uint32_t to = program->ranks - from < 64 ? program->ranks : from + 64;
    uint64_t all = to - from == 64 ? UINT64_MAX : (1ull << (to - from)) - 1;
    for (uint64_t e = 0; e < events->count; e++)
        begun[e] = 0;
    for (uint32_t r = from; r < to; r++)
        for (uint64_t a = pairs->first[r]; a < pairs->first[r + 1]; a++)
            begun[2 * a] = 1ull << (r - from);
    for (uint64_t i = 0; i < events->count; i++) {
        uint64_t e = events->order[i];
        for (uint64_t n = events->next_at[e]; n < events->next_at[e + 1]; n++)
            begun[events->next[n]] |= begun[e];
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        uint64_t seen = r >= from && r < to ? 1ull << (r - from) : 0;
        for (uint64_t a = pairs->first[r]; a < pairs->first[r + 1]; a++)
            seen |= begun[2 * a + 1];
        if (seen != all)
            return false;
    }
    return true;
}

// A rank that is told nothing, or tells nothing, makes it none; most programs show that at once.
static bool all_talk(const mlt_goal_program *program)
{
    bool told = true, tells = true, synchronous = false;
    for (uint32_t r = 0; r < program->ranks; r++) {
        const mlt_goal_rank *rank = &program->rank[r];
        bool recv = false, send = false;
        for (uint32_t a = 0; a < rank->count; a++) {
            recv |= mlt_goal_is_recv(&rank->actions[a]);
            send |= rank->actions[a].kind == MLT_GOAL_SEND;
            synchronous |= (rank->actions[a].flags & MLT_GOAL_SYNCHRONOUS) != 0;
        }
        told &= recv;
        tells &= send;
    }
    return synchronous || (told && tells);
}

mlt_pass_answer mlt_pass_is_barrier(const mlt_goal_program *program)
{
    if (program->ranks < 2 || !all_talk(program))
        return MLT_PASS_NO;
    if (mlt_goal_has_wildcards(program))
        return MLT_PASS_UNKNOWN;
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(program);
    mlt_pass_events *events = mlt_pass_events_new(program, pairs, false);
    uint64_t *begun = mlt_take(events->count, sizeof *begun);
    bool too_long = events->count * ((program->ranks + 63) / 64) > BARRIER_VISITS;
    mlt_pass_answer barrier = events->order ? MLT_PASS_YES : MLT_PASS_UNKNOWN;
    for (uint32_t from = 0; from < program->ranks && barrier == MLT_PASS_YES; from += 64) {
        if (!all_begun(program, pairs, events, from, begun))
            barrier = MLT_PASS_NO;
        else if (too_long) // the first ranks would have told if it were none
            barrier = MLT_PASS_UNKNOWN;
    }
    free(begun);
    mlt_pass_events_free(events);
    mlt_goal_pairs_free(pairs);
    return barrier;
}

// ---- what passes ask for

mlt_status mlt_pass_want_acyclic(const mlt_goal_program *program, char *why, size_t why_size)
{
    mlt_status status = mlt_goal_program_valid(program, why, why_size);
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++) {
        mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[r]);
        if (!graph->order) {
            char text[320];
            snprintf(why, why_size,
                     "dependencies go round: %s waits for itself, in a circle of %" PRIu32
                     " actions; take one of its dependencies away",
                     mlt_goal_describe(program, r, graph->cycle[0], text, sizeof text),
                     graph->cycle_count);
            status = MLT_ERR_INVALID;
        }
        mlt_goal_graph_free(graph);
    }
    return status;
}

static bool pair_fits(const mlt_goal_program *program, const mlt_goal_pairs *pairs, uint32_t rank,
                      uint32_t a, char *why, size_t why_size)
{
    const mlt_goal_action *action = &program->rank[rank].actions[a];
    mlt_goal_place other = mlt_goal_partner(pairs, rank, a);
    bool there = other.action != MLT_GOAL_NONE;
    if (there && mlt_goal_message_bytes(action) ==
                     mlt_goal_message_bytes(&program->rank[other.rank].actions[other.action]))
        return true;
    const char *end = action->kind == MLT_GOAL_SEND ? "receive" : "send";
    char text[320];
    mlt_goal_describe(program, rank, a, text, sizeof text);
    if (there)
        snprintf(why, why_size,
                 "%s and its %s on rank %" PRIu32 " differ in size; they must be equal", text, end,
                 other.rank);
    else
        snprintf(why, why_size, "%s meets no %s; every send needs its receive", text, end);
    return false;
}

mlt_status mlt_pass_want_matched(const mlt_goal_program *program, mlt_goal_pairs **out, char *why,
                                 size_t why_size)
{
    *out = NULL;
    mlt_status status = mlt_pass_want_acyclic(program, why, why_size);
    if (status != MLT_OK || mlt_goal_has_wildcards(program))
        return status;
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(program);
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++)
        for (uint32_t a = 0; a < program->rank[r].count && status == MLT_OK; a++) {
            const mlt_goal_action *action = &program->rank[r].actions[a];
            if (!mlt_goal_is_message(action))
                continue;
            if (pair_fits(program, pairs, r, a, why, why_size))
                continue;
            status = MLT_ERR_INVALID;
        }
    if (status == MLT_OK) {
        *out = pairs;
        return MLT_OK;
    }
    mlt_goal_pairs_free(pairs);
    return status;
}
