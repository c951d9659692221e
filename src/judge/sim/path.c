// SPDX-License-Identifier: BSD-3-Clause
// What can be told after a run: the critical path, or why it came to no end.
#include <stdio.h>

#include "base/array.h"
#include "base/text.h"
#include "judge/sim/sim_int.h"

mlt_goal_place mlt_sim_place(const mlt_sim *sim, uint32_t number)
{
    uint32_t rank = mlt_sim_rank(sim, sim->actions[number].lane);
    return (mlt_goal_place){rank, number - sim->first[rank]};
}

// ---- the critical path, from its end to its beginning

typedef struct trail {
    mlt_sim_step *steps;
    uint64_t count, room;
} trail;

static void add_step(const mlt_sim *sim, trail *to, uint32_t action, mlt_sim_why why,
                     uint64_t start, uint64_t end)
{
    *MLT_ARRAY_ADD(to->steps, to->count, to->room) = (mlt_sim_step){
        .place = mlt_sim_place(sim, action), .cause = why, .start_ps = start, .end_ps = end};
}

static uint64_t time_at(const mlt_sim *sim, uint32_t action, mlt_sim_point point)
{
    return sim->nodes[2 * (size_t)action + point].time;
}

// What an action's end goes back to. A send that ended because it was matched is a step of its own.
static mlt_sim_ref before_finish(const mlt_sim *sim, trail *to, uint32_t number)
{
    const mlt_sim_action *action = &sim->actions[number];
    mlt_sim_ref from = {.action = number, .point = MLT_SIM_AT_START};
    bool is_send = (action->bits & MLT_SIM_KIND) == MLT_SIM_SEND;
    if (action->bits & MLT_SIM_THEN_EXEC) {
        from.point = MLT_SIM_AT_SECOND;
        return from;
    }
    if ((action->bits & MLT_SIM_KIND) == MLT_SIM_RECV) {
        uint64_t taken = time_at(sim, action->partner, MLT_SIM_AT_SECOND);
        if (taken + mlt_sim_recv_cpu(sim, action) >= time_at(sim, number, 0))
            from = (mlt_sim_ref){.action = action->partner, .point = MLT_SIM_AT_SECOND};
    }
    if (!is_send || !(action->bits & MLT_SIM_SYNC))
        return from;
    uint64_t taken = time_at(sim, number, MLT_SIM_AT_SECOND);
    uint64_t posted = time_at(sim, action->partner, MLT_SIM_AT_START);
    uint64_t matched = taken > posted ? taken : posted;
    if (sim->sync_end[number] >= matched)
        return from;
    add_step(sim, to, number, MLT_SIM_MATCHED, matched, matched);
    if (taken >= posted)
        from.point = MLT_SIM_AT_SECOND;
    else
        from.action = action->partner;
    return from;
}

// Until when the CPU was busy with what began there.
static uint64_t end_of(const mlt_sim *sim, mlt_sim_ref at, uint64_t start)
{
    const mlt_sim_action *action = &sim->actions[at.action];
    switch (action->bits & MLT_SIM_KIND) {
    case MLT_SIM_SEND:
        return start + (at.point == MLT_SIM_AT_SECOND ? mlt_sim_recv_cpu(sim, action)
                                                      : mlt_sim_send_cpu(sim, action));
    case MLT_SIM_RECV:
        return start + (at.point == MLT_SIM_AT_SECOND ? mlt_sim_work(sim, at.action) : 0);
    case MLT_SIM_NOP:
        return start;
    default:
        return start + mlt_sim_work(sim, at.action);
    }
}

// The last step is a message between hosts.
static void note_network(const mlt_sim *sim, trail *to, uint32_t send)
{
    mlt_sim_step *step = &to->steps[to->count - 1];
    const mlt_sim_cost *cost = mlt_sim_cost_of(sim, &sim->actions[send]);
    uint64_t alone = mlt_sim_alone(sim, send);
    step->network_ps = step->start_ps - time_at(sim, send, MLT_SIM_AT_START) - cost->o;
    step->contention_ps = step->network_ps - alone;
}

