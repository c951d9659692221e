// SPDX-License-Identifier: BSD-3-Clause
// A root as a function of C: a line for each statement, with what was written above it.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flowc/gen_int.h"

// A number of the program's. What constants decide may turn out to be what means "none written", so
// it is said in `guard` (flow.h).
static void put_number(mlt_gen *g, const char *guard, const mlt_flow_expr *e)
{
    bool fixed = mlt_gen_is_number(e);
    if (!fixed)
        mlt_gen_put(g, "%s(", guard);
    mlt_gen_expr(g, e, true);
    if (!fixed)
        mlt_gen_put(g, ")");
}

// ---- which names a root needs as variables

static const mlt_flow_override *override_of(const mlt_gen *g, const char *name)
{
    return mlt_flow_override_of(g->overrides, g->override_count, name);
}

// Does what the program says of this constant name another one? Not if its value was given.
static bool value_names(const mlt_gen *g, const mlt_flow_const *c, const char *name)
{
    return !override_of(g, c->name) && mlt_gen_names(c->value, name);
}

static bool statement_names(const mlt_gen *g, const mlt_flow_statement *s, const char *name)
{
    if (mlt_gen_names(s->count, name) || mlt_gen_names(s->place, name) ||
        (s->constant && value_names(g, s->constant, name)))
        return true;
    for (const mlt_flow_stage *t = s->stages; t; t = t->next)
        for (const mlt_flow_wire_part *p = t->parts; p; p = p->next)
            if (mlt_gen_names(p->first, name) || mlt_gen_names(p->last, name) ||
                mlt_gen_names(p->step, name))
                return true;
    return false;
}

static bool root_names(const mlt_gen *g, const mlt_flow_root_item *root, const char *name)
{
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        if (statement_names(g, s, name))
            return true;
    for (const mlt_flow_queue_item *q = root->queues; q; q = q->next)
        if (!mlt_gen_is_number(q->cap) && mlt_gen_names(q->cap, name))
            return true;
    return false;
}

static bool modules_name(const mlt_gen *g, const char *name)
{
    for (size_t i = 0; i < g->module_count; i++) {
        const mlt_flow_declaration *m = &g->modules[i];
        if (!g->used[i])
            continue;
        if (mlt_gen_names(m->weight, name))
            return true;
        for (const mlt_flow_queue_item *q = m->queues; q; q = q->next)
            if (mlt_gen_names(q->cap, name))
                return true;
    }
    return false;
}

static bool declares(const mlt_flow_root_item *root, const char *name)
{
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        if (s->kind == MLT_FLOW_CONST && strcmp(s->constant->name, name) == 0)
            return true;
    return false;
}

// Which constants of the file are variables of this root: those that it names, and those that one
// further down is computed from. [number of constants]; freed with free().
static bool *needed(const mlt_gen *g, const mlt_flow_root_item *root)
{
    size_t count = 0, n = 0;
    for (const mlt_flow_const *c = g->file->consts; c; c = c->next)
        count++;
    bool *needs = mlt_take(count + 1, sizeof *needs);
    const mlt_flow_const **all = mlt_take(count + 1, sizeof *all);
    for (const mlt_flow_const *c = g->file->consts; c; c = c->next)
        all[n++] = c;
    for (size_t i = count; i-- > 0;) {
        const char *name = all[i]->name;
        needs[i] = root_names(g, root, name) || (root == g->main && modules_name(g, name));
        for (size_t k = i + 1; k < count && !needs[i]; k++)
            needs[i] = value_names(g, all[k], name) && (root == g->main || needs[k]);
        needs[i] = needs[i] && !declares(root, name);
    }
    free(all);
    return needs;
}

// ---- statements

