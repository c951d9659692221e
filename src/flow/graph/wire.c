// SPDX-License-Identifier: BSD-3-Clause
// The wiring functions: names become nodes, statements become edges. After an error in a statement
// the rest of it is skipped. Things that could not be made are marked, so that nothing more is said
// about them.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/export.h"
#include "base/memory.h"
#include "base/text.h"
#include "flow/graph/arena.h"
#include "flow/graph/graph_int.h"
#include "flow/graph/hint.h"
#include "flow/graph/ops.h"

enum { GRAPH_WIRE_TEXT = 240 };

#define ERROR(w, line, ...)                                                                        \
    mlt_flow_graph_say((w)->builder, (w)->root->file, line, MLT_FLOW_ERROR, __VA_ARGS__)

// ---- constants

MLT_EXPORT long flow_wiring_const(flow_wiring *w, int line, const char *name, long value)
{
    mlt_flow_builder *b = w->builder;
    mlt_flow_graph *g = b->graph;
    bool given = false;
    for (size_t i = 0; i < b->given_count; i++)
        if (strcmp(b->given[i].name, name) == 0) {
            value = b->given[i].value;
            given = true;
        }
    for (uint32_t i = 0; i < g->constant_count; i++)
        if (strcmp(g->constants[i].name, name) == 0) {
            if (g->constants[i].value != value)
                ERROR(w, line, "%s is %ld here, but %ld elsewhere: a program has one constant %s",
                      name, value, g->constants[i].value, name);
            return value;
        }
    *MLT_ARRAY_ADD(g->constants, g->constant_count, b->constant_room) =
        (mlt_flow_constant){.name = mlt_flow_arena_print(b->graph->arena, "%s", name),
                            .value = value,
                            .overridden = given};
    return value;
}

MLT_EXPORT long flow_nonzero(flow_wiring *w, int line, long value)
{
    if (value == 0)
        ERROR(w, line, "this divides by 0");
    return value ? value : 1;
}

// ---- instances

static int add_thing(flow_wiring *w, int line, mlt_flow_thing thing)
{
    // Any owner will do: it is asked only whether there is one.
    if (mlt_name_table_add(&w->names, thing.name, w)) {
        ERROR(w, line, "%s is declared already: a name belongs to one thing", thing.name);
        thing.bad = true;
    }
    *MLT_FLOW_ADD(w->things) = thing;
    return (int)w->things.count - 1;
}

void mlt_flow_wiring_fini(flow_wiring *w)
{
    free(w->things.at);
    mlt_name_table_free(&w->names);
}

// What the program computed (FLOW_COUNT, FLOW_NOT_0).
static long computed(long n, long none)
{
    return n == LONG_MIN ? none : n;
}

// False: there cannot be so many, which is told.
static bool may_have(flow_wiring *w, int line, const char *name, long count)
{
    enum { MOST = INT32_MAX };
    if (count < 1 && count != -1)
        ERROR(w, line, "%s[%ld] has no instances: a vector has at least 1", name,
              computed(count, -1));
    else if (count > MOST || w->builder->graph->node_count > (uint32_t)(MOST - labs(count)))
        ERROR(w, line, "%s[%ld] is too many: a program has at most %d instances", name, count,
              MOST);
    else
        return true;
    return false;
}

// Roots in roots multiply: twelve of eight each are 8^12. The outermost ones alone show how many
// there will be, so it is told before anybody makes them. False: too many.
static bool may_nest(flow_wiring *w, int line, const char *name, const flow_root *root, long count)
{
    enum { MOST = 1 << 22 };
    uint64_t all = w->copies * (uint64_t)labs(count); // each at most MOST, and an int
    if (w->builder->too_many)
        return false;
    if (all <= MOST)
        return true;
    w->builder->too_many = true;
    ERROR(
        w, line,
        "%s[%ld] is too many: with the roots around it there would be %llu instances of %s, and a "
        "program has at most %d instances of roots",
        name, count, (unsigned long long)all, root->name, MOST);
    return false;
}

static mlt_flow_kind kind_of(const flow_module *module)
{
    // By name, for a program may have a copy of the library's descriptor. Modules of programs have
    // a file.
    static const flow_module *const builtin[MLT_FLOW_KINDS] = {
        [MLT_FLOW_REDUCE] = &flow_Reduce,
        [MLT_FLOW_BROADCAST] = &flow_Broadcast,
        [MLT_FLOW_DEAL] = &flow_Deal,
        [MLT_FLOW_COLLECT] = &flow_Collect,
    };
    for (int k = 1; k < MLT_FLOW_KINDS && !module->file && !module->run; k++)
        if (module == builtin[k] || strcmp(module->name, builtin[k]->name) == 0)
            return (mlt_flow_kind)k;
    return MLT_FLOW_MODULE;
}

