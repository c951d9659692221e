// SPDX-License-Identifier: BSD-3-Clause
// A root as a function of C: a line for each statement, with what was written above it.
#include <string.h>

#include "flow/graph/arena.h"
#include "flowc/gen_int.h"

// A number of the program's. What constants decide may turn out to be what means "none written", so
// it is said in `guard` (flow.h).
static const char *wire_number(mlt_gen *g, const char *guard, const mlt_flow_expr *e)
{
    const char *text = mlt_gen_c(g, e);
    return mlt_gen_is_number(e) ? text
                                : mlt_flow_arena_print(g->file->arena, "%s(%s)", guard, text);
}

// ---- statements

static void put_const(mlt_gen *g, const mlt_flow_const *c)
{
    const mlt_flow_override *other = mlt_flow_override_of(g->overrides, g->override_count, c->name);
    mlt_gen_put(g, "    // const %s = %s;", c->name, mlt_gen_written(g, c->value));
    if (other)
        mlt_gen_put(g, " (but built with -D %s=%ld)", c->name, other->value);
    mlt_gen_put(g, "\n    FLOW_CONST %s = flow_wiring_const(w, %d, \"%s\", ",
                mlt_gen_name(c->name).text, c->line, c->name);
    if (other)
        mlt_gen_put(g, "%ld);\n", other->value);
    else
        mlt_gen_put(g, "%s);\n", mlt_gen_c(g, c->value));
}

// Fills g->said and g->instances.
static void know_names(mlt_gen *g, const mlt_flow_root_item *root)
{
    for (const mlt_flow_statement *s = root->statements; s; s = s->next) {
        if (s->kind == MLT_FLOW_INSTANCE)
            mlt_name_table_add(&g->instances, s->name, g);
        for (const mlt_flow_stage *t = s->stages; t; t = t->next)
            for (const mlt_flow_wire_part *p = t->parts; p; p = p->next)
                mlt_name_table_add(&g->said, p->name, g);
    }
}

static void put_instance(mlt_gen *g, const mlt_flow_statement *s)
{
    bool built_in = mlt_flow_built_in(s->module);
    bool nested = mlt_gen_root(g->file, s->module);
    mlt_gen_put(g, "    // %s %s", s->module, s->name);
    if (s->count)
        mlt_gen_put(g, "[%s]", mlt_gen_written(g, s->count));
    for (const mlt_flow_argument *a = s->arguments; a; a = a->next)
        mlt_gen_put(g, "%s%s = %s%s%s%s", a == s->arguments ? "(" : ", ", a->name,
                    a->text ? "\"" : "", a->text ? a->text : mlt_gen_written(g, a->value),
                    a->text ? "\"" : "", a->next ? "" : ")");
    mlt_gen_put(g, ";\n    ");
    if (s->arguments || mlt_name_table_find(&g->said, s->name))
        mlt_gen_put(g, "int %s = ", mlt_gen_name(s->name).text);
    mlt_gen_put(g, "%s(w, %d, \"%s\", &%s%s, %s);\n", nested ? "flow_add_root" : "flow_add",
                s->line, s->name,
                nested     ? "root_"
                : built_in ? "flow_"
                           : "module_",
                s->module, s->count ? wire_number(g, "FLOW_COUNT", s->count) : "-1");
    for (const mlt_flow_argument *a = s->arguments; a; a = a->next)
        mlt_gen_put(g, "    flow_set%s(w, %d, %s, \"%s\", %s%s%s);\n", a->text ? "_text" : "",
                    a->line, mlt_gen_name(s->name).text, a->name, a->text ? "\"" : "",
                    a->text ? a->text : mlt_gen_c(g, a->value), a->text ? "\"" : "");
}

// ---- flow statements

static void put_part_as_written(mlt_gen *g, const mlt_flow_wire_part *p)
{
    mlt_gen_put(g, "%s", p->name);
    if (p->first)
        mlt_gen_put(g, "[%s", mlt_gen_written(g, p->first));
    if (p->last)
        mlt_gen_put(g, ":%s", mlt_gen_written(g, p->last));
    if (p->step)
        mlt_gen_put(g, ":%s", mlt_gen_written(g, p->step));
    mlt_gen_put(g, p->first ? "]" : "");
    if (p->queue)
        mlt_gen_put(g, ".%s", p->queue);
    if (p->op)
        mlt_gen_put(g, "(%s)", p->op);
}

static void put_stages_as_written(mlt_gen *g, const mlt_flow_stage *stages)
{
    static const char *const joints[] = {
        [MLT_FLOW_BARS] = "|||", [MLT_FLOW_ARROW] = "->", [MLT_FLOW_EACH] = "=>"};
    for (const mlt_flow_stage *t = stages; t; t = t->next) {
        if (t != stages)
            mlt_gen_put(g, " %s ", joints[t->joint]);
        for (const mlt_flow_wire_part *p = t->parts; p; p = p->next) {
            put_part_as_written(g, p);
            mlt_gen_put(g, p->next ? ", " : "");
        }
    }
}

static void put_part(mlt_gen *g, const mlt_flow_wire_part *p)
{
    if (!mlt_name_table_find(&g->instances, p->name)) { // a queue of the root itself
        mlt_gen_put(g, "{.vector = FLOW_OWN, .all = true, .queue = \"%s\"}", p->name);
        return;
    }
    mlt_gen_put(g, "{.vector = %s", mlt_gen_name(p->name).text);
    if (p->first)
        mlt_gen_put(g, ", .first = %s, .last = %s", mlt_gen_c(g, p->first),
                    mlt_gen_c(g, p->last ? p->last : p->first));
    else
        mlt_gen_put(g, ", .all = true");
    if (p->step)
        mlt_gen_put(g, ", .step = %s", wire_number(g, "FLOW_NOT_0", p->step));
    if (p->queue)
        mlt_gen_put(g, ", .queue = \"%s\"", p->queue);
    if (p->op)
        mlt_gen_put(g, ", .op = &op_%s", p->op);
    mlt_gen_put(g, "}");
}

