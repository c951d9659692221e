// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "flow/graph/arena.h"
#include "flow/graph/graph_int.h"
#include "flow/graph/hint.h"
#include "flow/graph/index.h"

// ---- messages

void mlt_flow_graph_say(mlt_flow_builder *b, const char *file, int line, mlt_flow_severity severity,
                        const char *format, ...)
{
    mlt_flow_graph *g = b->graph;
    char text[600];
    MLT_TEXT_PRINT(text, sizeof text, format);
    // What is wrong in a nested root is so in each of its instances: once is enough.
    for (uint32_t i = 0; i < g->sentence_count; i++)
        if (g->sentences[i].line == line && strcmp(g->sentences[i].text, text) == 0)
            return;
    g->errors += severity == MLT_FLOW_ERROR;
    if (g->sentence_count >= MLT_FLOW_SENTENCES)
        return;
    *MLT_ARRAY_ADD(g->sentences, g->sentence_count, b->sentence_room) =
        (mlt_flow_graph_message){.file = file,
                                 .line = line,
                                 .warning = severity == MLT_FLOW_WARNING,
                                 .text = mlt_flow_arena_text(g->arena, text, strlen(text))};
}

bool mlt_flow_once(mlt_flow_builder *b, mlt_flow_told what, int line)
{
    for (uint32_t i = 0; i < b->told_count; i++)
        if (b->told[i].what == what && b->told[i].line == line)
            return false;
    if (b->told_count < MLT_FLOW_SENTENCES) {
        b->told[b->told_count].what = what;
        b->told[b->told_count++].line = line;
    }
    return true;
}

// ---- names

const char *mlt_flow_kind_name(mlt_flow_kind kind)
{
    static const char *const names[MLT_FLOW_KINDS] = {"module", "Reduce", "Broadcast", "Deal",
                                                      "Collect"};
    return names[kind];
}

const char *mlt_flow_node_name(const mlt_flow_graph *g, uint32_t node, char *text, size_t size)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(g, node);
    if (v->scalar)
        snprintf(text, size, "%s", v->name);
    else
        snprintf(text, size, "%s[%u]", v->name, node - v->first);
    return text;
}

static const char *queue_name(const mlt_flow_graph *g, uint32_t node, uint16_t queue, char *text,
                              size_t size)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(g, node);
    mlt_flow_node_name(g, node, text, size);
    size_t used = strlen(text);
    if (v->kind == MLT_FLOW_MODULE)
        snprintf(text + used, size - used, ".%s", v->module->queues[queue].name);
    return text;
}

const char *mlt_flow_out_name(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                              size_t size)
{
    return queue_name(g, e->from, e->out, text, size);
}

const char *mlt_flow_in_name(const mlt_flow_graph *g, const mlt_flow_edge *e, char *text,
                             size_t size)
{
    return queue_name(g, e->to, e->in, text, size);
}

const char *mlt_flow_pin_text(const mlt_flow_pin *pin, char *text, size_t size)
{
    if (!pin->host)
        snprintf(text, size, "%ld", pin->place);
    else if (pin->place < 0)
        snprintf(text, size, "%s", pin->host);
    else
        snprintf(text, size, "%s:%ld", pin->host, pin->place);
    return text;
}

const char *mlt_flow_end_name(const mlt_flow_builder *b, mlt_flow_end end, char *text, size_t size)
{
    if (!(end.id & MLT_FLOW_PORT))
        return queue_name(b->graph, end.id, end.queue, text, size);
    const mlt_flow_port *port = &b->ports.at[end.id & ~MLT_FLOW_PORT];
    const mlt_flow_roots *r = &b->root_vectors.at[b->instances.at[port->instance].root_vector];
    const char *queue = r->root->queues[port->queue].name;
    if (r->scalar)
        snprintf(text, size, "%s.%s", r->name, queue);
    else
        snprintf(text, size, "%s[%u].%s", r->name, port->instance - r->first, queue);
    return text;
}

// ---- from the beginning to the end

static void sort_edges(mlt_flow_builder *b)
{
    mlt_flow_graph *g = b->graph;
    uint32_t *order = NULL;
    if (b->first_at) { // edges by where their source was wired
        uint32_t most = 0;
        for (uint32_t e = 0; e < g->edge_count; e++)
            most = b->first_at[e] > most ? b->first_at[e] : most;
        mlt_flow_key_column keys = {b->first_at, sizeof *b->first_at, 0, g->edge_count};
        order = mlt_flow_index_new(g->arena, keys, most + 1, NULL).list;
    }
    g->out = mlt_flow_index_new(g->arena, MLT_FLOW_KEY_COLUMN(g->edges, g->edge_count, from),
                                g->node_count, order);
    g->in = mlt_flow_index_new(g->arena, MLT_FLOW_KEY_COLUMN(g->edges, g->edge_count, to),
                               g->node_count, NULL);
}

