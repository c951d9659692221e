// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/parameter.h"

#include <limits.h>
#include <string.h>

#include "base/export.h"
#include "base/text.h"
#include "flow/graph/arena.h"
#include "flow/graph/graph_int.h"
#include "flow/graph/hint.h"

// ---- the table

enum {
    MOST_PORT = 65535,
    MOST_CLIENTS = 1 << 20,
    USUAL_CLIENTS = 10000,
    USUAL_LINE = 8192,
    MOST_LINE = 16 << 20,
    USUAL_ELEMENT = 1 << 20,
    MOST_ELEMENT = 1 << 30,
    USUAL_LINGER = 60,
    USUAL_PATIENCE = 5,
};

static const char *const frames[] = {"elements", "lines", "values", NULL};

#define PORT                                                                                       \
    {                                                                                              \
        .name = "port", .most = MOST_PORT, .required = true                                        \
    }
// A port to connect with cannot be any.
#define PEERS_PORT                                                                                 \
    {                                                                                              \
        .name = "port", .least = 1, .most = MOST_PORT, .required = true                            \
    }
#define HOST                                                                                       \
    {                                                                                              \
        .name = "host", .text = "127.0.0.1"                                                        \
    }
#define FRAME                                                                                      \
    {                                                                                              \
        .name = "frame", .text = "elements", .words = frames                                       \
    }
#define LENGTH(normal, limit)                                                                      \
    {                                                                                              \
        .name = "length", .usual = (normal), .least = 1, .most = (limit)                           \
    }
#define CLIENTS                                                                                    \
    {                                                                                              \
        .name = "clients", .usual = USUAL_CLIENTS, .least = 1, .most = MOST_CLIENTS                \
    }
#define SERVE                                                                                      \
    {                                                                                              \
        .name = "serve", .most = LONG_MAX                                                          \
    }
#define SECONDS(of, normal)                                                                        \
    {                                                                                              \
        .name = (of), .usual = (normal), .most = INT32_MAX                                         \
    }

static const mlt_flow_parameter_decl line_server[] = {PORT,
                                                      HOST,
                                                      LENGTH(USUAL_LINE, MOST_LINE),
                                                      CLIENTS,
                                                      SERVE,
                                                      SECONDS("idle", 0),
                                                      SECONDS("linger", USUAL_LINGER)};
static const mlt_flow_parameter_decl tcp_source[] = {
    PORT, HOST, FRAME, LENGTH(USUAL_ELEMENT, MOST_ELEMENT), CLIENTS, SERVE, SECONDS("idle", 0)};
static const mlt_flow_parameter_decl tcp_sink[] = {PEERS_PORT, HOST, FRAME,
                                                   SECONDS("patience", USUAL_PATIENCE)};
static const mlt_flow_parameter_decl udp_source[] = {PORT, HOST, SERVE, SECONDS("idle", 0)};
static const mlt_flow_parameter_decl udp_sink[] = {PEERS_PORT, HOST};

#define MODULE(m, list)                                                                            \
    {                                                                                              \
        m, list, sizeof list / sizeof *list                                                        \
    }
static const struct {
    const char *module;
    const mlt_flow_parameter_decl *decls;
    size_t count;
} tables[] = {
    MODULE("LineServer", line_server), MODULE("TcpSource", tcp_source), MODULE("TcpSink", tcp_sink),
    MODULE("UdpSource", udp_source),   MODULE("UdpSink", udp_sink),
};

size_t mlt_flow_parameters_of(const flow_module *module, const mlt_flow_parameter_decl **decls)
{
    // By name, as built-in modules are known; modules of programs have a file.
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !module->file; i++)
        if (strcmp(tables[i].module, module->name) == 0) {
            *decls = tables[i].decls;
            return tables[i].count;
        }
    *decls = NULL;
    return 0;
}

// ---- in a graph

void mlt_flow_add_parameters(mlt_flow_builder *b, mlt_flow_vector *v)
{
    const mlt_flow_parameter_decl *decls;
    v->parameter_count = mlt_flow_parameters_of(v->module, &decls);
    if (!v->parameter_count)
        return;
    v->parameters =
        mlt_flow_arena_take(b->graph->arena, v->parameter_count * sizeof *v->parameters);
    for (size_t i = 0; i < v->parameter_count; i++)
        v->parameters[i] = (mlt_flow_parameter){
            .decl = &decls[i], .number = decls[i].usual, .text = decls[i].text};
}

