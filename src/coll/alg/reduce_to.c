// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/reduce_to.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "coll/alg/emit.h"
#include "coll/alg/partial.h"

// ---- load

mlt_reduce_to_load *mlt_reduce_to_load_new(uint32_t ranks)
{
    mlt_reduce_to_load *load = mlt_xcalloc(1, sizeof *load);
    load->ranks = ranks;
    load->in = mlt_xcalloc(ranks, sizeof *load->in);
    load->out = mlt_xcalloc(ranks, sizeof *load->out);
    return load;
}

void mlt_reduce_to_load_free(mlt_reduce_to_load *load)
{
    if (!load)
        return;
    free(load->in);
    free(load->out);
    free(load);
}

static void load_edge(mlt_reduce_to_load *load, mlt_reduce_to_edge edge)
{
    load->out[edge.from]++;
    load->in[edge.to]++;
    if (edge.kind == MLT_REDUCE_TO_MEET) {
        load->out[edge.to]++;
        load->in[edge.from]++;
    }
}

void mlt_reduce_to_load_add(mlt_reduce_to_load *load, const mlt_coll_shape *shape)
{
    mlt_reduce_to_plan plan =
        mlt_reduce_to_plan_new(shape->ranks, shape->contributes, shape->receives, load);
    mlt_reduce_to_plan_count(&plan, load);
    mlt_reduce_to_plan_free(&plan);
}

void mlt_reduce_to_plan_count(const mlt_reduce_to_plan *plan, mlt_reduce_to_load *load)
{
    for (uint32_t i = 0; i < plan->count; i++)
        load_edge(load, plan->edges[i]);
}

// ---- plan

typedef struct reduce_to_node {
    uint32_t rank;
    bool needs;       // the result, by taking part to the end
    int64_t receives; // edges in less edges out: the more, the sooner it gives its part away
    uint64_t edges;
} reduce_to_node;

typedef struct planner {
    mlt_reduce_to_plan plan;
    uint32_t plan_room;
    mlt_reduce_to_load *load;      // a copy, that grows with the plan
    reduce_to_node *active, *told; // ranks that hold a part; ranks that are told at the end
    uint32_t actives, tells, needs;
} planner;

static void edge(planner *p, uint32_t from, uint32_t to, mlt_reduce_to_kind kind)
{
    *MLT_ARRAY_ADD(p->plan.edges, p->plan.count, p->plan_room) =
        (mlt_reduce_to_edge){from, to, kind};
    load_edge(p->load, p->plan.edges[p->plan.count - 1]);
}

// Those that need the result first, then those that should rather receive than send.
static int by_load(const void *x, const void *y)
{
    const reduce_to_node *a = x, *b = y;
    if (a->needs != b->needs)
        return a->needs ? -1 : 1;
    if (a->receives != b->receives)
        return a->receives < b->receives ? -1 : 1;
    if (a->edges != b->edges)
        return a->edges < b->edges ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void sort(planner *p, reduce_to_node *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t r = nodes[i].rank, in = p->load->in[r], out = p->load->out[r];
        nodes[i].receives = (int64_t)in - out;
        nodes[i].edges = (uint64_t)in + out;
    }
    qsort(nodes, count, sizeof *nodes, by_load);
}

// The last `count` of those that hold a part give it to the first ones. Those of them that need the
// result are told later.
static void give(planner *p, uint32_t count)
{
    sort(p, p->active, p->actives);
    uint32_t stay = p->actives - count;
    for (uint32_t i = 0; i < count; i++) {
        reduce_to_node *from = &p->active[stay + i];
        edge(p, from->rank, p->active[i].rank, MLT_REDUCE_TO_GIVE);
        if (from->needs) {
            p->told[p->tells++] = *from;
            p->needs--;
        }
    }
    p->actives = stay;
}

static uint32_t wanted(const planner *p)
{
    return p->needs > p->tells ? p->needs : p->tells;
}

// Recursive doubling; the first `keep` get the result.
static void meet(planner *p, uint32_t keep)
{
    for (uint32_t step = 1; step < p->actives; step *= 2)
        for (uint32_t i = 0; i < p->actives; i++) {
            uint32_t j = i ^ step;
            bool last = 2 * step == p->actives;
            if (i > j)
                continue;
            if (!last || j < keep)
                edge(p, p->active[i].rank, p->active[j].rank, MLT_REDUCE_TO_MEET);
            else if (i < keep)
                edge(p, p->active[j].rank, p->active[i].rank, MLT_REDUCE_TO_GIVE);
        }
}

