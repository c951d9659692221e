// SPDX-License-Identifier: BSD-3-Clause
// Tasks on workers: a band for each worker, the lines between tasks, and the edges of reductions'
// schedules with their rounds.
#include <inttypes.h>

#include "base/memory.h"
#include "tools/draw/flow.h"

void mlt_flow_plan_rounds(const mlt_flow_reduction *r, uint32_t *round)
{
    // Each edge is done after those before it of both its ends.
    uint32_t *at = mlt_xcalloc(r->members + 1, sizeof *at);
    for (uint32_t i = 0; i < r->plan.count; i++) {
        mlt_reduce_to_edge e = r->plan.edges[i];
        round[i] = (at[e.from] > at[e.to] ? at[e.from] : at[e.to]) + 1;
        at[e.from] = at[e.to] = round[i];
    }
}

static void add_bands(const mlt_flow_lowered *l, mlt_scene *s)
{
    const mlt_flow_sites *sites = l->placing->sites;
    s->band_count = sites->workers;
    s->band_name = mlt_xcalloc(sites->workers, sizeof *s->band_name);
    s->host_of_band = mlt_xcalloc(sites->workers, sizeof *s->host_of_band);
    s->host_name = mlt_xcalloc(sites->host_count, sizeof *s->host_name);
    for (uint32_t i = 0; i < sites->workers; i++) {
        snprintf(s->band_name[i], sizeof s->band_name[i], "worker %" PRIu32, i);
        s->host_of_band[i] = sites->host_of[i];
    }
    s->host_count = sites->host_count;
    for (uint32_t i = 0; i < sites->host_count; i++)
        snprintf(s->host_name[i], sizeof s->host_name[i], "host %.80s", sites->hosts[i].name);
}

static void flow_placed_add_boxes(const mlt_flow_lowered *l, mlt_scene *s)
{
    const mlt_flow_graph *g = l->graph;
    for (uint32_t t = 0; t < l->task_count; t++) {
        const mlt_flow_task *task = &l->tasks[t];
        const mlt_flow_vector *v = mlt_flow_vector_of(g, task->node);
        mlt_scene_box *b = mlt_scene_add_box(s);
        mlt_flow_node_name(g, task->node, b->title, sizeof b->title);
        b->kind = (mlt_flow_kind)task->kind;
        b->colour = mlt_scene_colour(g, v->module);
        b->group = g->vector_of[task->node];
        b->number = task->node - v->first;
        b->band = task->worker;
        const char *kind = mlt_flow_kind_name((mlt_flow_kind)task->kind);
        snprintf(b->note, sizeof b->note, "%s",
                 v->kind == MLT_FLOW_MODULE                              ? v->module->name
                 : task->kind == MLT_FLOW_REDUCE && v->op && v->op->name ? v->op->name
                                                                         : kind);
        snprintf(b->tip, sizeof b->tip, "%.90s: %.60s on rank %" PRIu32 ", worker %" PRIu32,
                 b->title, v->kind == MLT_FLOW_MODULE ? v->module->name : kind, task->place,
                 task->worker);
    }
}

static void queue_label(const mlt_flow_lowered *l, uint32_t task, uint16_t queue, char *text,
                        size_t size)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(l->graph, l->tasks[task].node);
    bool said = l->tasks[task].kind == MLT_FLOW_MODULE && mlt_scene_has_named(v->module);
    snprintf(text, size, "%s", said ? v->module->queues[queue].name : "");
}

static void add_lines(const mlt_flow_lowered *l, const mlt_flow_heat *heat, mlt_scene *s,
                      mlt_flow_warmth *warmth, bool *known)
{
    const mlt_flow_graph *g = l->graph;
    for (uint32_t i = 0; i < l->line_count; i++) {
        const mlt_flow_line *line = &l->lines[i];
        mlt_scene_link *k = mlt_scene_add_link(s, line->from, line->to);
        char from[MLT_SCENE_NAME], to[MLT_SCENE_NAME];
        k->out = line->out;
        k->in = line->in;
        queue_label(l, line->from, line->out, k->out_label, sizeof k->out_label);
        queue_label(l, line->to, line->in, k->in_label, sizeof k->in_label);
        if (l->tasks[line->from].worker != l->tasks[line->to].worker)
            k->class_ = MLT_SCENE_FAR;
        snprintf(k->tip, sizeof k->tip, "%.90s to %.90s, %" PRIu32 " elements",
                 mlt_flow_task_name(l, line->from, from, sizeof from),
                 mlt_flow_task_name(l, line->to, to, sizeof to), line->cap);
        if (heat) {
            const mlt_flow_edge *e = &g->edges[line->edge];
            mlt_flow_out_name(g, e, from, sizeof from);
            mlt_flow_in_name(g, e, to, sizeof to);
            known[i] = mlt_flow_heat_of(heat, from, to, &warmth[i]);
        }
    }
}

static void add_schedules(const mlt_flow_lowered *l, mlt_scene *s)
{
    for (uint32_t i = 0; i < l->reduction_count; i++) {
        const mlt_flow_reduction *r = &l->reductions[i];
        uint32_t *round = mlt_xcalloc(r->plan.count + 1, sizeof *round);
        mlt_flow_plan_rounds(r, round);
        for (uint32_t e = 0; e < r->plan.count; e++) {
            mlt_reduce_to_edge edge = r->plan.edges[e];
            char name[MLT_SCENE_NAME];
            mlt_scene_link *k = mlt_scene_add_link(s, r->task[edge.from], r->task[edge.to]);
            k->class_ = MLT_SCENE_SCHEDULE;
            k->loose = true;
            k->both = edge.kind == MLT_REDUCE_TO_MEET;
            k->out = k->in = 500;
            snprintf(k->text, sizeof k->text, "%" PRIu32, round[e]);
            snprintf(k->tip, sizeof k->tip,
                     "%.80s, round %" PRIu32 ": worker %" PRIu32 " %s worker "
                     "%" PRIu32,
                     mlt_flow_node_name(l->graph, r->node, name, sizeof name), round[e],
                     r->worker[edge.from],
                     edge.kind == MLT_REDUCE_TO_GIVE   ? "gives its part to"
                     : edge.kind == MLT_REDUCE_TO_MEET ? "and"
                                                       : "tells",
                     r->worker[edge.to]);
        }
    }
}

void mlt_scene_of_tasks(const mlt_flow_lowered *l, const mlt_flow_heat *heat, mlt_scene *s)
{
    mlt_flow_warmth *warmth = mlt_xcalloc(l->line_count + 1, sizeof *warmth);
    bool *known = mlt_xcalloc(l->line_count + 1, sizeof *known);
    add_bands(l, s);
    flow_placed_add_boxes(l, s);
    add_lines(l, heat, s, warmth, known);
    if (heat)
        mlt_flow_heat_apply(s, warmth, known);
    add_schedules(l, s);
}
