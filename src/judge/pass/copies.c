// SPDX-License-Identifier: BSD-3-Clause
// copies: takes copies away.
//
//     recv T; copy out <- T    the message is received into out, if nobody else reads T and T does
//                              not count at the end. The receive then waits for what the copy
//                              waited for, so the rule of posting is fuse's.
//     copy B <- A; ... B ...   readers of B read A, if A is not overwritten before they have ended
//                              and B does not count at the end.
//
// One walk changes an action once at most; otherwise changes do not disturb each other, as each
// keeps all orders that it relies on and the others do. Walks are repeated until nothing changes,
// so chains of copies go too.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

typedef struct copies_walk {
    mlt_goal_rank *rank;
    mlt_pass_flow *flow;
    const bool *kept;
    bool *used;     // takes part in a change of this walk
    uint32_t *into; // as for mlt_pass_merge
    bool *gone;
    uint32_t merged, removed;
} copies_walk;

static bool is_copy(const mlt_goal_action *action)
{
    return action->kind == MLT_GOAL_EXEC && action->op == MLT_OP_COPY && action->size[0] > 0 &&
           !(action->flags & MLT_GOAL_REVERSED);
}

static bool counts_at_end(const copies_walk *w, const mlt_pass_value *value)
{
    return value->over == MLT_GOAL_NONE &&
           mlt_pass_cell_kept(&w->flow->cells[value->cell], w->kept);
}

// ---- a receive and its copy

// The receive whose bytes, all of them, the copy alone reads; NONE if it is not so.
static uint32_t copies_received(const copies_walk *w, uint32_t copy)
{
    const mlt_pass_flow *flow = w->flow;
    uint32_t place = flow->graph->place[copy], recv = MLT_GOAL_NONE;
    for (uint32_t i = flow->read_at[place]; i < flow->read_at[place + 1]; i++) {
        const mlt_pass_value *value = &flow->values[flow->reads[i].value];
        if (value->writer == MLT_GOAL_NONE || (recv != MLT_GOAL_NONE && value->writer != recv) ||
            value->reads != i + 1 || flow->reads[i].next || counts_at_end(w, value))
            return MLT_GOAL_NONE;
        recv = value->writer;
    }
    const mlt_goal_action *c = &w->rank->actions[copy], *r = &w->rank->actions[recv];
    bool same = r->kind == MLT_GOAL_RECV &&
                mlt_goal_spans_same(mlt_goal_span_of(c, 1), mlt_goal_span_of(r, 0));
    return same ? recv : MLT_GOAL_NONE;
}

static bool into_place(copies_walk *w, uint32_t copy)
{
    const mlt_goal_graph *graph = w->flow->graph;
    uint32_t recv = copies_received(w, copy);
    if (recv == MLT_GOAL_NONE || w->used[recv])
        return false;
    bool follows = false;
    for (uint32_t i = graph->before_at[copy]; i < graph->before_at[copy + 1]; i++) {
        if (graph->before[i] == recv)
            follows = true;
        else if (!mlt_pass_ready_by(w->rank, w->flow->reach, graph->before[i], recv))
            return false;
    }
    if (!follows)
        return false;
    w->used[recv] = w->used[copy] = true;
    w->into[copy] = recv;
    w->merged++;
    return true;
}

// ---- a copy and its readers

// Actions that overwrite the bytes that the copy read do so after `reader` has ended.
static bool lasts(const copies_walk *w, uint32_t copy, uint32_t reader)
{
    const mlt_pass_flow *flow = w->flow;
    uint32_t place = flow->graph->place[copy];
    for (uint32_t i = flow->read_at[place]; i < flow->read_at[place + 1]; i++) {
        uint32_t over = flow->values[flow->reads[i].value].over;
        if (over != MLT_GOAL_NONE && !mlt_goal_reach_before(flow->reach, reader, over))
            return false;
    }
    return true;
}

// The span of a reader lies within the copy's result, and all of it comes from there.
static bool reads_only(const copies_walk *w, uint32_t copy, uint32_t first,
                       const mlt_pass_read *read)
{
    const mlt_goal_action *c = &w->rank->actions[copy], *r = &w->rank->actions[read->action];
    uint32_t k = read->which;
    if (r->at[k] < c->at[0] || r->at[k] + r->size[k] > c->at[0] + c->size[0])
        return false;
    const mlt_pass_flow *flow = w->flow;
    uint32_t place = flow->graph->place[read->action];
    for (uint32_t i = first; i < flow->read_at[place + 1] && flow->reads[i].which == k; i++)
        if (flow->values[flow->reads[i].value].writer != copy)
            return false;
    return true;
}