static uint16_t find_queue(const flow_queue_decl *queues, size_t count, const char *name)
{
    for (size_t q = 0; q < count; q++)
        if (strcmp(queues[q].name, name) == 0)
            return (uint16_t)q;
    return UINT16_MAX;
}

static uint16_t default_queue(const flow_queue_decl *queues, size_t count, bool input)
{
    uint16_t q = find_queue(queues, count, input ? "in" : "out");
    return q != UINT16_MAX && queues[q].input == input ? q : UINT16_MAX;
}

// Numbers that constants may have made senseless.
static void check_numbers(mlt_flow_builder *b, const flow_module *module)
{
    if (module->weight < 0 || module->weight > INT32_MAX)
        mlt_flow_graph_say(b, module->file, module->line, MLT_FLOW_ERROR,
                           "the weight of %s is %ld: it is at least 1, and below 2^31",
                           module->name, computed(module->weight, 0));
    for (size_t q = 0; q < module->queue_count; q++) {
        long cap = module->queues[q].cap;
        if (cap < 0 || cap > INT32_MAX)
            mlt_flow_graph_say(b, module->file, module->line, MLT_FLOW_ERROR,
                               "the capacity of %s of %s is %ld: it is at least 1, and below 2^31",
                               module->queues[q].name, module->name, computed(cap, 0));
    }
}

static uint32_t graph_wire_row_of(mlt_flow_builder *b, const flow_module *module)
{
    for (uint32_t m = b->modules.count; m-- > 0;)
        if (b->modules.at[m].module == module)
            return m;
    assert(module->queue_count < UINT16_MAX);
    check_numbers(b, module);
    mlt_flow_module_row *row = MLT_FLOW_ADD(b->modules);
    *row = (mlt_flow_module_row){
        .module = module,
        .in = default_queue(module->queues, module->queue_count, true),
        .out = default_queue(module->queues, module->queue_count, false),
        .wired = mlt_flow_arena_take(b->graph->arena, module->queue_count * sizeof(uint32_t)),
        .first_unwired =
            mlt_flow_arena_take(b->graph->arena, module->queue_count * sizeof(uint32_t)),
    };
    for (size_t q = 0; q < module->queue_count; q++)
        row->first_unwired[q] = MLT_FLOW_NONE;
    return b->modules.count - 1;
}

static void add_collectives(mlt_flow_builder *b, const mlt_flow_vector *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t number = b->collectives.count;
        *MLT_FLOW_ADD(b->collectives) =
            (mlt_flow_collective){.node = v->first + i, .parent = number, .edge = MLT_FLOW_NONE};
    }
}

MLT_EXPORT int flow_add(flow_wiring *w, int line, const char *name, const flow_module *module,
                        long count)
{
    mlt_flow_builder *b = w->builder;
    mlt_flow_graph *g = b->graph;
    const char *full = mlt_flow_arena_print(b->graph->arena, "%s%s", w->prefix, name);
    mlt_flow_thing thing = {.name = full + strlen(w->prefix), .at = g->vector_count};
    if (!may_have(w, line, name, count)) {
        thing.bad = true;
        count = -1;
    }
    mlt_flow_kind kind = kind_of(module);
    mlt_flow_vector v = {
        .name = full,
        .module = module,
        .kind = kind,
        .first = g->node_count,
        .count = count == -1 ? 1 : (uint32_t)count,
        .scalar = count == -1,
        .line = line,
        .weight = kind == MLT_FLOW_MODULE ? (uint32_t)(module->weight ? module->weight : 1) : 0,
    };
    mlt_flow_add_parameters(b, &v);
    MLT_ARRAY_WANT(g->vectors, g->vector_count + 1ull, b->vector_room);
    *MLT_FLOW_ADD(b->vector_info) = (mlt_flow_vector_more){
        .module = graph_wire_row_of(b, module),
        .collective = kind == MLT_FLOW_MODULE ? MLT_FLOW_NONE : b->collectives.count,
        .file = w->root->file,
    };
    b->modules.at[b->vector_info.at[g->vector_count].module].instances += v.count;
    if (kind != MLT_FLOW_MODULE)
        add_collectives(b, &v);
    MLT_ARRAY_WANT(g->vector_of, v.first + v.count, b->node_room);
    for (uint32_t i = 0; i < v.count; i++)
        g->vector_of[v.first + i] = g->vector_count;
    g->node_count += v.count;
    g->vectors[g->vector_count++] = v;
    return add_thing(w, line, thing);
}

