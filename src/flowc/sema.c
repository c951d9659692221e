// SPDX-License-Identifier: BSD-3-Clause
// Descriptors of modules, roots and operations as the generated program will have them, but without
// functions; then the roots are interpreted: their statements call the wiring functions.
#include "flowc/sema.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow/graph/ops.h"
#include "flowc/sema_int.h"

// ---- descriptors

// The value of a constant, which the command line may have given.
static bool value_of(mlt_sema *c, const mlt_sema_value *inner, const mlt_flow_const *k,
                     mlt_sema_value *v)
{
    const mlt_flow_override *given = mlt_flow_override_of(c->overrides, c->override_count, k->name);
    v->name = k->name;
    if (given)
        v->value = given->value;
    return given || mlt_sema_eval(c, inner, c->values, k->value, &v->value);
}

static void make_values(mlt_sema *c)
{
    mlt_sema_value **end = &c->values;
    for (const mlt_flow_const *k = c->file->consts; k; k = k->next) {
        mlt_sema_value *v = mlt_sema_take(c, sizeof *v);
        value_of(c, NULL, k, v); // what could not be computed is 0, and told
        *end = v;
        end = &v->next;
    }
}

// A capacity or weight: 1 at least.
static long at_least_1(mlt_sema *c, const mlt_flow_expr *e, const char *what, const char *of)
{
    long value;
    if (!e || !mlt_sema_eval(c, NULL, c->values, e, &value))
        return 0;
    if (value >= 1 && value <= INT32_MAX)
        return value;
    MLT_SEMA_ERROR(c, e->line, "%s of %s is %ld: it is at least 1, and below 2^31", what, of,
                   value);
    return 0;
}

static flow_queue_decl *make_queues(mlt_sema *c, const mlt_flow_queue_item *items, size_t *count)
{
    size_t n = 0;
    for (const mlt_flow_queue_item *q = items; q; q = q->next)
        n++;
    flow_queue_decl *list = mlt_sema_take(c, (n + 1) * sizeof *list);
    n = 0;
    for (const mlt_flow_queue_item *q = items; q; q = q->next) {
        flow_type kind = mlt_flow_type_named(q->type);
        list[n++] = (flow_queue_decl){
            .name = q->name,
            .input = q->input,
            .optional = q->optional || q->implied,
            .kind = kind,
            .type = q->type,
            .bytes = mlt_flow_type_bytes(kind),
            .cap = at_least_1(c, q->cap, "the capacity", q->name),
        };
    }
    *count = n;
    return list;
}

static void make_module(mlt_sema *c, const char *name, int line, const mlt_flow_declaration *d)
{
    mlt_sema_module *m = mlt_sema_take(c, sizeof *m);
    *c->last_module = m;
    c->last_module = &m->next;
    mlt_name_table_add(&c->module_names, name, m);
    m->declaration = d;
    m->module = (flow_module){.name = name, .file = c->file->path, .line = line};
    m->module.weight = d ? at_least_1(c, d->weight, "the weight", name) : 0;
    m->module.queues =
        make_queues(c, d ? d->queues : mlt_flow_default_queues, &m->module.queue_count);
}

static void make_roots(mlt_sema *c)
{
    mlt_sema_root **end = &c->roots;
    for (const mlt_flow_root_item *r = c->file->roots; r; r = r->next) {
        mlt_sema_root *root = *end = mlt_sema_take(c, sizeof *root);
        end = &root->next;
        root->item = r;
        mlt_name_table_add(&c->root_names, r->name, root);
        root->root = (flow_root){.name = r->name, .file = c->file->path, .line = r->line};
        root->root.queues = make_queues(c, r->queues, &root->root.queue_count);
    }
}

// Stands for a function that only the program has: the graph asks whether there is one.
static void no_function(void *into, const void *with, size_t count)
{
    (void)into;
    (void)with;
    (void)count;
}

