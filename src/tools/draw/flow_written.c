// SPDX-License-Identifier: BSD-3-Clause
// The graph as written: a box for each instance, or for a large vector; a link for each wire, or
// for all wires between the same queues of two such boxes.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/memory.h"
#include "tools/draw/flow.h"
#include "tools/flow/print.h"

typedef struct making {
    const mlt_flow_graph *g;
    uint32_t expand;
    mlt_scene *s;
    uint32_t *box_of; // [vectors]: its first box
} making;

static bool is_folded(const making *m, const mlt_flow_vector *v)
{
    return v->count > m->expand;
}

static uint32_t box_of(const making *m, uint32_t node)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(m->g, node);
    return m->box_of[v - m->g->vectors] + (is_folded(m, v) ? 0 : node - v->first);
}

uint32_t mlt_scene_colour(const mlt_flow_graph *g, const flow_module *module)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < g->vector_count; v++) {
        bool first = g->vectors[v].kind == MLT_FLOW_MODULE;
        if (g->vectors[v].module == module)
            return n;
        for (uint32_t k = 0; k < v && first; k++)
            first = g->vectors[k].module != g->vectors[v].module;
        n += first;
    }
    return n;
}

bool mlt_scene_has_named(const flow_module *module)
{
    for (size_t i = 0; i < module->queue_count; i++)
        if (strcmp(module->queues[i].name, "in") != 0 && strcmp(module->queues[i].name, "out") != 0)
            return true;
    return false;
}

static void describe(const mlt_flow_vector *v, mlt_scene_box *b)
{
    const char *name = v->kind == MLT_FLOW_MODULE ? v->module->name : mlt_flow_kind_name(v->kind);
    bool op = v->kind == MLT_FLOW_REDUCE && v->op;
    snprintf(b->note, sizeof b->note, "%s", op ? v->op->name : name);
    snprintf(b->tip, sizeof b->tip, "%s: %s%s%s%s, line %d", b->title, name, v->op ? " (" : "",
             v->op ? v->op->name : "", v->op ? ")" : "", v->line);
}

static void flow_written_add_boxes(making *m)
{
    const mlt_flow_graph *g = m->g;
    for (uint32_t i = 0; i < g->vector_count; i++) {
        const mlt_flow_vector *v = &g->vectors[i];
        uint32_t colour = mlt_scene_colour(g, v->module), boxes = is_folded(m, v) ? 1 : v->count;
        m->box_of[i] = m->s->box_count;
        for (uint32_t k = 0; k < boxes; k++) {
            mlt_scene_box *b = mlt_scene_add_box(m->s);
            if (is_folded(m, v))
                snprintf(b->title, sizeof b->title, "%s[0..%" PRIu32 "]", v->name, v->count - 1);
            else
                mlt_flow_node_name(g, v->first + k, b->title, sizeof b->title);
            b->many = is_folded(m, v);
            b->kind = v->kind;
            b->colour = colour;
            b->group = i;
            b->number = k;
            describe(v, b);
        }
    }
}

// ---- links

// "out", or "outQueue1[0,2]" if they are some of a folded box only; "" for usual ones.
static void end_label(const making *m, const mlt_flow_vector *v, uint16_t queue, bool input,
                      const uint32_t *index, size_t count, char *text, size_t size)
{
    char range[MLT_SCENE_NAME];
    bool module = v->kind == MLT_FLOW_MODULE;
    const char *usual = input ? "in" : "out";
    const char *name = module ? v->module->queues[queue].name : "";
    if (module && !mlt_scene_has_named(v->module) && strcmp(name, usual) == 0)
        name = "";
    *text = '\0';
    if (is_folded(m, v) && count < v->count) {
        mlt_flow_range(v, index, count, range, sizeof range);
        snprintf(text, size, "%s%s", name, range + strlen(v->name));
    } else {
        snprintf(text, size, "%s", name);
    }
}

// Of edges between the same boxes and queues: which instances, in order and once each.
static size_t distinct(uint32_t *index, size_t count)
{
    size_t n = 0;
    qsort(index, count, sizeof *index, mlt_compare_ascending32);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || index[n - 1] != index[i])
            index[n++] = index[i];
    return n;
}

typedef struct bundle { // edges that are one link
    uint32_t from, to;
    uint16_t out, in;
    uint32_t edge; // number
} bundle;

static int flow_written_by_ends(const void *a, const void *b)
{
    const bundle *x = a, *y = b;
    return mlt_compare_words((uint64_t[]){x->from, x->to, x->out, x->in, x->edge},
                             (uint64_t[]){y->from, y->to, y->out, y->in, y->edge}, 5);
}

static bool same_link(const bundle *x, const bundle *y)
{
    return x->from == y->from && x->to == y->to && x->out == y->out && x->in == y->in;
}