static void add_instance(mlt_flow_builder *b, uint32_t root_vector, const flow_root *root)
{
    for (size_t q = 0; q < root->queue_count; q++)
        *MLT_FLOW_ADD(b->ports) = (mlt_flow_port){
            .instance = b->instances.count, .queue = (uint16_t)q, .out = MLT_FLOW_NONE};
    *MLT_FLOW_ADD(b->instances) = (mlt_flow_root_instance){
        .root_vector = root_vector, .port = b->ports.count - (uint32_t)root->queue_count};
}

static void wire_instance(flow_wiring *w, const mlt_flow_roots *r, uint32_t i)
{
    mlt_flow_builder *b = w->builder;
    flow_wiring inner = {
        .builder = b,
        .root = r->root,
        .outer = w,
        .prefix = r->scalar ? mlt_flow_arena_print(b->graph->arena, "%s.", r->name)
                            : mlt_flow_arena_print(b->graph->arena, "%s[%u].", r->name, i),
        .port = b->instances.at[r->first + i].port,
        .copies = w->copies * r->count};
    b->instances.at[r->first + i].first_node = b->graph->node_count;
    b->wire(b->arg, r->root, &inner);
    b->instances.at[r->first + i].end_node = b->graph->node_count;
    mlt_flow_wiring_fini(&inner);
}

MLT_EXPORT int flow_add_root(flow_wiring *w, int line, const char *name, const flow_root *root,
                             long count)
{
    mlt_flow_builder *b = w->builder;
    const char *full = mlt_flow_arena_print(b->graph->arena, "%s%s", w->prefix, name);
    mlt_flow_thing thing = {.name = full + strlen(w->prefix), .nested = true};
    thing.bad = !may_have(w, line, name, count) || !may_nest(w, line, name, root, count);
    for (const flow_wiring *o = w; o && !thing.bad; o = o->outer)
        if (o->root == root) {
            ERROR(w, line, "%s would contain itself: %s is an instance of it", root->name, name);
            thing.bad = true;
        }
    mlt_flow_roots r = {
        .name = full,
        .root = root,
        .scalar = count == -1,
        .line = line,
        .first = b->instances.count,
        .count = thing.bad     ? 0
                 : count == -1 ? 1
                               : (uint32_t)count,
    };
    thing.at = b->root_vectors.count;
    *MLT_FLOW_ADD(b->root_vectors) = r;
    // All of them first, for their numbers follow each other, and roots inside have their own.
    for (uint32_t i = 0; i < r.count; i++)
        add_instance(b, thing.at, root);
    for (uint32_t i = 0; i < r.count && !b->too_many; i++)
        wire_instance(w, &r, i);
    return add_thing(w, line, thing);
}

// ---- parts

static bool scalar(const flow_wiring *w, const mlt_flow_thing *t)
{
    return t->nested ? w->builder->root_vectors.at[t->at].scalar
                     : w->builder->graph->vectors[t->at].scalar;
}

// As it stands in the statement, with numbers.
static const char *part_text(const flow_wiring *w, const flow_part *p, char *text, size_t size)
{
    if (p->vector == FLOW_OWN) {
        snprintf(text, size, "%s", p->queue);
        return text;
    }
    mlt_text out = mlt_text_on(text, size);
    mlt_text_add(&out, "%s", w->things.at[p->vector].name);
    long step = p->step ? computed(p->step, 0) : 1;
    if (!p->all)
        mlt_text_add(&out,
                     step != 1             ? "[%ld:%ld:%ld]"
                     : p->first == p->last ? "[%ld]"
                                           : "[%ld:%ld]",
                     p->first, p->last, step);
    if (p->queue)
        mlt_text_add(&out, ".%s", p->queue);
    return text;
}

static const char *stage_text(const flow_wiring *w, const flow_stage *s, char *text, size_t size)
{
    mlt_text out = mlt_text_on(text, size);
    char part[GRAPH_WIRE_TEXT];
    for (size_t i = 0; i < s->count; i++)
        mlt_text_add(&out, "%s%s", i ? ", " : "", part_text(w, &s->parts[i], part, sizeof part));
    return text;
}