static bool can_read_source(const copies_walk *w, uint32_t copy, uint32_t index)
{
    const mlt_pass_read *read = &w->flow->reads[index];
    const mlt_goal_action *reader = &w->rank->actions[read->action];
    if (w->used[read->action] || !(reader->kind == MLT_GOAL_SEND || read->which == 1))
        return false;
    // Its reads of this span stand together. The first decides for all.
    uint32_t first = w->flow->read_at[w->flow->graph->place[read->action]];
    while (w->flow->reads[first].which != read->which)
        first++;
    if (first != index)
        return w->flow->values[w->flow->reads[first].value].writer == copy;
    // A reader that overwrites the source itself is among those that do so before it has ended.
    return reads_only(w, copy, first, read) && lasts(w, copy, read->action);
}

static void read_source(copies_walk *w, uint32_t copy)
{
    const mlt_pass_flow *flow = w->flow;
    uint32_t place = flow->graph->place[copy];
    bool any = false;
    for (uint32_t v = flow->value_at[place]; v < flow->value_at[place + 1]; v++) {
        if (counts_at_end(w, &flow->values[v]))
            return;
        for (uint32_t i = flow->values[v].reads; i; i = flow->reads[i - 1].next) {
            if (!can_read_source(w, copy, i - 1))
                return;
            any = true;
        }
    }
    if (!any)
        return; // nobody reads it: dead, which is another pass's business
    for (uint32_t v = flow->value_at[place]; v < flow->value_at[place + 1]; v++)
        for (uint32_t i = flow->values[v].reads; i; i = flow->reads[i - 1].next) {
            const mlt_goal_action *c = &w->rank->actions[copy];
            mlt_goal_action *r = &w->rank->actions[flow->reads[i - 1].action];
            uint32_t k = flow->reads[i - 1].which;
            if (w->used[flow->reads[i - 1].action])
                continue; // by an earlier cell of this copy
            w->used[flow->reads[i - 1].action] = true;
            r->at[k] = c->at[1] + (r->at[k] - c->at[0]);
            r->buf[k] = c->buf[1];
        }
    w->used[copy] = w->gone[copy] = true;
    w->removed++;
}

// ----

static void apply(copies_walk *w)
{
    mlt_goal_rank *rank = w->rank;
    for (uint32_t a = 0; a < rank->count; a++)
        if (w->into[a] != a) {
            mlt_goal_action *recv = &rank->actions[w->into[a]];
            recv->buf[0] = rank->actions[a].buf[0];
            recv->at[0] = rank->actions[a].at[0];
        }
    // Merging and removing both renumber; removing first would leave `into` stale, so what is gone
    // is carried over by hand.
    if (w->merged) {
        uint32_t kept = 0;
        for (uint32_t a = 0; a < rank->count; a++)
            if (w->into[a] == a)
                w->gone[kept++] = w->gone[a];
        mlt_pass_merge(rank, w->into);
    }
    if (w->removed)
        mlt_pass_remove(rank, w->gone);
}

static uint32_t walk_rank(mlt_goal_program *program, uint32_t number, const bool *kept)
{
    mlt_goal_rank *rank = &program->rank[number];
    copies_walk w = {.rank = rank, .flow = mlt_pass_flow_new(program, number), .kept = kept};
    w.used = mlt_xcalloc(rank->count, sizeof *w.used);
    w.gone = mlt_xcalloc(rank->count, sizeof *w.gone);
    w.into = mlt_xcalloc(rank->count, sizeof *w.into);
    for (uint32_t a = 0; a < rank->count; a++)
        w.into[a] = a;
    for (uint32_t i = 0; i < rank->count && !w.flow->unclear; i++) {
        uint32_t a = w.flow->graph->order[i];
        if (is_copy(&rank->actions[a]) && !w.used[a] && !into_place(&w, a))
            read_source(&w, a);
    }
    apply(&w);
    mlt_pass_flow_free(w.flow);
    free(w.used);
    free(w.gone);
    free(w.into);
    return w.merged + w.removed;
}

enum { WALKS = 16 };

mlt_status mlt_pass_copies(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                           const mlt_pass_options *options, mlt_pass_report *report, char *why,
                           size_t why_size)
{
    for (uint32_t r = 0; r < program->ranks; r++) {
        bool *kept = mlt_pass_kept(program, r, options->keep);
        uint32_t taken = 1;
        for (int i = 0; i < WALKS && taken; i++)
            report->changed += taken = walk_rank(program, r, kept);
        free(kept);
    }
    snprintf(report->text, sizeof report->text, "removed %" PRIu64 " copies", report->changed);
    return MLT_OK;
}
