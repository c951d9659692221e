// SPDX-License-Identifier: BSD-3-Clause
// fuse: recv T from p; exec A op T  ->  recv T from p then op with A.
//
// The fused action stands where the receive stood, so the same message meets it. It can be posted
// only when the operation could start, which must not be later than the receive was, or senders
// would wait longer, perhaps for ever. So both become one only if whatever else the operation waits
// for is before the receive already, or is a local operation of which the same holds (such as the
// copy that sets A up): then the posting moves by local work at most. And only the operation may
// have waited for the end of the receive: other actions would lose time.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

// The only reader of all that the receive writes: MLT_GOAL_NONE if there are none, or several.
static uint32_t only_reader(const mlt_pass_flow *flow, uint32_t recv)
{
    uint32_t place = flow->graph->place[recv], reader = MLT_GOAL_NONE;
    for (uint32_t v = flow->value_at[place]; v < flow->value_at[place + 1]; v++) {
        if (!flow->values[v].reads)
            return MLT_GOAL_NONE;
        for (uint32_t r = flow->values[v].reads; r; r = flow->reads[r - 1].next) {
            if (reader != MLT_GOAL_NONE && reader != flow->reads[r - 1].action)
                return MLT_GOAL_NONE;
            reader = flow->reads[r - 1].action;
        }
    }
    return reader;
}

static bool can_fuse(const mlt_goal_rank *rank, mlt_pass_flow *flow, uint32_t recv, uint32_t exec)
{
    const mlt_goal_action *r = &rank->actions[recv], *e = &rank->actions[exec];
    const mlt_goal_graph *graph = flow->graph;
    if ((e->kind != MLT_GOAL_USER && (e->kind != MLT_GOAL_EXEC || e->op == MLT_OP_COPY)) ||
        !mlt_goal_spans_same(mlt_goal_span_of(e, 1), mlt_goal_span_of(r, 0)) ||
        mlt_goal_spans_meet(mlt_goal_span_of(e, 0), mlt_goal_span_of(e, 1)) || e->cpu != r->cpu)
        return false;
    bool follows = false;
    for (uint32_t i = graph->before_at[exec]; i < graph->before_at[exec + 1]; i++) {
        if (graph->before[i] == recv)
            follows = true;
        else if (!mlt_pass_ready_by(rank, flow->reach, graph->before[i], recv))
            return false;
    }
    for (uint32_t i = graph->next_at[recv]; i < graph->next_at[recv + 1] && follows; i++) {
        uint32_t next = graph->next[i];
        if (next != exec && !(next & MLT_GOAL_STARTED))
            follows = mlt_goal_reach_before(flow->reach, exec, next);
    }
    return follows;
}

static void fuse(mlt_goal_action *recv, const mlt_goal_action *exec)
{
    recv->kind = exec->kind == MLT_GOAL_USER ? MLT_GOAL_RECV_USER : MLT_GOAL_RECV_EXEC;
    recv->op = exec->op;
    recv->type = exec->type;
    recv->user = exec->user;
    recv->flags |= exec->flags & MLT_GOAL_REVERSED;
    for (int i = 0; i < 2; i++)
        mlt_goal_span_set(recv, i, mlt_goal_span_of(exec, i));
}

static uint32_t fuse_rank(mlt_goal_program *program, uint32_t number)
{
    mlt_goal_rank *rank = &program->rank[number];
    mlt_pass_flow *flow = mlt_pass_flow_new(program, number);
    uint32_t *into = mlt_xcalloc(rank->count, sizeof *into), fused = 0;
    for (uint32_t a = 0; a < rank->count; a++)
        into[a] = a;
    for (uint32_t a = 0; a < rank->count && !flow->unclear; a++) {
        if (rank->actions[a].kind != MLT_GOAL_RECV)
            continue;
        uint32_t exec = only_reader(flow, a);
        if (exec == MLT_GOAL_NONE || into[exec] != exec || !can_fuse(rank, flow, a, exec))
            continue;
        into[exec] = a;
        fused++;
    }
    for (uint32_t a = 0; a < rank->count; a++)
        if (into[a] != a)
            fuse(&rank->actions[into[a]], &rank->actions[a]);
    if (fused)
        mlt_pass_merge(rank, into);
    free(into);
    mlt_pass_flow_free(flow);
    return fused;
}

mlt_status mlt_pass_fuse(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                         const mlt_pass_options *options, mlt_pass_report *report, char *why,
                         size_t why_size)
{
    for (uint32_t r = 0; r < program->ranks; r++)
        report->changed += fuse_rank(program, r);
    snprintf(report->text, sizeof report->text,
             "fused %" PRIu64 " receives with the operation that uses them", report->changed);
    return MLT_OK;
}
