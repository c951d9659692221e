// SPDX-License-Identifier: BSD-3-Clause
// Reductions: a part on each worker with contributors or receivers, and a schedule between them.
//
// A part that would only hand on is left out, as in Figure 7(b) of the paper: if its worker's one
// contributor can send to the part that would be given the value, or its one receiver can hear from
// the part that would tell it:
//
//     worker 1    worker 0                 worker 1    worker 0
//     p[1] ─> r ═GIVE═> r ─> p[0]          p[1] ─────────> r ─> p[0]
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "flow/lower/lower_int.h"

typedef struct parts {
    mlt_flow_lowerer *w;
    uint32_t node, count;
    uint32_t *worker;
    uint8_t *contributes, *receives;
    uint32_t *ins, *outs, *near; // wires of its worker; a node there
    uint32_t *to;                // the part that stands for it: itself, if it stays
    uint32_t *task;
    mlt_reduce_to_plan plan;
} parts;

static void lower_reduce_meet(parts *p, uint32_t worker)
{
    if (p->w->slot_of[worker] != MLT_FLOW_NONE)
        return;
    p->w->slot_of[worker] = 0;
    p->worker[p->count++] = worker;
}

static void tell_apart(parts *p)
{
    mlt_flow_lowerer *w = p->w;
    uint32_t n = p->node;
    for (uint32_t i = w->in.first[n]; i < w->in.first[n + 1]; i++)
        lower_reduce_meet(p, mlt_flow_wire_to(w, &w->wires[w->in.list[i]]));
    for (uint32_t i = w->out.first[n]; i < w->out.first[n + 1]; i++)
        lower_reduce_meet(p, mlt_flow_wire_from(w, &w->wires[w->out.list[i]]));
    qsort(p->worker, p->count, sizeof *p->worker, mlt_flow_by_number);
    for (uint32_t i = 0; i < p->count; i++) {
        w->slot_of[p->worker[i]] = i;
        p->to[i] = i;
        p->near[i] = n;
    }
    for (uint32_t i = w->in.first[n]; i < w->in.first[n + 1]; i++) {
        const mlt_flow_wire *wire = &w->wires[w->in.list[i]];
        uint32_t at = w->slot_of[mlt_flow_wire_to(w, wire)];
        if (!p->ins[at]++)
            p->near[at] = wire->from;
        p->contributes[at] = true;
    }
    for (uint32_t i = w->out.first[n]; i < w->out.first[n + 1]; i++) {
        const mlt_flow_wire *wire = &w->wires[w->out.list[i]];
        uint32_t at = w->slot_of[mlt_flow_wire_from(w, wire)];
        if (!p->outs[at]++ && !p->ins[at])
            p->near[at] = wire->to;
        p->receives[at] = true;
    }
}

// Finds parts with one edge of the schedule and one wire. Values of one that gives would come among
// those of its receiver, so the order of operands must not matter.
static void lower_reduce_leave_out(parts *p, bool ordered)
{
    uint32_t *edges = mlt_xcalloc(p->count, sizeof *edges);
    for (uint32_t i = 0; i < p->plan.count; i++) {
        edges[p->plan.edges[i].from]++;
        edges[p->plan.edges[i].to]++;
    }
    for (uint32_t i = 0; i < p->plan.count; i++) {
        mlt_reduce_to_edge e = p->plan.edges[i];
        if (e.kind == MLT_REDUCE_TO_GIVE && edges[e.from] == 1 && p->ins[e.from] == 1 &&
            !p->outs[e.from] && !ordered)
            p->to[e.from] = e.to;
        if (e.kind == MLT_REDUCE_TO_TELL && edges[e.to] == 1 && p->outs[e.to] == 1 &&
            !p->ins[e.to] && p->to[e.from] == e.from) {
            p->to[e.to] = e.from;
            p->receives[e.from] = true;
        }
    }
    free(edges);
}

// The longest chain of edges, each done after those before it of both its ends.
static uint32_t rounds_of(const mlt_reduce_to_plan *plan, uint32_t members)
{
    uint32_t most = 0, *at = mlt_xcalloc(members, sizeof *at);
    for (uint32_t i = 0; i < plan->count; i++) {
        mlt_reduce_to_edge e = plan->edges[i];
        uint32_t then = (at[e.from] > at[e.to] ? at[e.from] : at[e.to]) + 1;
        at[e.from] = at[e.to] = then;
        most = then > most ? then : most;
    }
    free(at);
    return most;
}

