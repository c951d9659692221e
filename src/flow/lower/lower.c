// SPDX-License-Identifier: BSD-3-Clause
// Lowering: the graph as written becomes tasks on workers and lines between them. First wire.c
// decides which edges stay. Then each node gets its tasks, and tells its wires which task they lead
// to or come from; with that, they are lines.
#include "flow/lower/lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/alg/emit.h"
#include "flow/graph/index.h"
#include "flow/lower/lower_int.h"

static void make_one(mlt_flow_lowerer *w, uint32_t n)
{
    uint32_t task = mlt_flow_task_add(w, w->kind[n], n, mlt_flow_home(w, n), n);
    for (uint32_t i = w->in.first[n]; i < w->in.first[n + 1]; i++)
        w->wires[w->in.list[i]].to_task = task;
    for (uint32_t i = w->out.first[n]; i < w->out.first[n + 1]; i++)
        w->wires[w->out.list[i]].from_task = task;
}

static void make_broadcast(mlt_flow_lowerer *w, uint32_t n)
{
    uint32_t worker = mlt_flow_home(w, n);
    if (mlt_flow_index_count(w->in.first, n) == 1)
        worker = mlt_flow_wire_to(w, &w->wires[w->in.list[w->in.first[n]]]);
    uint32_t task = mlt_flow_tree_make(w, n, MLT_FLOW_NONE, worker);
    for (uint32_t i = w->in.first[n]; i < w->in.first[n + 1]; i++)
        w->wires[w->in.list[i]].to_task = task;
}

static void lower_make_tasks(mlt_flow_lowerer *w)
{
    for (uint32_t n = 0; n < w->g->node_count; n++)
        if (w->kind[n] == MLT_FLOW_MODULE)
            make_one(w, n);
    for (uint32_t n = 0; n < w->g->node_count; n++) {
        if (w->gone[n] || w->kind[n] == MLT_FLOW_MODULE)
            continue;
        if (w->kind[n] == MLT_FLOW_REDUCE)
            mlt_flow_reduce_make(w, n);
        else if (w->kind[n] == MLT_FLOW_BROADCAST)
            make_broadcast(w, n);
        else
            make_one(w, n);
    }
}

// Lines between relays come first, so that what goes far leaves first.
static void make_lines(mlt_flow_lowerer *w)
{
    mlt_flow_lowered *l = w->l;
    l->line_count = w->tree_count + w->wire_count;
    l->lines = mlt_flow_arena_take(l->arena, l->line_count * sizeof *l->lines);
    if (w->tree_count)
        memcpy(l->lines, w->tree, w->tree_count * sizeof *l->lines);
    for (uint32_t i = 0; i < w->wire_count; i++) {
        const mlt_flow_wire *wire = &w->wires[i];
        mlt_assert(wire->from_task < l->task_count && wire->to_task < l->task_count);
        l->lines[w->tree_count + i] = (mlt_flow_line){.from = wire->from_task,
                                                      .to = wire->to_task,
                                                      .out = wire->out,
                                                      .in = wire->in,
                                                      .edge = wire->edge,
                                                      .cap = wire->cap,
                                                      .by_bytes = wire->by_bytes};
    }
}

static void index_lines(mlt_flow_lowered *l)
{
    l->out = mlt_flow_index_new(l->arena, MLT_FLOW_KEY_COLUMN(l->lines, l->line_count, from),
                                l->task_count, NULL);
    l->in = mlt_flow_index_new(l->arena, MLT_FLOW_KEY_COLUMN(l->lines, l->line_count, to),
                               l->task_count, NULL);
}

mlt_flow_lowered *mlt_flow_lower(const mlt_flow_graph *graph, const mlt_flow_placing *placing,
                                 const mlt_flow_lowering *how)
{
    const mlt_flow_sites *sites = placing->sites;
    mlt_flow_lowered *l = mlt_xcalloc(1, sizeof *l);
    l->graph = graph;
    l->placing = placing;
    l->arena = mlt_flow_arena_new(MLT_FLOW_ALIGNED);
    mlt_flow_arena *arena = mlt_flow_arena_new(MLT_FLOW_ALIGNED);
    mlt_flow_lowerer w = {
        .g = graph,
        .placing = placing,
        .sites = sites,
        .how = *how,
        .l = l,
        .arena = arena,
        .slot_of = mlt_flow_arena_take(arena, sites->workers * sizeof *w.slot_of),
        .first_place = mlt_flow_arena_take(arena, sites->workers * sizeof *w.first_place),
        .load = how->balance ? mlt_reduce_to_load_new(sites->workers) : NULL,
    };
    memset(w.slot_of, 0xff, sites->workers * sizeof *w.slot_of);
    for (uint32_t p = sites->places; p-- > 0;)
        w.first_place[sites->worker_of[p]] = p;
    mlt_flow_wires_make(&w);
    lower_make_tasks(&w);
    make_lines(&w);
    index_lines(l);
    mlt_reduce_to_load_free(w.load);
    mlt_flow_arena_free(arena);
    free(w.tree);
    return l;
}

void mlt_flow_lowered_free(mlt_flow_lowered *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->reduction_count; i++)
        mlt_reduce_to_plan_free(&l->reductions[i].plan);
    mlt_flow_arena_free(l->arena);
    free(l->reductions);
    free(l->tasks);
    free(l);
}

const char *mlt_flow_task_name(const mlt_flow_lowered *l, uint32_t task, char *text, size_t size)
{
    const mlt_flow_task *t = &l->tasks[task];
    mlt_flow_node_name(l->graph, t->node, text, size);
    size_t used = strlen(text);
    if (t->kind == MLT_FLOW_REDUCE || t->kind == MLT_FLOW_BROADCAST)
        snprintf(text + used, size - used, " on worker %" PRIu32, t->worker);
    return text;
}

void mlt_flow_reduction_emit(const mlt_flow_reduction *reduction, const mlt_coll_shape *shape,
                             mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_shape own = *shape;
    own.ranks = reduction->members;
    own.contributes = reduction->contributes;
    own.receives = reduction->receives;
    mlt_emit e = mlt_emit_begin(&own, program, rank);
    mlt_reduce_to_plan_emit(&reduction->plan, &e);
}
