// SPDX-License-Identifier: BSD-3-Clause
// order: of the sends of a rank that are ready together, the one with the longest way to go starts
// first.
//
// The way is the longest path from the send's start to the end of the program, over all ranks, at
// LogGOPS prices: o+(s-1)O for a sender, o+L+o+max((s-1)O,(s-1)G) for a message. Contention is not
// priced here, so the result is taken only if the simulator finds it faster. Sends are ordered by
// dependencies on starts, and only among those that are ready together (pass_int.h), so no action
// waits for more than before.
#include "judge/pass/pass_int.h"

#include <stdlib.h>

#include "base/memory.h"

static double bytes_after_first(const mlt_goal_action *action)
{
    uint64_t bytes = mlt_goal_message_bytes(action);
    return bytes ? (double)(bytes - 1) : 0;
}

// From an action's start to its end, and of a send to the end of its receive.
static double price(const mlt_loggops *m, const mlt_goal_action *action)
{
    switch (action->kind) {
    case MLT_GOAL_SEND:
        return m->o + bytes_after_first(action) * m->O;
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        return (double)action->size[0] * m->exec;
    case MLT_GOAL_CALC:
        return (double)action->size[0];
    default:
        return 0;
    }
}

static double message_price(const mlt_loggops *m, const mlt_goal_action *recv)
{
    double rate = m->O > m->G ? m->O : m->G, work = 0;
    if (recv->kind == MLT_GOAL_RECV_EXEC || recv->kind == MLT_GOAL_RECV_USER)
        work = (double)recv->size[0] * m->exec;
    // A machine without prices: the number of messages decides.
    return m->o + m->L + m->o + bytes_after_first(recv) * rate + work + 0.001;
}

// The time from a send's start to the end of whatever waits for it.
double *mlt_pass_time_left(const mlt_goal_program *program, const mlt_goal_pairs *pairs,
                           const mlt_waits *events, const mlt_loggops *machine)
{
    double *left = mlt_xcalloc(events->count, sizeof *left); // of every event
    uint32_t *rank_of = mlt_xcalloc(events->count / 2, sizeof *rank_of);
    for (uint32_t r = 0; r < program->ranks; r++)
        for (uint64_t a = pairs->first[r]; a < pairs->first[r + 1]; a++)
            rank_of[a] = r;
    for (uint64_t i = events->count; i-- > 0;) {
        uint64_t e = events->order[i], number = e / 2;
        uint32_t r = rank_of[number];
        const mlt_goal_action *action = &program->rank[r].actions[number - pairs->first[r]];
        for (uint64_t k = events->at[e]; k < events->at[e + 1]; k++) {
            uint64_t next = events->to[k];
            double step = 0;
            if (next == e + 1 && e % 2 == 0)
                step = price(machine, action);
            else if (e % 2 == 0 && next % 2 == 1 && action->kind == MLT_GOAL_SEND) {
                mlt_goal_place to = pairs->other[number];
                step = message_price(machine, &program->rank[to.rank].actions[to.action]);
            }
            if (left[next] + step > left[e])
                left[e] = left[next] + step;
        }
    }
    for (uint64_t number = 0; number < events->count / 2; number++)
        left[number] = left[2 * number]; // of starts only
    free(rank_of);
    return left;
}

mlt_status mlt_pass_order(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                          const mlt_pass_options *options, mlt_pass_report *report, char *why,
                          size_t why_size)
{
    return mlt_pass_order_sends(program, pairs, options, mlt_pass_time_left, report, why, why_size);
}