static void say_unknown(flow_wiring *w, int line, const mlt_flow_vector *v, const char *name)
{
    const char *names[16];
    char hint[300];
    size_t count = 0;
    for (; count < v->parameter_count && count < sizeof names / sizeof *names; count++)
        names[count] = v->parameters[count].decl->name;
    mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR, "%s has no parameter %s%s",
                       v->module->name, name, mlt_flow_hint(hint, sizeof hint, name, names, count));
}

// The parameter, which nobody has written yet; NULL: told.
static mlt_flow_parameter *to_write(flow_wiring *w, int line, int vector, const char *name)
{
    const mlt_flow_thing *t = &w->things.at[vector];
    mlt_flow_builder *b = w->builder;
    if (t->bad)
        return NULL;
    mlt_flow_vector *v = t->nested ? NULL : &b->graph->vectors[t->at];
    if (!v || !v->parameter_count) {
        mlt_flow_graph_say(b, w->root->file, line, MLT_FLOW_ERROR,
                           "%s takes no parameters: use flow_const, or its module's init", t->name);
        return NULL;
    }
    for (size_t i = 0; i < v->parameter_count; i++) {
        mlt_flow_parameter *p = &v->parameters[i];
        if (strcmp(p->decl->name, name) != 0)
            continue;
        if (p->written)
            mlt_flow_graph_say(b, w->root->file, line, MLT_FLOW_ERROR, "%s of %s is there twice",
                               name, t->name);
        bool first = !p->written;
        p->written = true;
        return first ? p : NULL;
    }
    say_unknown(w, line, v, name);
    return NULL;
}

MLT_EXPORT void flow_set(flow_wiring *w, int line, int vector, const char *name, long value)
{
    mlt_flow_parameter *p = to_write(w, line, vector, name);
    if (!p)
        return;
    const mlt_flow_parameter_decl *d = p->decl;
    const char *of = w->things.at[vector].name;
    p->number = value;
    if (d->text)
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR,
                           "%s of %s is a text, such as \"%s\"", name, of, d->text);
    else if (value < d->least || (value > d->most && d->most == LONG_MAX))
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR,
                           "%s of %s is %ld: it is at least %ld", name, of, value, d->least);
    else if (value > d->most)
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR,
                           "%s of %s is %ld: it is from %ld to %ld", name, of, value, d->least,
                           d->most);
}

MLT_EXPORT void flow_set_text(flow_wiring *w, int line, int vector, const char *name,
                              const char *value)
{
    mlt_flow_parameter *p = to_write(w, line, vector, name);
    if (!p)
        return;
    const char *of = w->things.at[vector].name;
    if (!p->decl->text) {
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR,
                           "%s of %s is a number, not a text", name, of);
        return;
    }
    p->text = mlt_flow_arena_print(w->builder->graph->arena, "%s", value);
    char hint[300];
    size_t words = 0;
    for (bool known = false; p->decl->words && !known; words++) {
        if (p->decl->words[words]) {
            known = strcmp(p->decl->words[words], value) == 0;
            continue;
        }
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR,
                           "%s of %s cannot be \"%s\"%s", name, of, value,
                           mlt_flow_hint(hint, sizeof hint, value, p->decl->words, words));
        return;
    }
    if (!*value)
        mlt_flow_graph_say(w->builder, w->root->file, line, MLT_FLOW_ERROR, "%s of %s is empty",
                           name, of);
}

void mlt_flow_check_parameters(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (uint32_t i = 0; i < g->vector_count && !g->errors; i++) {
        const mlt_flow_vector *v = &g->vectors[i];
        for (size_t k = 0; k < v->parameter_count; k++)
            if (v->parameters[k].decl->required && !v->parameters[k].written)
                mlt_flow_graph_say(b, b->vector_info.at[i].file, v->line, MLT_FLOW_ERROR,
                                   "%s has no %s: write %s %s(%s = ...)", v->name,
                                   v->parameters[k].decl->name, v->module->name, v->name,
                                   v->parameters[k].decl->name);
    }
}
