// SPDX-License-Identifier: BSD-3-Clause
// What passes ask of a program: is it a barrier, is it free of cycles, do its messages match.
#include "judge/pass/pass_int.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { BARRIER_VISITS = 1 << 28 }; // a second or so

// ---- barriers

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
    mlt_waits events;
    mlt_waits_unheard *unheard = mlt_xcalloc(program->ranks, sizeof *unheard);
    bool ends = mlt_waits_of(&events, program, pairs, false, NULL);
    bool too_long = (uint64_t)events.count * ((program->ranks + 63) / 64) > BARRIER_VISITS;
    mlt_pass_answer barrier = ends ? MLT_PASS_YES : MLT_PASS_UNKNOWN;
    for (uint32_t low = 0; low < program->ranks && barrier == MLT_PASS_YES; low += 64) {
        uint32_t high = program->ranks - low < 64 ? program->ranks : low + 64;
        mlt_waits_begun(&events, pairs, program->ranks, low, high, unheard);
        if (too_long) // the first ranks would have told if it were none
            barrier = MLT_PASS_UNKNOWN;
        for (uint32_t r = 0; r < program->ranks; r++)
            if (unheard[r].count)
                barrier = MLT_PASS_NO;
    }
    free(unheard);
    mlt_waits_fini(&events);
    mlt_goal_pairs_free(pairs);
    return barrier;
}

// ---- what passes ask for

static mlt_status want_acyclic(const mlt_goal_program *program, char *why, size_t why_size)
{
    mlt_status status = mlt_goal_program_valid(program, why, why_size);
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++) {
        mlt_goal_graph *graph = mlt_goal_graph_new(&program->rank[r]);
        if (!graph->order) {
            char text[320];
            status = mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "dependencies go round: %s waits for itself, in a circle of %u actions; take "
                "one of its dependencies away",
                mlt_goal_describe(program, r, graph->cycle[0], text, sizeof text),
                graph->cycle_count);
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
        return mlt_deny(why, why_size,
                        "%s and its %s on rank %u differ in size; they must be equal", text, end,
                        other.rank);
    return mlt_deny(why, why_size, "%s meets no %s; every send needs its receive", text, end);
}

mlt_status mlt_pass_want(const mlt_goal_program *program, mlt_goal_pairs **out, char *why,
                         size_t why_size)
{
    mlt_status status = want_acyclic(program, why, why_size);
    if (status != MLT_OK || !out || mlt_goal_has_wildcards(program))
        return status;
    mlt_goal_pairs *pairs = mlt_goal_pairs_new(program);
    for (uint32_t r = 0; r < program->ranks && status == MLT_OK; r++)
        for (uint32_t a = 0; a < program->rank[r].count && status == MLT_OK; a++)
            if (mlt_goal_is_message(&program->rank[r].actions[a]) &&
                !pair_fits(program, pairs, r, a, why, why_size))
                status = MLT_ERR_INVALID;
    if (status == MLT_OK)
        *out = pairs;
    else
        mlt_goal_pairs_free(pairs);
    return status;
}