// The first `have` have the result and tell those that wait for it, which then tell others.
static void reduce_to_tell(planner *p, uint32_t have)
{
    uint32_t done = 0;
    reduce_to_node *holders = mlt_xcalloc((size_t)have + p->tells, sizeof *holders);
    memcpy(holders, p->active, have * sizeof *holders);
    sort(p, p->told, p->tells);
    while (done < p->tells) {
        uint32_t count = have;
        for (uint32_t i = 0; i < count && done < p->tells; i++, done++) {
            edge(p, holders[i].rank, p->told[done].rank, MLT_REDUCE_TO_TELL);
            holders[have++] = p->told[done];
        }
    }
    free(holders);
}

static planner reduce_to_begin(uint32_t ranks, const uint8_t *contributes, const uint8_t *receives,
                               const mlt_reduce_to_load *load)
{
    planner p = {.load = mlt_reduce_to_load_new(ranks),
                 .active = mlt_xcalloc(ranks, sizeof *p.active),
                 .told = mlt_xcalloc(ranks, sizeof *p.told)};
    if (load) {
        memcpy(p.load->in, load->in, ranks * sizeof *load->in);
        memcpy(p.load->out, load->out, ranks * sizeof *load->out);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        reduce_to_node n = {.rank = r, .needs = mlt_reduce_to_has(receives, r)};
        if (mlt_reduce_to_has(contributes, r)) {
            p.active[p.actives++] = n;
            p.needs += n.needs;
        } else if (n.needs) {
            p.told[p.tells++] = n;
        }
    }
    return p;
}

mlt_reduce_to_plan mlt_reduce_to_plan_new(uint32_t ranks, const uint8_t *contributes,
                                          const uint8_t *receives, const mlt_reduce_to_load *load)
{
    planner p = reduce_to_begin(ranks, contributes, receives, load);
    if (p.actives && wanted(&p)) {
        uint32_t power = 1u << (31 - __builtin_clz(p.actives));
        if (p.actives > power)
            give(&p, p.actives - power);
        while (p.actives > 1 && p.actives >= 2 * wanted(&p))
            give(&p, p.actives / 2);
        sort(&p, p.active, p.actives);
        uint32_t keep = wanted(&p) < p.actives ? wanted(&p) : p.actives;
        meet(&p, keep);
        reduce_to_tell(&p, keep);
    }
    mlt_reduce_to_load_free(p.load);
    free(p.active);
    free(p.told);
    return p.plan;
}

void mlt_reduce_to_plan_free(mlt_reduce_to_plan *plan)
{
    free(plan->edges);
}

const char *mlt_reduce_to_refuses(const mlt_coll_shape *shape)
{
    for (uint32_t r = 0; r < shape->ranks; r++)
        if (mlt_reduce_to_has(shape->contributes, r))
            return NULL;
    return "there must be a rank that contributes";
}

// ---- as GOAL

// gave: what left acc for good; the result may come there afterwards.
static void follow(mlt_partial *s, mlt_reduce_to_edge edge, uint32_t *gave)
{
    const mlt_emit *e = s->e;
    bool from = edge.from == e->rank;
    uint32_t other = from ? edge.to : edge.from, sent = NONE;
    if (edge.kind == MLT_REDUCE_TO_TELL && !from) {
        s->last = mlt_emit_recv(e, s->acc, other, *gave);
        s->empty = false;
        return;
    }
    if (from || edge.kind == MLT_REDUCE_TO_MEET)
        sent = mlt_partial_send(s, other);
    if (edge.kind == MLT_REDUCE_TO_GIVE && from && !s->empty)
        *gave = sent;
    if (!from || edge.kind == MLT_REDUCE_TO_MEET)
        mlt_partial_take(s, other, sent);
}

void mlt_reduce_to_plan_emit(const mlt_reduce_to_plan *plan, const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_partial s = {.e = e, .empty = true, .last = NONE};
    uint32_t combines = 0, gave = NONE;
    for (uint32_t i = 0; i < plan->count; i++) {
        mlt_reduce_to_edge at = plan->edges[i];
        bool from = at.from == rank, to = at.to == rank;
        combines +=
            at.kind == MLT_REDUCE_TO_MEET ? from || to : to && at.kind != MLT_REDUCE_TO_TELL;
    }
    bool gives = mlt_reduce_to_has(e->shape->contributes, rank);
    bool gets = mlt_reduce_to_has(e->shape->receives, rank);
    s.in = mlt_emit_buffer_if(e, gives, "in", e->n);
    s.acc = mlt_emit_buffer_if(e, gets || combines, gets ? "out" : "tmp_acc", e->n);
    s.tmp = mlt_emit_buffer_if(e, combines > 1, "tmp", (combines - 1) * e->n);
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->edges[i].from == rank || plan->edges[i].to == rank)
            follow(&s, plan->edges[i], &gave);
    if (gives && gets && s.empty) // the result is its own
        mlt_emit_copy(e, s.acc, s.in, NONE);
}