// What a part's subscript means. False: told, or known to be bad.
static bool slice_of(flow_wiring *w, int line, const flow_part *p, uint32_t *first, uint32_t *last,
                     uint32_t *step)
{
    assert(p->vector >= 0 && (uint32_t)p->vector < w->things.count);
    const mlt_flow_thing *t = &w->things.at[p->vector];
    if (t->bad)
        return false;
    uint32_t count = t->nested ? w->builder->root_vectors.at[t->at].count
                               : w->builder->graph->vectors[t->at].count;
    long by = p->step ? p->step : 1;
    char text[GRAPH_WIRE_TEXT], range[40] = "0";
    flow_part bare = *p;
    bare.queue = NULL;
    part_text(w, &bare, text, sizeof text);
    if (count > 1)
        snprintf(range, sizeof range, "0 to %u", count - 1);
    if (p->all) {
        *first = 0;
        *last = count - 1;
        *step = 1;
        return true;
    }
    if (scalar(w, t))
        ERROR(w, line, "%s: %s is not a vector, so it has no subscripts", text, t->name);
    else if (by < 0)
        ERROR(w, line, "%s has the step %ld: a step is at least 1", text, computed(by, 0));
    else if (p->first > p->last)
        ERROR(w, line,
              "%s is empty: a slice goes from the lower to the higher number, both "
              "included",
              text);
    else if (p->first < 0 || p->last >= (long)count)
        ERROR(w, line, "%s goes beyond %s, which has %u instance%s (%s)", text, t->name, count,
              count == 1 ? "" : "s", range);
    else {
        *first = (uint32_t)p->first;
        *last = (uint32_t)p->last;
        *step = by > INT32_MAX ? INT32_MAX : (uint32_t)by;
        return true;
    }
    return false;
}

static void put_end(mlt_flow_ends *to, uint32_t id, uint16_t queue)
{
    *MLT_ARRAY_ADD(to->at, to->count, to->room) = (mlt_flow_end){.id = id, .queue = queue};
}

// The queue that a part means as a source or as a sink. `both`: it is both, so that a name may be
// that of the other one. UINT16_MAX: told.
static uint16_t pick_queue(flow_wiring *w, int line, const flow_part *p, const char *module,
                           const flow_queue_decl *queues, size_t count, bool input, bool both)
{
    const char *thing = w->things.at[p->vector].name;
    uint16_t q = p->queue ? find_queue(queues, count, p->queue) : UINT16_MAX;
    char hint[GRAPH_WIRE_TEXT];
    if (p->queue && q == UINT16_MAX) {
        const char **names = mlt_xcalloc(count, sizeof *names);
        for (size_t i = 0; i < count; i++)
            names[i] = queues[i].name;
        mlt_flow_hint(hint, sizeof hint, p->queue, names, count);
        free(names);
        ERROR(w, line, "%s has no queue %s%s", module, p->queue, hint);
        return UINT16_MAX;
    }
    if (p->queue && queues[q].input == input)
        return q;
    if (p->queue && !both) {
        ERROR(w, line, "%s.%s is an %s queue of %s: it cannot be a %s", thing, p->queue,
              input ? "output" : "input", module, input ? "sink" : "source");
        return UINT16_MAX;
    }
    q = default_queue(queues, count, input);
    if (q == UINT16_MAX)
        ERROR(w, line, "%s has no default %s, so %s must say which queue", module,
              input ? "input" : "output", thing);
    return q;
}

static bool add_own(flow_wiring *w, int line, const flow_part *p, bool input, mlt_flow_ends *to)
{
    const flow_root *root = w->root;
    uint16_t q = p->queue ? find_queue(root->queues, root->queue_count, p->queue) : UINT16_MAX;
    const char *name = p->queue ? p->queue : "(no name)";
    if (q == UINT16_MAX)
        ERROR(w, line, "%s has no queue %s", root->name, name);
    else if (p->op || !p->all)
        ERROR(w, line, "%s is a queue of %s: it has neither subscripts nor an operation", name,
              root->name);
    else if (root->queues[q].input == input)
        ERROR(w, line, "%s is an %s of %s: inside the root, it is a %s", name,
              input ? "input" : "output", root->name, input ? "source" : "sink");
    else if (w->outer) {
        put_end(to, MLT_FLOW_PORT | (w->port + q), q);
        return true;
    }
    return false; // the main root's: told when it began
}