static void put_parts(mlt_gen *g, const mlt_flow_stage *stage)
{
    mlt_gen_put(g, "FLOW_PARTS(");
    for (const mlt_flow_wire_part *p = stage->parts; p; p = p->next) {
        put_part(g, p);
        mlt_gen_put(g, p->next ? ", " : ")");
    }
}

static void put_flow(mlt_gen *g, const mlt_flow_statement *s)
{
    mlt_gen_put(g, "    // ");
    put_stages_as_written(g, s->stages);
    mlt_gen_put(g, ";\n    flow_wire(w, %d, FLOW_STAGES(", s->line);
    for (const mlt_flow_stage *t = s->stages; t; t = t->next) {
        mlt_gen_put(g, "\n        {%s, ", t->joint == MLT_FLOW_EACH ? "FLOW_EACH" : "FLOW_JOIN");
        put_parts(g, t);
        mlt_gen_put(g, t->next ? "}," : "}));\n");
    }
}

static void put_place(mlt_gen *g, const mlt_flow_statement *s)
{
    mlt_gen_put(g, "    // ");
    put_stages_as_written(g, s->stages);
    mlt_gen_put(g, " @ %s%s%s;\n    %s(w, %d, ", s->host ? s->host : "",
                s->host && s->place ? ":" : "", s->place ? mlt_gen_written(g, s->place) : "",
                s->place ? "flow_place_nth" : "flow_place", s->line);
    put_parts(g, s->stages);
    if (s->host)
        mlt_gen_put(g, ", \"%s\"", s->host);
    else
        mlt_gen_put(g, ", NULL");
    if (s->place)
        mlt_gen_put(g, ", %s", mlt_gen_c(g, s->place));
    mlt_gen_put(g, ");\n");
}

// Capacities and weights that constants decide.
static void put_caps(mlt_gen *g, const char *owner, const mlt_flow_queue_item *queues)
{
    int i = 0;
    for (const mlt_flow_queue_item *q = queues; q; q = q->next, i++)
        if (q->cap && !mlt_gen_is_number(q->cap))
            mlt_gen_put(g, "    queues_%s[%d].cap = %s;\n", owner, i,
                        wire_number(g, "FLOW_NOT_0", q->cap));
}

static void put_by_constants(mlt_gen *g, const mlt_flow_root_item *root)
{
    put_caps(g, root->name, root->queues);
    for (size_t i = 0; i < g->module_count && root == g->main; i++) {
        const mlt_flow_declaration *m = &g->modules[i];
        if (!g->used[i])
            continue;
        put_caps(g, m->name, m->queues);
        if (m->weight && !mlt_gen_is_number(m->weight))
            mlt_gen_put(g, "    module_%s.weight = %s;\n", m->name,
                        wire_number(g, "FLOW_NOT_0", m->weight));
    }
}

// ---- all of it

static bool may_define(const mlt_gen *g)
{
    bool may = g->file->include_count > 0;
    for (size_t i = 0; i < g->module_count && !may; i++)
        may = g->used[i] && g->modules[i].data && strchr(g->modules[i].data, '#');
    return may;
}

static void undefine(mlt_gen *g, mlt_name_table *told, const char *name)
{
    if (!mlt_name_table_add(told, name, g))
        mlt_gen_put(g, "#undef %s\n", mlt_gen_name(name).text);
}

void mlt_gen_undefine(mlt_gen *g)
{
    mlt_name_table told = {0};
    if (!may_define(g))
        return;
    mlt_gen_put(g,
                "// In what follows these are names of the file, also if a header has macros.\n");
    for (const mlt_flow_const *c = g->file->consts; c; c = c->next)
        undefine(g, &told, c->name);
    for (size_t i = 0; i < g->root_count; i++)
        for (const mlt_flow_statement *s = g->roots[i]->statements; s; s = s->next)
            if (s->kind == MLT_FLOW_INSTANCE || s->kind == MLT_FLOW_CONST)
                undefine(g, &told, s->name ? s->name : s->constant->name);
    mlt_gen_put(g, "\n");
    mlt_name_table_free(&told);
}

static void put_statement(mlt_gen *g, const mlt_flow_statement *s)
{
    switch (s->kind) {
    case MLT_FLOW_INSTANCE:
        put_instance(g, s);
        break;
    case MLT_FLOW_CONST:
        put_const(g, s->constant);
        break;
    case MLT_FLOW_STATEMENT_WIRE:
        put_flow(g, s);
        break;
    case MLT_FLOW_PLACE:
        put_place(g, s);
        break;
    }
}

void mlt_gen_wire(mlt_gen *g, const mlt_flow_root_item *root)
{
    mlt_gen_put(g, "static FLOW_ONCE void wire_%s(flow_wiring *w)\n{\n", root->name);
    know_names(g, root);
    for (const mlt_flow_const *c = g->file->consts; c; c = c->next)
        put_const(g, c);
    put_by_constants(g, root);
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        put_statement(g, s);
    if (!root->statements && !g->file->consts)
        mlt_gen_put(g, "    (void)w;\n");
    mlt_gen_put(g, "}\n\n");
    mlt_name_table_free(&g->said);
    mlt_name_table_free(&g->instances);
}
