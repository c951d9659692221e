// SPDX-License-Identifier: BSD-3-Clause
// dead: removes actions whose effect is never seen, on all ranks together.
//
// What lies in a kept buffer at the end is seen, and so is whatever goes into something seen: an
// operation's operands, the message of a receive, the bytes of its send. No-ops, work of 0 ns and
// operations on no bytes have no effect. What was ordered through them stays so.
//
// A message also orders two ranks. It is taken away only if that order cannot be needed:
//   - it carries bytes; one of none, or of bytes that are nowhere, is there for the order alone;
//   - its send is not marked as synchronous;
//   - on every rank, actions that touch the same byte are ordered by the rank's own dependencies;
//   - a program in which no rank can end before all have begun, a barrier, stays one: if it would
//     not, all messages stay.
// Waiting less never makes a deadlock.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

typedef struct dead_search {
    const mlt_goal_program *program;
    const mlt_goal_pairs *pairs; // NULL: wildcards
    mlt_pass_flow **flow;        // [ranks]
    bool *live;                  // by the action's number
    mlt_goal_place *stack;
    uint64_t *first, count;
} dead_search;

static void see(dead_search *s, uint32_t rank, uint32_t action)
{
    uint64_t number = s->first[rank] + action;
    if (s->live[number])
        return;
    s->live[number] = true;
    s->stack[s->count++] = (mlt_goal_place){rank, action};
}

// Whatever an action that is seen needs.
static void follow(dead_search *s, mlt_goal_place at)
{
    const mlt_pass_flow *flow = s->flow[at.rank];
    const mlt_goal_action *action = &s->program->rank[at.rank].actions[at.action];
    if (!flow->unclear) {
        uint32_t place = flow->graph->place[at.action];
        for (uint32_t i = flow->read_at[place]; i < flow->read_at[place + 1]; i++) {
            uint32_t writer = flow->values[flow->reads[i].value].writer;
            if (writer != MLT_GOAL_NONE)
                see(s, at.rank, writer);
        }
    }
    if (s->pairs && mlt_goal_is_message(action)) {
        mlt_goal_place other = mlt_goal_partner(s->pairs, at.rank, at.action);
        see(s, other.rank, other.action);
    }
}

// For the order alone, or not to be judged.
static bool message_stays(const dead_search *s, uint32_t rank, uint32_t a)
{
    const mlt_goal_action *action = &s->program->rank[rank].actions[a];
    bool second = mlt_goal_is_recv(action) && mlt_goal_has_two(action);
    return !mlt_goal_message_bytes(action) || action->buf[second] == MLT_GOAL_NOWHERE ||
           action->flags & MLT_GOAL_SYNCHRONOUS;
}

// What is seen whatever the others do.
static void see_roots(dead_search *s, uint32_t rank, const char *keep, bool messages)
{
    const mlt_goal_rank *r = &s->program->rank[rank];
    const mlt_pass_flow *flow = s->flow[rank];
    for (uint32_t a = 0; a < r->count; a++) {
        const mlt_goal_action *action = &r->actions[a];
        mlt_goal_access access[2];
        if (mlt_goal_is_message(action)) {
            if (messages || message_stays(s, rank, a))
                see(s, rank, a);
        } else if (action->kind == MLT_GOAL_CALC) {
            if (action->size[0])
                see(s, rank, a);
        } else if (flow->unclear && mlt_goal_accesses(action, access)) {
            see(s, rank, a);
        }
    }
    if (flow->unclear)
        return;
    bool *kept = mlt_pass_kept(s->program, rank, keep);
    for (uint32_t c = 0; c < flow->cells_count; c++) {
        uint32_t writer = flow->values[flow->last[c]].writer;
        if (writer != MLT_GOAL_NONE && mlt_pass_cell_kept(&flow->cells[c], kept))
            see(s, rank, writer);
    }
    free(kept);
}

static void find_live(dead_search *s, const char *keep, bool messages)
{
    for (uint64_t i = 0; i < s->first[s->program->ranks]; i++)
        s->live[i] = false;
    for (uint32_t r = 0; r < s->program->ranks; r++) {
        see_roots(s, r, keep, messages);
        while (s->count)
            follow(s, s->stack[--s->count]);
    }
}

// A copy of a span onto itself is no effect; the walk above thinks it is one. Its readers get the
// same bytes from the action that wrote them before.
static bool copies_itself(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_EXEC && action->op == MLT_OP_COPY &&
           action->buf[0] == action->buf[1] && action->at[0] == action->at[1];
}

static uint64_t remove_dead(mlt_goal_program *program, const dead_search *s)
{
    uint64_t removed = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        mlt_goal_rank *rank = &program->rank[r];
        bool *gone = mlt_xcalloc(rank->count, sizeof *gone), any = false;
        for (uint32_t a = 0; a < rank->count; a++) {
            gone[a] = !s->live[s->first[r] + a] || copies_itself(&rank->actions[a]);
            any |= gone[a];
        }
        if (any)
            removed += mlt_pass_remove(rank, gone);
        free(gone);
    }
    return removed;
}

static bool any_message_dead(const dead_search *s)
{
    for (uint32_t r = 0; r < s->program->ranks; r++)
        for (uint32_t a = 0; a < s->program->rank[r].count; a++)
            if (mlt_goal_is_message(&s->program->rank[r].actions[a]) && !s->live[s->first[r] + a])
                return true;
    return false;
}

// Whether messages may go at all.
static bool order_is_local(const dead_search *s)
{
    for (uint32_t r = 0; r < s->program->ranks; r++)
        if (s->flow[r]->unclear)
            return false;
    return s->pairs != NULL;
}

mlt_status mlt_pass_dead(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                         const mlt_pass_options *options, mlt_pass_report *report, char *why,
                         size_t why_size)
{
    dead_search s = {.program = program, .pairs = pairs};
    s.flow = mlt_pass_flows_new(program);
    s.first = mlt_xcalloc((size_t)program->ranks + 1, sizeof *s.first);
    for (uint32_t r = 0; r < program->ranks; r++)
        s.first[r + 1] = s.first[r] + program->rank[r].count;
    uint64_t all = s.first[program->ranks];
    s.live = mlt_xcalloc(all, sizeof *s.live);
    s.stack = mlt_xcalloc(all, sizeof *s.stack);
    find_live(&s, options->keep, !order_is_local(&s));
    if (any_message_dead(&s) && mlt_pass_is_barrier(program) != MLT_PASS_NO) {
        mlt_goal_program *trial = mlt_goal_program_copy(program);
        remove_dead(trial, &s);
        if (mlt_pass_is_barrier(trial) != MLT_PASS_YES)
            find_live(&s, options->keep, true);
        mlt_goal_program_free(trial);
    }
    report->changed = remove_dead(program, &s);
    snprintf(report->text, sizeof report->text, "removed %" PRIu64 " of %" PRIu64 " actions",
             report->changed, all);
    mlt_pass_flows_free(s.flow, program->ranks);
    free(s.first);
    free(s.live);
    free(s.stack);
    return MLT_OK;
}