// A Reduce that leads nowhere gives its result to all contributors.
static void add_receivers(mlt_flow_builder *b)
{
    mlt_flow_graph *g = b->graph;
    uint32_t wired = g->edge_count;
    uint32_t *seen = NULL; // by node: the collective that it receives from
    for (uint32_t c = 0; c < b->collectives.count; c++) {
        const mlt_flow_collective *r = &b->collectives.at[c];
        if (r->out_statement || mlt_flow_vector_of(g, r->node)->kind != MLT_FLOW_REDUCE)
            continue;
        if (!seen)
            seen = mlt_xcalloc(g->node_count, sizeof *seen);
        for (uint32_t i = g->in.first[r->node]; i < g->in.first[r->node + 1]; i++) {
            uint32_t n = g->edges[g->in.list[i]].from;
            const mlt_flow_vector *v = mlt_flow_vector_of(g, n);
            uint16_t in = b->modules.at[b->vector_info.at[g->vector_of[n]].module].in;
            char text[200], who[200];
            if (v->kind != MLT_FLOW_MODULE || in == UINT16_MAX) {
                mlt_flow_graph_say(
                    b, b->root->file, r->in_line, MLT_FLOW_ERROR,
                    "%s leads nowhere, so its result goes to all contributors, but %s %s",
                    mlt_flow_node_name(g, r->node, text, sizeof text),
                    mlt_flow_node_name(g, n, who, sizeof who),
                    v->kind != MLT_FLOW_MODULE ? "cannot take it" : "has no default input");
                break;
            }
            if (seen[n] == c + 1)
                continue;
            seen[n] = c + 1;
            mlt_flow_mark_input(b, n, in);
            *MLT_ARRAY_ADD(g->edges, g->edge_count, b->edge_room) =
                (mlt_flow_edge){.from = r->node, .to = n, .in = in, .line = r->in_line};
        }
    }
    free(seen);
    if (g->edge_count == wired)
        return;
    if (b->first_at) {
        b->first_at = mlt_xrealloc(b->first_at, g->edge_count, sizeof *b->first_at);
        for (uint32_t e = wired; e < g->edge_count; e++)
            b->first_at[e] = b->first_at[wired ? wired - 1 : 0];
    }
    sort_edges(b);
}

static void graph_check_given(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (size_t i = 0; i < b->given_count; i++) {
        const char **names = mlt_xcalloc(g->constant_count, sizeof *names);
        bool there = false;
        for (uint32_t k = 0; k < g->constant_count; k++) {
            names[k] = g->constants[k].name;
            there |= strcmp(names[k], b->given[i].name) == 0;
        }
        char hint[300];
        mlt_flow_hint(hint, sizeof hint, b->given[i].name, names, g->constant_count);
        if (!there)
            mlt_flow_graph_say(b, b->root->file, b->root->line, MLT_FLOW_ERROR,
                               "-D %s=%ld: %s has no constant of that name%s", b->given[i].name,
                               b->given[i].value, b->root->name, *hint ? hint : ", and no other");
        free(names);
    }
}

static void call_root(void *arg, const flow_root *root, flow_wiring *w)
{
    (void)arg;
    root->wire(w);
}

static void builder_free(mlt_flow_builder *b)
{
    free(b->vector_info.at);
    free(b->modules.at);
    free(b->collectives.at);
    free(b->root_vectors.at);
    free(b->instances.at);
    free(b->ports.at);
    free(b->from.at);
    free(b->to.at);
    free(b->first_at);
}

mlt_flow_graph *mlt_flow_graph_by(const flow_root *root, const mlt_flow_given *given,
                                  size_t given_count, mlt_flow_wirer *wire, void *arg)
{
    mlt_flow_graph *g = mlt_xcalloc(1, sizeof *g);
    g->arena = mlt_flow_arena_new(MLT_FLOW_ALIGNED);
    mlt_flow_builder b = {
        .graph = g,
        .root = root,
        .wire = wire,
        .arg = arg,
        .given = given,
        .given_count = given_count,
    };
    flow_wiring w = {.builder = &b, .root = root, .prefix = "", .copies = 1};
    if (root->queue_count)
        mlt_flow_graph_say(&b, root->file, root->line, MLT_FLOW_ERROR,
                           "%s is the main root, which has no queues, but it declares the queue %s",
                           root->name, root->queues[0].name);
    wire(arg, root, &w);
    mlt_flow_wiring_fini(&w);
    if (!g->node_count && !g->errors)
        mlt_flow_graph_say(&b, root->file, root->line, MLT_FLOW_ERROR,
                           "%s has no instances: there is nothing to run", root->name);
    graph_check_given(&b);
    mlt_flow_check_parameters(&b);
    mlt_flow_check_wires(&b);
    mlt_flow_resolve_ports(&b);
    sort_edges(&b);
    add_receivers(&b);
    mlt_flow_check_whole(&b);
    builder_free(&b);
    return g;
}

mlt_flow_graph *mlt_flow_graph_new(const flow_root *root, const mlt_flow_given *given,
                                   size_t given_count)
{
    return mlt_flow_graph_by(root, given, given_count, call_root, NULL);
}

void mlt_flow_graph_free(mlt_flow_graph *g)
{
    if (!g)
        return;
    mlt_flow_arena_free(g->arena);
    free(g->vectors);
    free(g->vector_of);
    free(g->edges);
    free(g->pins);
    free(g->constants);
    free(g->sentences);
    free(g);
}