static void put_const(mlt_gen *g, const mlt_flow_const *c, bool variable)
{
    const mlt_flow_override *other = override_of(g, c->name);
    mlt_gen_put(g, "    // const %s = ", c->name);
    mlt_gen_expr(g, c->value, false);
    mlt_gen_put(g, ";");
    if (other)
        mlt_gen_put(g, " (but built with -D %s=%ld)", c->name, other->value);
    mlt_gen_put(g, "\n    ");
    if (variable)
        mlt_gen_put(g, "long %s = ", mlt_gen_name(c->name).text);
    mlt_gen_put(g, "flow_wiring_const(w, %d, \"%s\", ", c->line, c->name);
    if (other)
        mlt_gen_put(g, "%ld", other->value);
    else
        mlt_gen_expr(g, c->value, true);
    mlt_gen_put(g, ");\n");
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
    mlt_gen_put(g, "    // %s %s", s->module, s->name);
    if (s->count) {
        mlt_gen_put(g, "[");
        mlt_gen_expr(g, s->count, false);
        mlt_gen_put(g, "]");
    }
    mlt_gen_put(g, ";\n    ");
    if (mlt_name_table_find(&g->said, s->name))
        mlt_gen_put(g, "int %s = ", mlt_gen_name(s->name).text);
    const char *built_in = mlt_gen_built_in(s->module);
    bool nested = mlt_gen_root(g->file, s->module);
    mlt_gen_put(g, "%s(w, %d, \"%s\", &%s%s, ", nested ? "flow_add_root" : "flow_add", s->line,
                s->name,
                nested     ? "root_"
                : built_in ? ""
                           : "module_",
                !nested && built_in ? built_in : s->module);
    if (s->count)
        put_number(g, "FLOW_COUNT", s->count);
    else
        mlt_gen_put(g, "-1");
    mlt_gen_put(g, ");\n");
}

// ---- flow statements

static void put_part_as_written(mlt_gen *g, const mlt_flow_wire_part *p)
{
    mlt_gen_put(g, "%s", p->name);
    if (p->first) {
        mlt_gen_put(g, "[");
        mlt_gen_expr(g, p->first, false);
        const mlt_flow_expr *more[] = {p->last, p->step};
        for (int i = 0; i < 2; i++)
            if (more[i]) {
                mlt_gen_put(g, ":");
                mlt_gen_expr(g, more[i], false);
            }
        mlt_gen_put(g, "]");
    }
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
    if (p->first) {
        mlt_gen_put(g, ", .first = ");
        mlt_gen_expr(g, p->first, true);
        mlt_gen_put(g, ", .last = ");
        mlt_gen_expr(g, p->last ? p->last : p->first, true);
        if (p->step) {
            mlt_gen_put(g, ", .step = ");
            put_number(g, "FLOW_NOT_0", p->step);
        }
    } else {
        mlt_gen_put(g, ", .all = true");
    }
    if (p->queue)
        mlt_gen_put(g, ", .queue = \"%s\"", p->queue);
    if (p->op)
        mlt_gen_put(g, ", .op = &op_%s", p->op);
    mlt_gen_put(g, "}");
}

static void put_parts(mlt_gen *g, const mlt_flow_stage *stage)
{
    mlt_gen_put(g, "PARTS(");
    for (const mlt_flow_wire_part *p = stage->parts; p; p = p->next) {
        put_part(g, p);
        mlt_gen_put(g, p->next ? ", " : ")");
    }
}

static void put_flow(mlt_gen *g, const mlt_flow_statement *s)
{
    mlt_gen_put(g, "    // ");
    put_stages_as_written(g, s->stages);
    mlt_gen_put(g, ";\n    flow_wire(w, %d, STAGES(", s->line);
    for (const mlt_flow_stage *t = s->stages; t; t = t->next) {
        mlt_gen_put(g, "\n        {%s, ", t->joint == MLT_FLOW_EACH ? "FLOW_EACH" : "FLOW_JOIN");
        put_parts(g, t);
        mlt_gen_put(g, t->next ? "}," : "}));\n");
    }
}