// The operation that a part says, for its vector.
static bool take_op(flow_wiring *w, int line, const flow_part *p)
{
    const mlt_flow_thing *t = &w->things.at[p->vector];
    mlt_flow_vector *v = t->nested ? NULL : &w->builder->graph->vectors[t->at];
    if (!p->op)
        return true;
    if (!v || v->kind != MLT_FLOW_REDUCE) {
        const char *what = v ? v->module->name : w->builder->root_vectors.at[t->at].root->name;
        ERROR(w, line,
              "%s(%s): %s is an instance of %s, which takes no operation; only a Reduce does",
              t->name, p->op->name, t->name, what);
        return false;
    }
    if (!p->op->combine && !mlt_flow_op_known(p->op->name)) {
        const char *near = mlt_flow_op_near(p->op->name);
        ERROR(w, line, "there is no operation %s%s%s; predefined are %s", p->op->name,
              near ? ": did you mean " : "", near ? near : "", mlt_flow_op_list());
        return false;
    }
    if (v->op && strcmp(v->op->name, p->op->name) != 0) {
        ERROR(w, line, "%s has the operation %s already, so it cannot have %s", t->name,
              v->op->name, p->op->name);
        return false;
    }
    v->op = p->op;
    return true;
}

// One side of a joint that a part is. `input`: as a sink; `both`: it is in the middle of the
// statement.
static bool add_part(flow_wiring *w, int line, const flow_part *p, bool input, bool both,
                     mlt_flow_ends *to)
{
    if (p->vector == FLOW_OWN)
        return add_own(w, line, p, input, to);
    mlt_flow_builder *b = w->builder;
    uint32_t first, last, step;
    if (!slice_of(w, line, p, &first, &last, &step) || !take_op(w, line, p))
        return false;
    const mlt_flow_thing *t = &w->things.at[p->vector];
    const mlt_flow_vector *v = t->nested ? NULL : &b->graph->vectors[t->at];
    if (v && v->kind != MLT_FLOW_MODULE && first + (uint64_t)step <= last) {
        char text[GRAPH_WIRE_TEXT];
        ERROR(w, line, "%s names %u of a vector of %s: a stage takes one of them, such as %s[%u]",
              part_text(w, p, text, sizeof text), (last - first) / step + 1,
              mlt_flow_kind_name(v->kind), t->name, first);
        return false;
    }
    const flow_root *root = v ? NULL : b->root_vectors.at[t->at].root;
    uint16_t q = pick_queue(w, line, p, v ? v->module->name : root->name,
                            v ? v->module->queues : root->queues,
                            v ? v->module->queue_count : root->queue_count, input, both);
    if (q == UINT16_MAX)
        return false;
    for (uint64_t i = first; i <= last; i += step)
        if (v)
            put_end(to, v->first + (uint32_t)i, v->kind == MLT_FLOW_MODULE ? q : 0);
        else
            put_end(to,
                    MLT_FLOW_PORT | (b->instances.at[b->root_vectors.at[t->at].first + i].port + q),
                    q);
    return true;
}

static bool add_stage(flow_wiring *w, int line, const flow_stage *s, bool input, bool both,
                      mlt_flow_ends *to)
{
    bool fine = s->count > 0;
    to->count = 0;
    for (size_t i = 0; i < s->count; i++)
        fine &= add_part(w, line, &s->parts[i], input, both, to);
    return fine;
}

// ---- statements

// What a stage is if it is one collective and nothing else.
static mlt_flow_collective *only_collective(const flow_wiring *w, const mlt_flow_ends *ends)
{
    return ends->count == 1 && !(ends->at[0].id & MLT_FLOW_PORT)
               ? mlt_flow_collective_of(w->builder, ends->at[0].id)
               : NULL;
}