static void make_ops(mlt_sema *c)
{
    for (const mlt_flow_operation *o = c->file->operations; o; o = o->next) {
        mlt_sema_op *op = mlt_sema_take(c, sizeof *op);
        flow_type kind = mlt_flow_type_named(o->type);
        op->op = (flow_op){
            .name = o->name,
            .combine = no_function,
            .kind = kind,
            .type = o->type,
            .bytes = mlt_flow_type_bytes(kind),
            .ordered = o->ordered,
        };
        op->item = o;
        op->next = c->ops;
        c->ops = op;
    }
}

static void make_descriptors(mlt_sema *c)
{
    c->last_module = &c->modules;
    make_values(c);
    make_roots(c);
    make_ops(c);
    for (const mlt_flow_declaration *d = c->file->declarations; d; d = d->next)
        if (!mlt_sema_module_of(c, d->name))
            make_module(c, d->name, d->line, d);
    // Figure 3 of the paper has modules that are only required: they have the default queues.
    for (const mlt_flow_root_item *r = c->file->roots; r; r = r->next)
        for (size_t i = 0; i < r->required_count; i++)
            if (!mlt_flow_built_in(r->required[i]) && !mlt_sema_root_of(c, r->required[i]) &&
                !mlt_sema_module_of(c, r->required[i]))
                make_module(c, r->required[i], r->required_lines[i], NULL);
}

// ---- wiring

typedef struct wirer { // of one root
    mlt_sema *c;
    flow_wiring *w;
    mlt_name_table vectors; // by name: its number in an int
    mlt_sema_value *values; // of the root
} wirer;

static bool number(const wirer *w, const mlt_flow_expr *e, long *value)
{
    return mlt_sema_eval(w->c, w->values, w->c->values, e, value);
}

static bool wire_instance(wirer *w, const mlt_flow_statement *s)
{
    long count = -1;
    if (s->count && !number(w, s->count, &count))
        return false;
    if (s->count)
        count = FLOW_COUNT(count);
    int *vector = mlt_xcalloc(1, sizeof *vector);
    const flow_module *module = mlt_flow_built_in(s->module);
    mlt_sema_root *root = mlt_sema_root_of(w->c, s->module);
    *vector = root
                  ? flow_add_root(w->w, s->line, s->name, &root->root, count)
                  : flow_add(w->w, s->line, s->name,
                             module ? module : &mlt_sema_module_of(w->c, s->module)->module, count);
    mlt_name_table_add(&w->vectors, s->name, vector);
    for (const mlt_flow_argument *a = s->arguments; a; a = a->next) {
        long value;
        if (a->text)
            flow_set_text(w->w, a->line, *vector, a->name, a->text);
        else if (number(w, a->value, &value))
            flow_set(w->w, a->line, *vector, a->name, value);
        else
            return false;
    }
    return true;
}

static bool make_part(wirer *w, const mlt_flow_wire_part *p, flow_part *to)
{
    const int *vector = mlt_name_table_find(&w->vectors, p->name);
    *to = (flow_part){.vector = FLOW_OWN, .all = true, .queue = p->name};
    if (!vector)
        return true;
    *to = (flow_part){.vector = *vector, .all = !p->first, .queue = p->queue};
    if (p->op)
        to->op = &mlt_sema_op_of(w->c, p->op)->op;
    if (p->first &&
        (!number(w, p->first, &to->first) || !number(w, p->last ? p->last : p->first, &to->last)))
        return false;
    if (p->step && !number(w, p->step, &to->step))
        return false;
    if (p->step)
        to->step = FLOW_NOT_0(to->step);
    return true;
}

static bool make_parts(wirer *w, const mlt_flow_stage *s, flow_stage *to)
{
    size_t count = 0;
    for (const mlt_flow_wire_part *p = s->parts; p; p = p->next)
        count++;
    flow_part *parts = mlt_xcalloc(count, sizeof *parts);
    to->join = s->joint == MLT_FLOW_EACH ? FLOW_EACH : FLOW_JOIN;
    to->parts = parts;
    to->count = count;
    for (const mlt_flow_wire_part *p = s->parts; p; p = p->next)
        if (!make_part(w, p, parts++))
            return false;
    return true;
}

