// SPDX-License-Identifier: BSD-3-Clause
// Which bytes an action's results reach: a walk over one rank's actions in an order that its
// dependencies allow, with the current value of each cell. If actions that touch a byte are ordered
// wherever one of them writes, every order gives the same values and reads.
#include "judge/pass/pass_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/memory.h"

enum { TOUCHES = 1 << 24 }; // cells that all actions together may touch

typedef struct point {
    uint32_t buf;
    uint64_t at;
} point;

static int flow_compare(const void *pa, const void *pb)
{
    const point *a = pa, *b = pb;
    return mlt_compare_words((uint64_t[]){a->buf, a->at}, (uint64_t[]){b->buf, b->at}, 2);
}

// Every begin and end of a span, sorted; between two of the same buffer lies a cell. Some cells
// belong to no span: they are never touched.
static void cells_make(mlt_pass_flow *flow, const mlt_goal_rank *rank)
{
    point *points = mlt_xcalloc(4 * (size_t)rank->count, sizeof *points);
    size_t count = 0, kept = 0;
    mlt_goal_access access[2];
    for (uint32_t a = 0; a < rank->count; a++)
        for (int i = mlt_goal_accesses(&rank->actions[a], access); i-- > 0;) {
            mlt_goal_span span = access[i].span;
            points[count++] = (point){span.buf, span.at};
            points[count++] = (point){span.buf, span.at + span.size};
        }
    qsort(points, count, sizeof *points, flow_compare);
    for (size_t i = 0; i < count; i++)
        if (!kept || flow_compare(&points[kept - 1], &points[i]) != 0)
            points[kept++] = points[i];
    flow->cells = mlt_xcalloc(kept, sizeof *flow->cells);
    for (size_t i = 0; i + 1 < kept; i++)
        if (points[i].buf == points[i + 1].buf)
            flow->cells[flow->cells_count++] =
                (mlt_pass_cell){points[i].buf, points[i].at, points[i + 1].at};
    free(points);
}

// The cells of a span: how many, the first of them in *first.
static uint32_t flow_cells_of(const mlt_pass_flow *flow, mlt_goal_span span, uint32_t *first)
{
    const mlt_pass_cell *cells = flow->cells;
    *first = MLT_ARRAY_SEARCH(i, flow->cells_count,
                              cells[i].buf < span.buf ||
                                  (cells[i].buf == span.buf && cells[i].at < span.at));
    uint32_t end = *first;
    while (end < flow->cells_count && flow->cells[end].buf == span.buf &&
           flow->cells[end].at < span.at + span.size)
        end++;
    return end - *first;
}

// How many cells are touched in all; more than TOUCHES: too many.
static uint64_t flow_touches(mlt_pass_flow *flow, const mlt_goal_rank *rank)
{
    uint64_t all = flow->cells_count;
    mlt_goal_access access[2];
    // The last buffer in the order is ADDRESS if there is such. It may be the same memory as
    // others.
    if (all && flow->cells[all - 1].buf == MLT_GOAL_ADDRESS &&
        flow->cells[0].buf != MLT_GOAL_ADDRESS)
        flow->unclear = true;
    for (uint32_t a = 0; a < rank->count && all <= TOUCHES; a++) {
        const mlt_goal_action *action = &rank->actions[a];
        int count = mlt_goal_accesses(action, access);
        // One span twice is an operation on itself. A receive's two must not meet.
        if (count == 2 && mlt_goal_spans_meet(access[0].span, access[1].span) &&
            (mlt_goal_is_recv(action) || access[0].span.at != access[1].span.at ||
             access[0].span.size != access[1].span.size))
            flow->unclear = true;
        for (int i = 0; i < count; i++) {
            uint32_t first;
            all += flow_cells_of(flow, access[i].span, &first);
        }
    }
    return all;
}