static mlt_flow_reduction *add_reduction(mlt_flow_lowerer *w, uint32_t node, uint32_t members)
{
    mlt_flow_lowered *l = w->l;
    mlt_flow_reduction *r = MLT_ARRAY_ADD(l->reductions, l->reduction_count, w->reduction_room);
    *r = (mlt_flow_reduction){.node = node,
                              .worker = mlt_flow_arena_take(l->arena, members * sizeof *r->worker),
                              .task = mlt_flow_arena_take(l->arena, members * sizeof *r->task),
                              .contributes = mlt_flow_arena_take(l->arena, members),
                              .receives = mlt_flow_arena_take(l->arena, members)};
    return r;
}

static uint32_t add_member(mlt_flow_lowerer *w, mlt_flow_reduction *r, uint32_t worker,
                           uint32_t near, bool contributes, bool receives)
{
    uint32_t task = mlt_flow_task_add(w, MLT_FLOW_REDUCE, r->node, worker, near);
    w->l->tasks[task].reduction = (uint32_t)(r - w->l->reductions);
    r->worker[r->members] = worker;
    r->task[r->members] = task;
    r->contributes[r->members] = contributes;
    r->receives[r->members++] = receives;
    return task;
}

// Members that stay, and the plan without the others.
static void make_reduction(parts *p)
{
    mlt_flow_reduction *r = add_reduction(p->w, p->node, p->count);
    uint32_t *number = mlt_xcalloc(p->count, sizeof *number);
    for (uint32_t i = 0; i < p->count; i++) {
        number[i] = r->members;
        if (p->to[i] == i)
            p->task[i] =
                add_member(p->w, r, p->worker[i], p->near[i], p->contributes[i], p->receives[i]);
        else
            p->w->l->removed++;
    }
    uint32_t left = 0;
    for (uint32_t i = 0; i < p->plan.count; i++) {
        mlt_reduce_to_edge e = p->plan.edges[i];
        if (p->to[e.from] == e.from && p->to[e.to] == e.to)
            p->plan.edges[left++] = (mlt_reduce_to_edge){number[e.from], number[e.to], e.kind};
    }
    p->plan.count = left;
    r->plan = p->plan;
    r->rounds = rounds_of(&r->plan, r->members);
    free(number);
}

static void spread(mlt_flow_lowerer *w, uint32_t node)
{
    uint64_t wires = (uint64_t)mlt_flow_index_count(w->in.first, node) +
                     mlt_flow_index_count(w->out.first, node);
    uint64_t most = wires < w->sites->workers ? wires : w->sites->workers;
    uint32_t *numbers = mlt_xcalloc(6 * most, sizeof *numbers);
    parts p = {.w = w,
               .node = node,
               .worker = numbers,
               .ins = numbers + most,
               .outs = numbers + 2 * most,
               .near = numbers + 3 * most,
               .to = numbers + 4 * most,
               .task = numbers + 5 * most,
               .contributes = mlt_xcalloc(most, 1),
               .receives = mlt_xcalloc(most, 1)};
    const flow_op *op = mlt_flow_vector_of(w->g, node)->op;
    bool ordered = op && op->ordered;
    tell_apart(&p);
    mlt_flow_members members = {p.count, p.worker, p.contributes, p.receives};
    p.plan = mlt_flow_plan_new(w->sites, &members, w->load, ordered);
    if (!w->how.keep)
        lower_reduce_leave_out(&p, ordered);
    make_reduction(&p);
    for (uint32_t i = w->in.first[node]; i < w->in.first[node + 1]; i++) {
        mlt_flow_wire *wire = &w->wires[w->in.list[i]];
        wire->to_task = p.task[p.to[w->slot_of[mlt_flow_wire_to(w, wire)]]];
    }
    for (uint32_t i = w->out.first[node]; i < w->out.first[node + 1]; i++) {
        mlt_flow_wire *wire = &w->wires[w->out.list[i]];
        wire->from_task = p.task[p.to[w->slot_of[mlt_flow_wire_from(w, wire)]]];
    }
    for (uint32_t i = 0; i < p.count; i++)
        w->slot_of[p.worker[i]] = MLT_FLOW_NONE;
    free(numbers);
    free(p.contributes);
    free(p.receives);
}

void mlt_flow_reduce_make(mlt_flow_lowerer *w, uint32_t node)
{
    if (!w->one_part[node]) {
        spread(w, node);
        return;
    }
    uint32_t home = mlt_flow_home(w, node);
    mlt_flow_reduction *r = add_reduction(w, node, 1);
    uint32_t task =
        add_member(w, r, home, node, true, mlt_flow_index_count(w->out.first, node) > 0);
    mlt_flow_tree_make(w, node, task, home);
    for (uint32_t i = w->in.first[node]; i < w->in.first[node + 1]; i++)
        w->wires[w->in.list[i]].to_task = task;
}