static bool wire_flow(wirer *w, const mlt_flow_statement *s)
{
    size_t count = 0, i = 0;
    for (const mlt_flow_stage *t = s->stages; t; t = t->next)
        count++;
    flow_stage *stages = mlt_xcalloc(count, sizeof *stages);
    bool fine = true;
    for (const mlt_flow_stage *t = s->stages; t && fine; t = t->next)
        fine = make_parts(w, t, &stages[i++]);
    if (fine)
        flow_wire(w->w, s->line, stages, count);
    for (i = 0; i < count; i++)
        free((void *)stages[i].parts);
    free(stages);
    return fine;
}

static bool wire_place(wirer *w, const mlt_flow_statement *s)
{
    flow_stage stage = {.parts = NULL};
    long place = 0;
    bool fine = make_parts(w, s->stages, &stage) && (!s->place || number(w, s->place, &place));
    if (fine && s->place)
        flow_place_nth(w->w, s->line, stage.parts, stage.count, s->host, place);
    else if (fine)
        flow_place(w->w, s->line, stage.parts, stage.count, s->host);
    free((void *)stage.parts);
    return fine;
}

static bool wire_const(wirer *w, const mlt_flow_statement *s)
{
    mlt_sema_value *v = mlt_xcalloc(1, sizeof *v);
    v->next = w->values;
    bool fine = value_of(w->c, w->values, s->constant, v);
    w->values = v;
    if (fine)
        flow_wiring_const(w->w, s->line, v->name, v->value);
    return fine;
}

static void wire_root(void *arg, const flow_root *root, flow_wiring *w)
{
    mlt_sema *c = arg;
    wirer own = {.c = c, .w = w};
    const mlt_sema_root *r = c->roots;
    while (&r->root != root)
        r = r->next;
    const mlt_sema_value *v = c->values;
    for (const mlt_flow_const *k = c->file->consts; k; k = k->next, v = v->next)
        flow_wiring_const(w, k->line, k->name, v->value);
    for (const mlt_flow_statement *s = r->item->statements; s && !c->failed; s = s->next) {
        bool fine = s->kind == MLT_FLOW_INSTANCE         ? wire_instance(&own, s)
                    : s->kind == MLT_FLOW_STATEMENT_WIRE ? wire_flow(&own, s)
                    : s->kind == MLT_FLOW_PLACE          ? wire_place(&own, s)
                                                         : wire_const(&own, s);
        c->failed |= !fine;
    }
    for (size_t i = 0; i < own.vectors.size; i++)
        free(own.vectors.rows[i].owner);
    mlt_name_table_free(&own.vectors);
    for (mlt_sema_value *next, *k = own.values; k; k = next) {
        next = k->next;
        free(k);
    }
}

// The graph of a file whose names are fine; NULL: something else is wrong.
static mlt_flow_graph *make_graph(mlt_sema *c, const flow_root *main_root)
{
    mlt_flow_messages *messages = c->messages;
    size_t errors = messages->errors;
    mlt_flow_graph *graph =
        mlt_flow_graph_by(main_root, c->overrides, c->override_count, wire_root, c);
    for (uint32_t i = 0; i < graph->sentence_count && !c->failed; i++)
        mlt_flow_say(messages, graph->sentences[i].line, 0,
                     graph->sentences[i].warning ? MLT_FLOW_WARNING : MLT_FLOW_ERROR, "%s",
                     graph->sentences[i].text);
    if (messages->errors == errors && !graph->errors)
        return graph;
    mlt_flow_graph_free(graph);
    return NULL;
}

mlt_flow_graph *mlt_flow_check(const mlt_flow_file *file, const mlt_flow_override *overrides,
                               size_t override_count, mlt_flow_messages *messages)
{
    mlt_sema c = {.file = file,
                  .messages = messages,
                  .overrides = overrides,
                  .override_count = override_count};
    size_t errors = messages->errors;
    make_descriptors(&c);
    const mlt_flow_root_item *main_root = mlt_flow_main_root(file, messages);
    mlt_sema_all_names(&c, main_root);
    mlt_flow_graph *graph = NULL;
    if (messages->errors == errors)
        graph = make_graph(&c, &mlt_sema_root_of(&c, main_root->name)->root);
    mlt_name_table_free(&c.module_names);
    mlt_name_table_free(&c.root_names);
    return graph;
}