static void warm(const mlt_flow_graph *g, const mlt_flow_heat *heat, const mlt_flow_edge *e,
                 mlt_flow_warmth *sum, bool *known)
{
    char from[MLT_SCENE_NAME], queue[MLT_SCENE_NAME];
    mlt_flow_out_name(g, e, from, sizeof from);
    mlt_flow_in_name(g, e, queue, sizeof queue);
    *known = mlt_flow_heat_of(heat, from, queue, sum) || *known;
}

static void fill_link(making *m, mlt_scene_link *l, const bundle *some, size_t count)
{
    const mlt_flow_graph *g = m->g;
    const mlt_flow_edge *e = &g->edges[some->edge];
    const mlt_flow_vector *from = mlt_flow_vector_of(g, e->from),
                          *to = mlt_flow_vector_of(g, e->to);
    uint32_t *index = mlt_xcalloc(count, sizeof *index);
    char out[48], in[48], lines[64];
    for (size_t i = 0; i < count; i++)
        index[i] = g->edges[some[i].edge].from - from->first;
    end_label(m, from, e->out, false, index, distinct(index, count), l->out_label,
              sizeof l->out_label);
    for (size_t i = 0; i < count; i++)
        index[i] = g->edges[some[i].edge].to - to->first;
    end_label(m, to, e->in, true, index, distinct(index, count), l->in_label, sizeof l->in_label);
    l->ahead = l->from == l->to;
    for (size_t i = 0; i < count && l->ahead; i++)
        l->ahead = g->edges[some[i].edge].from < g->edges[some[i].edge].to;
    // A port is a queue, and of a folded box a queue of certain instances.
    l->out = from->kind == MLT_FLOW_MODULE ? e->out : 0;
    l->in = to->kind == MLT_FLOW_MODULE ? e->in : 0;
    if (is_folded(m, from) && strchr(l->out_label, '['))
        l->out += 1000 * (1 + some->edge);
    if (is_folded(m, to) && strchr(l->in_label, '['))
        l->in += 1000 * (1 + some->edge);
    if (count > 1)
        snprintf(l->text, sizeof l->text, "%zu", count);
    const char *type = NULL;
    if (from->kind == MLT_FLOW_MODULE)
        type = from->module->queues[e->out].type;
    if (!type && to->kind == MLT_FLOW_MODULE)
        type = to->module->queues[e->in].type;
    snprintf(lines, sizeof lines, ", line %d%s%s", e->line, type ? ", " : "", type ? type : "");
    snprintf(l->tip, sizeof l->tip, "%.60s%.30s to %.60s%.30s%s", m->s->boxes[l->from].title,
             mlt_flow_out_suffix(g, e, out, sizeof out), m->s->boxes[l->to].title,
             mlt_flow_in_suffix(g, e, in, sizeof in), lines);
}

// Links in the order of their first edges, which decides what is a back edge.
static int by_first(const void *a, const void *b, void *arg)
{
    const bundle *all = arg;
    uint32_t x = all[*(const uint32_t *)a].edge, y = all[*(const uint32_t *)b].edge;
    return x < y ? -1 : x > y;
}

static void add_links(making *m, const mlt_flow_heat *heat)
{
    const mlt_flow_graph *g = m->g;
    bundle *all = mlt_xcalloc(g->edge_count + 1, sizeof *all);
    uint32_t *start = mlt_xcalloc(g->edge_count + 1, sizeof *start), links = 0;
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const mlt_flow_edge *e = &g->edges[i];
        all[i] = (bundle){box_of(m, e->from), box_of(m, e->to), e->out, e->in, i};
    }
    qsort(all, g->edge_count, sizeof *all, flow_written_by_ends);
    for (uint32_t i = 0; i < g->edge_count; i++)
        if (i == 0 || !same_link(&all[i - 1], &all[i]))
            start[links++] = i;
    qsort_r(start, links, sizeof *start, by_first, all);
    mlt_flow_warmth *warmth = mlt_xcalloc(links + 1, sizeof *warmth);
    bool *known = mlt_xcalloc(links + 1, sizeof *known);
    for (uint32_t k = 0; k < links; k++) {
        uint32_t i = start[k], n = 1;
        while (i + n < g->edge_count && same_link(&all[i], &all[i + n]))
            n++;
        mlt_scene_link *l = mlt_scene_add_link(m->s, all[i].from, all[i].to);
        fill_link(m, l, &all[i], n);
        for (uint32_t j = 0; j < n && heat; j++)
            warm(g, heat, &g->edges[all[i + j].edge], &warmth[k], &known[k]);
    }
    if (heat)
        mlt_flow_heat_apply(m->s, warmth, known);
}

void mlt_scene_of_graph(const mlt_flow_graph *graph, uint32_t expand, const mlt_flow_heat *heat,
                        mlt_scene *scene)
{
    making m = {graph, expand, scene, mlt_xcalloc(graph->vector_count + 1, sizeof *m.box_of)};
    flow_written_add_boxes(&m);
    add_links(&m, heat);
}