static void put_place(mlt_gen *g, const mlt_flow_statement *s)
{
    bool computed = s->place && s->place->kind != MLT_FLOW_NUMBER;
    const char *host = s->host ? s->host : "", *colon = s->host && s->place ? ":" : "";
    mlt_gen_put(g, "    // ");
    put_stages_as_written(g, s->stages);
    mlt_gen_put(g, " @ %s%s", host, colon);
    if (s->place)
        mlt_gen_expr(g, s->place, false);
    mlt_gen_put(g, ";\n");
    if (computed) {
        mlt_gen_put(g,
                    "    {\n        char where[%zu];\n"
                    "        snprintf(where, sizeof where, \"%s%s%%ld\", (long)(",
                    strlen(host) + 32, host, colon);
        mlt_gen_expr(g, s->place, true);
        mlt_gen_put(g, "));\n");
    }
    mlt_gen_put(g, "    %sflow_place(w, %d, ", computed ? "    " : "", s->line);
    put_parts(g, s->stages);
    if (computed) {
        mlt_gen_put(g, ", where);\n    }\n");
        return;
    }
    mlt_gen_put(g, ", \"%s%s", host, colon);
    if (s->place)
        mlt_gen_expr(g, s->place, true);
    mlt_gen_put(g, "\");\n");
}

// Capacities and weights that constants decide.
static void put_caps(mlt_gen *g, const char *owner, const mlt_flow_queue_item *queues)
{
    int i = 0;
    for (const mlt_flow_queue_item *q = queues; q; q = q->next, i++)
        if (q->cap && !mlt_gen_is_number(q->cap)) {
            mlt_gen_put(g, "    queues_%s[%d].cap = ", owner, i);
            put_number(g, "FLOW_NOT_0", q->cap);
            mlt_gen_put(g, ";\n");
        }
}

static void put_by_constants(mlt_gen *g, const mlt_flow_root_item *root)
{
    put_caps(g, root->name, root->queues);
    for (size_t i = 0; i < g->module_count && root == g->main; i++) {
        const mlt_flow_declaration *m = &g->modules[i];
        if (!g->used[i])
            continue;
        put_caps(g, m->name, m->queues);
        if (m->weight && !mlt_gen_is_number(m->weight)) {
            mlt_gen_put(g, "    module_%s.weight = ", m->name);
            put_number(g, "FLOW_NOT_0", m->weight);
            mlt_gen_put(g, ";\n");
        }
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

bool mlt_gen_is_large(const mlt_flow_root_item *root)
{
    enum { MANY = 500 };
    size_t said = 0;
    for (const mlt_flow_statement *s = root->statements; s && said <= MANY; s = s->next, said++)
        for (const mlt_flow_stage *t = s->stages; t; t = t->next)
            for (const mlt_flow_wire_part *p = t->parts; p; p = p->next)
                said++;
    return said > MANY;
}

void mlt_gen_wire(mlt_gen *g, const mlt_flow_root_item *root)
{
    mlt_gen_put(g, "static %svoid wire_%s(flow_wiring *w)\n{\n",
                mlt_gen_is_large(root) ? "ONCE " : "", root->name);
    know_names(g, root);
    bool *needs = needed(g, root), any = false;
    size_t number = 0;
    for (const mlt_flow_const *c = g->file->consts; c; c = c->next, number++)
        if (root == g->main || needs[number]) {
            put_const(g, c, needs[number]);
            any = true;
        }
    free(needs);
    put_by_constants(g, root);
    for (const mlt_flow_statement *s = root->statements; s; s = s->next)
        switch (s->kind) {
        case MLT_FLOW_INSTANCE:
            put_instance(g, s);
            break;
        case MLT_FLOW_CONST:
            put_const(g, s->constant, root_names(g, root, s->constant->name));
            break;
        case MLT_FLOW_STATEMENT_WIRE:
            put_flow(g, s);
            break;
        case MLT_FLOW_PLACE:
            put_place(g, s);
            break;
        }
    if (!root->statements && !any)
        mlt_gen_put(g, "    (void)w;\n");
    mlt_gen_put(g, "}\n\n");
    mlt_name_table_free(&g->said);
    mlt_name_table_free(&g->instances);
}