static void flow_walk(mlt_pass_flow *flow, const mlt_goal_rank *rank)
{
    mlt_goal_access access[2];
    for (uint32_t i = 0; i < rank->count; i++) {
        uint32_t a = flow->graph->order[i], first;
        const mlt_goal_action *action = &rank->actions[a];
        int count = mlt_goal_accesses(action, access);
        flow->read_at[i] = flow->reads_count;
        flow->value_at[i] = flow->values_count;
        for (int k = 0; k < count; k++) {
            if (!access[k].reads)
                continue;
            // The access is of the action's second span if it is not of the first.
            uint32_t which = count == 2 ? (uint32_t)k : action->size[0] == 0;
            for (uint32_t n = flow_cells_of(flow, access[k].span, &first); n-- > 0; first++) {
                mlt_pass_value *value = &flow->values[flow->last[first]];
                flow->reads[flow->reads_count++] =
                    (mlt_pass_read){flow->last[first], a, which, value->reads};
                value->reads = flow->reads_count;
            }
        }
        for (int k = 0; k < count; k++) {
            if (!access[k].writes)
                continue;
            for (uint32_t n = flow_cells_of(flow, access[k].span, &first); n-- > 0; first++) {
                flow->values[flow->last[first]].over = a;
                flow->last[first] = flow->values_count;
                flow->values[flow->values_count++] = (mlt_pass_value){a, first, 0, MLT_GOAL_NONE};
            }
        }
    }
    flow->read_at[rank->count] = flow->reads_count;
    flow->value_at[rank->count] = flow->values_count;
}

typedef struct order_check {
    mlt_pass_flow *flow;
    uint32_t first, second; // the last pair that was found in order
} order_check;

static void in_order(void *user, uint32_t first, uint32_t second)
{
    order_check *check = user;
    if (check->flow->unclear || (first == check->first && second == check->second))
        return;
    check->flow->unclear = !mlt_goal_reach_before(check->flow->reach, first, second);
    check->first = first;
    check->second = second;
}

mlt_pass_flow *mlt_pass_flow_new(const mlt_goal_program *program, uint32_t rank_number)
{
    const mlt_goal_rank *rank = &program->rank[rank_number];
    mlt_pass_flow *flow = mlt_xcalloc(1, sizeof *flow);
    flow->graph = mlt_goal_graph_new(rank);
    if (!flow->graph->order) {
        flow->unclear = true;
        return flow;
    }
    flow->reach = mlt_goal_reach_new(flow->graph);
    cells_make(flow, rank);
    uint64_t all = flow_touches(flow, rank);
    if (all > TOUCHES)
        flow->unclear = true;
    if (flow->unclear)
        return flow;
    flow->values = mlt_xcalloc(all, sizeof *flow->values);
    flow->reads = mlt_xcalloc(all, sizeof *flow->reads);
    flow->value_at = mlt_xcalloc((size_t)rank->count + 1, sizeof *flow->value_at);
    flow->read_at = mlt_xcalloc((size_t)rank->count + 1, sizeof *flow->read_at);
    flow->last = mlt_xcalloc(flow->cells_count, sizeof *flow->last);
    for (uint32_t c = 0; c < flow->cells_count; c++) {
        flow->values[c] = (mlt_pass_value){MLT_GOAL_NONE, c, 0, MLT_GOAL_NONE};
        flow->last[c] = c;
    }
    flow->values_count = flow->cells_count;
    flow_walk(flow, rank);
    order_check check = {flow, MLT_GOAL_NONE, MLT_GOAL_NONE};
    mlt_pass_flow_conflicts(flow, in_order, &check);
    return flow;
}

void mlt_pass_flow_free(mlt_pass_flow *flow)
{
    if (!flow)
        return;
    mlt_goal_reach_free(flow->reach);
    mlt_goal_graph_free(flow->graph);
    free(flow->cells);
    free(flow->values);
    free(flow->reads);
    free(flow->value_at);
    free(flow->read_at);
    free(flow->last);
    free(flow);
}