// A collective has its ends on one side from one statement: were there two, a reader would take
// them for two reductions.
static bool graph_wire_enter(flow_wiring *w, int line, mlt_flow_end end, bool input)
{
    mlt_flow_builder *b = w->builder;
    if (end.id & MLT_FLOW_PORT)
        return true;
    mlt_flow_collective *c = mlt_flow_collective_of(b, end.id);
    if (!c)
        return true;
    uint32_t *statement = input ? &c->in_statement : &c->out_statement;
    int *at = input ? &c->in_line : &c->out_line;
    if (*statement && *statement != b->statement) {
        char name[GRAPH_WIRE_TEXT];
        const char *kind = mlt_flow_kind_name(mlt_flow_vector_of(b->graph, end.id)->kind);
        if (mlt_flow_once(b, MLT_FLOW_TOLD_ENTER, line))
            ERROR(w, line,
                  "%s is wired in line %d already: name all %s in one statement, or take "
                  "another %s",
                  mlt_flow_node_name(b->graph, end.id, name, sizeof name), *at,
                  input ? "that lead to it" : "that it leads to", kind);
        return false;
    }
    *statement = b->statement;
    *at = line;
    return true;
}

static bool graph_wire_add_edge(flow_wiring *w, int line, mlt_flow_end from, mlt_flow_end to)
{
    mlt_flow_builder *b = w->builder;
    mlt_flow_graph *g = b->graph;
    if (g->edge_count == UINT32_MAX - 1) {
        ERROR(w, line, "there are more than %u wires", g->edge_count);
        return false;
    }
    if (!graph_wire_enter(w, line, from, false) || !graph_wire_enter(w, line, to, true))
        return false;
    *MLT_ARRAY_ADD(g->edges, g->edge_count, b->edge_room) = (mlt_flow_edge){
        .from = from.id, .to = to.id, .out = from.queue, .in = to.queue, .line = line};
    return true;
}

// "p, q[0] give 5 outputs", "p has 1 input".
static const char *ends_text(const flow_wiring *w, const flow_stage *s, size_t n, bool input,
                             char *text)
{
    char stage[GRAPH_WIRE_TEXT];
    const char *verb = input ? (s->count > 1 ? "have" : "has") : s->count > 1 ? "give" : "gives";
    snprintf(text, 2 * GRAPH_WIRE_TEXT, "%s %s %zu %s%s", stage_text(w, s, stage, sizeof stage),
             verb, n, input ? "input" : "output", n == 1 ? "" : "s");
    return text;
}

static void tell_arity(flow_wiring *w, int line, const flow_stage *stages, size_t at, bool each)
{
    size_t from = w->builder->from.count, to = w->builder->to.count;
    char a[2 * GRAPH_WIRE_TEXT], b[2 * GRAPH_WIRE_TEXT];
    ends_text(w, &stages[at], from, false, a);
    ends_text(w, &stages[at + 1], to, true, b);
    if (each)
        ERROR(w, line, "%s, but %s: => joins them one by one", a, b);
    else if (from == to)
        ERROR(w, line,
              "%s and %s: join them one by one with =>, or put a Broadcast (each gets all), a Deal "
              "(in turn), a Collect or a Reduce between",
              a, b);
    else
        ERROR(
            w, line,
            "%s, but %s: put a Broadcast (each gets all), a Deal (in turn), a Collect or a Reduce "
            "between; => would join them one by one, if there were equally many",
            a, b);
}

// From stage `at` to the next: many to one, one collective to many, or (=>) one by one. `through`:
// the stage that was joined by => to the collective that this one is; lengths agree across it.
// False: told.
static bool graph_wire_join(flow_wiring *w, int line, const flow_stage *stages, size_t at,
                            const flow_stage *through, size_t through_count)
{
    const mlt_flow_ends *from = &w->builder->from, *to = &w->builder->to;
    const mlt_flow_collective *source = only_collective(w, from);
    const mlt_flow_collective *sink = only_collective(w, to);
    bool each = stages[at + 1].join == FLOW_EACH;
    char a[2 * GRAPH_WIRE_TEXT], b[2 * GRAPH_WIRE_TEXT], stage[GRAPH_WIRE_TEXT];
    if (each && source && !sink && through && through_count != to->count) {
        ERROR(w, line, "%s, %s takes any number, but %s",
              ends_text(w, through, through_count, false, a),
              stage_text(w, &stages[at], stage, sizeof stage),
              ends_text(w, &stages[at + 1], to->count, true, b));
        return false;
    }
    if (source && to->count > 1 &&
        mlt_flow_vector_of(w->builder->graph, source->node)->kind == MLT_FLOW_COLLECT) {
        ERROR(w, line,
              "%s is a Collect, which has 1 output, but %s: put a Broadcast (each gets all) or a "
              "Deal (in turn) between",
              stage_text(w, &stages[at], stage, sizeof stage),
              ends_text(w, &stages[at + 1], to->count, true, b));
        return false;
    }
    if (!source && !sink && (each ? from->count != to->count : to->count != 1)) {
        tell_arity(w, line, stages, at, each);
        return false;
    }
    size_t count = from->count > to->count ? from->count : to->count;
    for (size_t i = 0; i < count; i++)
        if (!graph_wire_add_edge(w, line, from->at[from->count == 1 ? 0 : i],
                                 to->at[to->count == 1 ? 0 : i]))
            return false;
    return true;
}