void mlt_sim_path(mlt_sim *sim)
{
    trail to = {0};
    mlt_sim_ref at = {.action = sim->last_action, .point = MLT_SIM_AT_FINISH};
    while (sim->count) {
        if (at.point == MLT_SIM_AT_FINISH)
            at = before_finish(sim, &to, at.action);
        const mlt_sim_action *action = &sim->actions[at.action];
        const mlt_sim_node *node = &sim->nodes[2 * (size_t)at.action + at.point];
        bool message =
            at.point == MLT_SIM_AT_SECOND && (action->bits & MLT_SIM_KIND) == MLT_SIM_SEND;
        add_step(sim, &to, message ? action->partner : at.action, node->cause.why, node->time,
                 end_of(sim, at, node->time));
        if (message && node->cause.why == MLT_SIM_MESSAGE && sim->travel &&
            !(action->bits & MLT_SIM_NEAR))
            note_network(sim, &to, at.action);
        if (node->cause.why == MLT_SIM_FIRST)
            break;
        at = node->cause;
    }
    for (uint64_t i = 0; i < to.count / 2; i++) {
        mlt_sim_step step = to.steps[i];
        to.steps[i] = to.steps[to.count - 1 - i];
        to.steps[to.count - 1 - i] = step;
    }
    sim->result->path = to.steps;
    sim->result->path_count = to.count;
}

// ---- deadlocks

enum { NAMED = 3 }; // actions that the message names

// Who an action waits for that began and has not ended; 0: nobody.
static int waits_for(const mlt_sim *sim, uint32_t number, char *text, size_t size)
{
    const mlt_sim_action *action = &sim->actions[number];
    if (!(action->bits & MLT_SIM_STARTED) || action->bits & MLT_SIM_FINISHED)
        return 0;
    mlt_goal_place place = mlt_sim_place(sim, number);
    const mlt_goal_action *source = mlt_sim_source(sim, place);
    if ((action->bits & MLT_SIM_KIND) == MLT_SIM_SEND)
        return snprintf(text, size, "rank %d to receive it", source->peer);
    if (source->peer == MLT_GOAL_ANY)
        return snprintf(text, size, "a message of any rank");
    return snprintf(text, size, "a message of rank %d", source->peer);
}

// The same for an action that has not begun: a dependency that has not been satisfied.
static int needs(const mlt_sim *sim, uint32_t number, char *text, size_t size)
{
    const mlt_sim_action *action = &sim->actions[number];
    if (action->bits & (MLT_SIM_STARTED | MLT_SIM_FINISHED))
        return 0;
    mlt_goal_place place = mlt_sim_place(sim, number);
    const mlt_goal_rank *rank = mlt_sim_part(sim, place.rank);
    for (uint32_t d = 0; d < rank->deps_count; d++) {
        uint32_t on = mlt_goal_plain(rank->deps[d].on);
        uint64_t needed = on != rank->deps[d].on ? MLT_SIM_STARTED : MLT_SIM_FINISHED;
        if (rank->deps[d].action == place.action &&
            !(sim->actions[sim->first[place.rank] + on].bits & needed))
            return snprintf(text, size, "action %u of the same rank", on);
    }
    return 0;
}

void mlt_sim_deadlock(const mlt_sim *sim, char *why, size_t why_size)
{
    uint32_t left = sim->count - sim->finished, told = 0;
    mlt_text out = mlt_text_on(why, why_size);
    mlt_text_add(&out, "deadlock: %u of %u actions never end", left, sim->count);
    // Whoever waits for another rank; if nobody does, dependencies go round within one.
    for (int round = 0; round < 2 && !told; round++)
        for (uint32_t a = 0; a < sim->count && told < NAMED; a++) {
            char whom[80], text[400];
            if (!(round ? needs : waits_for)(sim, a, whom, sizeof whom))
                continue;
            mlt_goal_place place = mlt_sim_place(sim, a);
            mlt_sim_describe(sim, place, text, sizeof text);
            mlt_text_add(&out, "%s %s waits for %s", told++ ? ";" : ":", text, whom);
        }
    if (left > told)
        mlt_text_add(&out, "; and %u more", left - told);
}