mlt_pass_flow **mlt_pass_flows_new(const mlt_goal_program *program)
{
    mlt_pass_flow **flows = mlt_xcalloc(program->ranks, sizeof *flows);
    for (uint32_t r = 0; r < program->ranks; r++) {
        flows[r] = mlt_pass_flow_new(program, r);
        mlt_goal_reach_free(flows[r]->reach);
        flows[r]->reach = NULL;
    }
    return flows;
}

void mlt_pass_flows_free(mlt_pass_flow **flows, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r++)
        mlt_pass_flow_free(flows[r]);
    free(flows);
}

void mlt_pass_flow_conflicts(const mlt_pass_flow *flow, mlt_pass_conflict *tell, void *user)
{
    for (uint32_t v = 0; v < flow->values_count; v++) {
        const mlt_pass_value *value = &flow->values[v];
        for (uint32_t r = value->reads; r; r = flow->reads[r - 1].next) {
            uint32_t reader = flow->reads[r - 1].action;
            if (value->writer != MLT_GOAL_NONE)
                tell(user, value->writer, reader);
            if (value->over != MLT_GOAL_NONE && value->over != reader)
                tell(user, reader, value->over);
        }
        if (value->writer != MLT_GOAL_NONE && value->over != MLT_GOAL_NONE)
            tell(user, value->writer, value->over);
    }
}

// ---- what counts at the end

static bool named(const char *keep, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = keep; *at;) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word + (at[word] == ',');
    }
    return false;
}

bool *mlt_pass_kept(const mlt_goal_program *program, uint32_t rank, const char *keep)
{
    const mlt_goal_rank *r = &program->rank[rank];
    bool *kept = mlt_xcalloc((size_t)r->buffers_count + 1, sizeof *kept);
    kept[0] = !keep || named(keep, "memory");
    for (uint32_t b = 0; b < r->buffers_count; b++)
        kept[b + 1] = !keep || named(keep, mlt_goal_name_text(program, r->buffers[b].name));
    return kept;
}

mlt_status mlt_pass_keep_valid(const mlt_goal_program *program, const char *keep, char *why,
                               size_t why_size)
{
    for (const char *at = keep; at && *at;) {
        size_t word = strcspn(at, ",");
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(word < 255 ? word : 255), at);
        bool found = strcmp(name, "memory") == 0;
        for (uint32_t r = 0; r < program->ranks && !found; r++)
            found = mlt_goal_buffer_find(program, r, name) != MLT_GOAL_NOWHERE;
        if (!found)
            return mlt_fail(
                MLT_ERR_INVALID, why, why_size,
                "no rank has a buffer \"%s\" to keep; name buffers of the program, or memory "
                "for its plain addresses",
                name);
        at += word + (at[word] == ',');
    }
    return MLT_OK;
}

// ---- posting a receive later

enum { LOCAL_WORK = 64 }; // actions that are looked at

static bool flow_ready(const mlt_goal_rank *rank, mlt_goal_reach *reach, uint32_t other,
                       uint32_t recv, uint32_t *budget)
{
    if (*budget == 0 || mlt_goal_plain(other) == recv)
        return false;
    --*budget;
    if (mlt_goal_reach_before(reach, mlt_goal_plain(other), recv) ||
        (other & MLT_GOAL_STARTED && mlt_goal_reach_starts(reach, mlt_goal_plain(other), recv)))
        return true;
    other = mlt_goal_plain(other);
    if (rank->actions[other].kind != MLT_GOAL_EXEC && rank->actions[other].kind != MLT_GOAL_NOP)
        return false;
    const mlt_goal_graph *graph = reach->graph;
    for (uint32_t e = graph->before_at[other]; e < graph->before_at[other + 1]; e++)
        if (!flow_ready(rank, reach, graph->before[e], recv, budget))
            return false;
    return true;
}

bool mlt_pass_ready_by(const mlt_goal_rank *rank, mlt_goal_reach *reach, uint32_t other,
                       uint32_t recv)
{
    uint32_t budget = LOCAL_WORK;
    return flow_ready(rank, reach, other, recv, &budget);
}
