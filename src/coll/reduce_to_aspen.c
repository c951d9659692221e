// SPDX-License-Identifier: BSD-3-Clause
// Reduction from any ranks to any others: Aspen's algorithm, see reduce_to.h. What is combined
// depends on the load, so the operation must commute; all receivers get the same bits.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/reduce_to.h"

typedef struct state {
    const mlt_emit *e;
    mlt_goal_span in, acc, tmp; // acc: where the result or a part of it is built
    bool empty;                 // acc
    uint32_t last;
} state;

static void combine(state *s, uint32_t from, uint32_t sent)
{
    const mlt_emit *e = s->e;
    if (s->empty) {
        s->last = mlt_emit_exec(e, s->acc, s->in, mlt_emit_recv(e, s->acc, from, NONE));
        s->empty = false;
        return;
    }
    mlt_goal_span at = mlt_emit_part(s->tmp, 0, e->n);
    s->tmp.at += e->n;
    uint32_t exec = mlt_emit_exec(e, s->acc, at, mlt_emit_recv(e, at, from, NONE));
    mlt_emit_after(e, exec, sent != NONE ? sent : s->last);
    s->last = exec;
}

static void follow(state *s, mlt_reduce_to_edge edge)
{
    const mlt_emit *e = s->e;
    bool from = edge.from == e->rank;
    uint32_t other = from ? edge.to : edge.from, sent = NONE;
    if (edge.kind == MLT_REDUCE_TO_TELL && !from) {
        s->last = mlt_emit_recv(e, s->acc, other, NONE);
        s->empty = false;
        return;
    }
    if (from || edge.kind == MLT_REDUCE_TO_MEET)
        sent = mlt_emit_send(e, s->empty ? s->in : s->acc, other, s->last);
    if (!from || edge.kind == MLT_REDUCE_TO_MEET)
        combine(s, other, sent);
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_reduce_to_plan plan =
        mlt_reduce_to_plan_new(e.ranks, shape->contributes, shape->receives, shape->user);
    state s = {.e = &e, .empty = true, .last = NONE};
    uint32_t combines = 0;
    for (uint32_t i = 0; i < plan.count; i++) {
        mlt_reduce_to_edge at = plan.edges[i];
        bool from = at.from == rank, to = at.to == rank;
        combines +=
            at.kind == MLT_REDUCE_TO_MEET ? from || to : to && at.kind != MLT_REDUCE_TO_TELL;
    }
    bool gives = !shape->contributes || shape->contributes[rank];
    bool gets = !shape->receives || shape->receives[rank];
    if (gives)
        s.in = mlt_emit_buffer(&e, "in", e.n);
    if (gets)
        s.acc = mlt_emit_buffer(&e, "out", e.n);
    else if (combines)
        s.acc = mlt_emit_buffer(&e, "tmp_acc", e.n);
    if (combines > 1)
        s.tmp = mlt_emit_buffer(&e, "tmp", (combines - 1) * e.n);
    for (uint32_t i = 0; i < plan.count; i++)
        if (plan.edges[i].from == rank || plan.edges[i].to == rank)
            follow(&s, plan.edges[i]);
    if (gives && gets && s.empty) // the result is its own
        mlt_emit_copy(&e, s.acc, s.in, NONE);
    mlt_reduce_to_plan_free(&plan);
}

const mlt_coll_alg mlt_reduce_to_aspen = {
    .collective = MLT_COLL_REDUCE_TO,
    .name = "aspen",
    .help = "halving, doubling, telling: any contributors and receivers, several at once balanced",
    .refuses = mlt_reduce_to_refuses,
    .emit = emit,
};