MLT_EXPORT void flow_wire(flow_wiring *w, int line, const flow_stage *stages, size_t count)
{
    mlt_flow_builder *b = w->builder;
    b->statement++;
    const flow_stage *through = NULL;
    size_t through_count = 0;
    if (count < 2)
        ERROR(w, line,
              "a statement of one stage wires nothing: ||| and what it leads to are "
              "missing");
    for (size_t s = 0; s + 1 < count; s++) {
        bool from = add_stage(w, line, &stages[s], false, s > 0, &b->from);
        if (!add_stage(w, line, &stages[s + 1], true, s + 2 < count, &b->to) || !from)
            return;
        if (!only_collective(w, &b->from)) {
            through = &stages[s];
            through_count = b->from.count;
        }
        if (stages[s + 1].join != FLOW_EACH)
            through = NULL;
        if (!graph_wire_join(w, line, stages, s, through, through_count))
            return;
    }
}

// ---- places

// "host1", "host1:0", "3". False: neither.
static bool read_place(mlt_flow_builder *b, const char *where, mlt_flow_pin *pin)
{
    const char *colon = strrchr(where, ':'), *number = colon ? colon + 1 : where;
    char *end;
    long n = strtol(number, &end, 10);
    bool numeric = *number >= '0' && *number <= '9' && !*end && n <= INT32_MAX;
    pin->place = -1;
    pin->host = NULL;
    if (*where == '-')
        return false; // a number that came out negative
    if (numeric)
        pin->place = n;
    else if (colon)
        return false;
    if (colon && colon > where)
        pin->host = mlt_flow_arena_print(b->graph->arena, "%.*s", (int)(colon - where), where);
    else if (!numeric && *where)
        pin->host = mlt_flow_arena_print(b->graph->arena, "%s", where);
    return pin->host || (numeric && !colon);
}

static void add_pins(mlt_flow_builder *b, uint32_t first, uint32_t count, mlt_flow_pin pin)
{
    mlt_flow_graph *g = b->graph;
    for (uint32_t i = 0; i < count; i++) {
        MLT_ARRAY_WANT(g->pins, g->pin_count + 1ull, b->pin_room);
        pin.node = first + i;
        g->pins[g->pin_count++] = pin;
    }
}

MLT_EXPORT void flow_place(flow_wiring *w, int line, const flow_part *parts, size_t count,
                           const char *where)
{
    mlt_flow_builder *b = w->builder;
    mlt_flow_pin pin = {.line = line};
    if (!read_place(b, where, &pin)) {
        ERROR(w, line, "%s is not a place: say a host, a host and a number (host1:0), or a number",
              where);
        return;
    }
    for (size_t k = 0; k < count; k++) {
        const flow_part *p = &parts[k];
        uint32_t first, last, step;
        char text[GRAPH_WIRE_TEXT];
        if (p->vector == FLOW_OWN || p->queue || p->op)
            ERROR(w, line, "%s @ %s: instances are placed, not queues or operations",
                  part_text(w, p, text, sizeof text), where);
        else if (slice_of(w, line, p, &first, &last, &step)) {
            const mlt_flow_thing *t = &w->things.at[p->vector];
            for (uint64_t i = first; i <= last; i += step) {
                if (!t->nested) {
                    add_pins(b, b->graph->vectors[t->at].first + (uint32_t)i, 1, pin);
                    continue;
                }
                const mlt_flow_root_instance *r =
                    &b->instances.at[b->root_vectors.at[t->at].first + (uint32_t)i];
                add_pins(b, r->first_node, r->end_node - r->first_node, pin);
            }
        }
    }
}

MLT_EXPORT void flow_place_nth(flow_wiring *w, int line, const flow_part *parts, size_t count,
                               const char *host, long n)
{
    char *where = mlt_text_of("%s%s%ld", host ? host : "", host ? ":" : "", n);
    flow_place(w, line, parts, count, where);
    free(where);
}
