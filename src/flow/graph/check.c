// SPDX-License-Identifier: BSD-3-Clause
// What can be said only of the whole graph. Each thing is told once for a vector or a collective,
// with its first instance as the example. If something else was wrong, nothing is said of what is
// missing: it may be missing because of that.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "flow/graph/graph_int.h"
#include "flow/graph/ops.h"

enum { CHECK_TEXT = 240 };

static mlt_flow_end edge_end(const mlt_flow_edge *e, bool source)
{
    return source ? (mlt_flow_end){.id = e->from, .queue = e->out}
                  : (mlt_flow_end){.id = e->to, .queue = e->in};
}

static const char *check_end_name(const mlt_flow_builder *b, mlt_flow_end end, char *text)
{
    return mlt_flow_end_name(b, end, text, CHECK_TEXT);
}

static const char *file_of(const mlt_flow_builder *b, uint32_t node)
{
    return b->vector_info.at[b->graph->vector_of[node]].file;
}

// ---- queues: wired once, and wired at all

// The mark of a module's queue; NULL for a collective.
static uint32_t *mark_of(mlt_flow_builder *b, uint32_t node, uint16_t queue)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(b->graph, node);
    if (v->kind != MLT_FLOW_MODULE)
        return NULL;
    return &b->marks[b->vector_info.at[b->graph->vector_of[node]].mark +
                     (size_t)(node - v->first) * v->module->queue_count + queue];
}

void mlt_flow_mark_input(mlt_flow_builder *b, uint32_t node, uint16_t queue)
{
    uint32_t *mark = mark_of(b, node, queue);
    if (mark && !*mark)
        *mark = 1;
}

static void tell_twice(mlt_flow_builder *b, const mlt_flow_edge *e, const mlt_flow_edge *before)
{
    char from[CHECK_TEXT], to[CHECK_TEXT], line[40] = "";
    if (before->line != e->line)
        snprintf(line, sizeof line, " (line %d)", before->line);
    mlt_flow_graph_say(
        b, b->root->file, e->line, MLT_FLOW_ERROR,
        "%s leads to %s already%s, and an output leads to one thing: put a Broadcast "
        "between",
        check_end_name(b, edge_end(e, true), from), check_end_name(b, edge_end(before, false), to),
        line);
}

// Marks queues that are wired, and tells of outputs that are so twice.
static void mark_wires(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const mlt_flow_edge *e = &g->edges[i];
        bool port = e->from & MLT_FLOW_PORT;
        uint32_t *mark =
            port ? &b->ports.at[e->from & ~MLT_FLOW_PORT].out : mark_of(b, e->from, e->out);
        uint32_t none = port ? MLT_FLOW_NONE : 0, at = port ? i : i + 1;
        if (mark && *mark == none) {
            *mark = at;
        } else if (mark) {
            b->tangled |= port;
            if (mlt_flow_once(b, MLT_FLOW_TOLD_TWICE, e->line))
                tell_twice(b, e, &g->edges[port ? *mark : *mark - 1]);
        }
        if (e->to & MLT_FLOW_PORT)
            b->ports.at[e->to & ~MLT_FLOW_PORT].ins++;
        else
            mlt_flow_mark_input(b, e->to, e->in);
    }
}

// "outQueue1 of Parallel is wired in no instance".
static void tell_unwired(mlt_flow_builder *b, const char *file, int line, const char *module,
                         const char *queue, uint32_t wired, uint32_t all, const char *example)
{
    if (wired == 0)
        mlt_flow_graph_say(b, file, line, MLT_FLOW_ERROR,
                           "%s of %s is wired in no instance: wire it, or declare it optional",
                           queue, module);
    else if (wired < all)
        mlt_flow_graph_say(b, file, line, MLT_FLOW_WARNING,
                           "%s of %s is wired in %u of %u instances only; not in %s, for example",
                           queue, module, wired, all, example);
}

static bool typed(const flow_queue_decl *q)
{
    return q->kind != FLOW_ANY || q->type;
}

// Default queues are there even if they are not declared; then they have no type.
static bool required(const flow_queue_decl *q)
{
    return !q->optional &&
           (typed(q) || (strcmp(q->name, "in") != 0 && strcmp(q->name, "out") != 0));
}

static void check_queues(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (uint32_t v = 0; v < g->vector_count; v++) {
        mlt_flow_module_row *m = &b->modules.at[b->vector_info.at[v].module];
        size_t queues = m->module->queue_count;
        if (g->vectors[v].kind != MLT_FLOW_MODULE)
            continue;
        for (uint32_t i = 0; i < g->vectors[v].count; i++)
            for (size_t q = 0; q < queues; q++) {
                if (b->marks[b->vector_info.at[v].mark + i * queues + q])
                    m->wired[q]++;
                else if (m->first_unwired[q] == MLT_FLOW_NONE)
                    m->first_unwired[q] = g->vectors[v].first + i;
            }
    }
    for (uint32_t i = 0; i < b->modules.count; i++) {
        const mlt_flow_module_row *m = &b->modules.at[i];
        for (size_t q = 0; q < m->module->queue_count; q++) {
            if (!required(&m->module->queues[q]) || m->first_unwired[q] == MLT_FLOW_NONE)
                continue;
            char example[CHECK_TEXT];
            mlt_flow_node_name(g, m->first_unwired[q], example, sizeof example);
            tell_unwired(b, file_of(b, m->first_unwired[q]),
                         mlt_flow_vector_of(g, m->first_unwired[q])->line, m->module->name,
                         m->module->queues[q].name, m->wired[q], m->instances, example);
        }
    }
}

static const mlt_flow_roots *root_vector_of(const mlt_flow_builder *b, const mlt_flow_port *port)
{
    return &b->root_vectors.at[b->instances.at[port->instance].root_vector];
}

typedef struct root_row { // of all instances of a root, and one of its queues
    const flow_root *root;
    uint16_t queue;
    uint32_t all, wired;
    uint32_t first_unwired; // port
    bool told;
} root_row;

// Queues of roots: joined to something inside, each of them; wired outside as modules' are.
static void check_ports(mlt_flow_builder *b)
{
    root_row *rows = NULL;
    uint32_t count = 0, room = 0, last = 0;
    for (uint32_t p = 0; p < b->ports.count; p++) {
        const mlt_flow_port *port = &b->ports.at[p];
        const flow_root *root = root_vector_of(b, port)->root;
        uint32_t r = last + 1 < count && rows[last + 1].root == root ? last + 1 : 0;
        while (r < count && (rows[r].root != root || rows[r].queue != port->queue))
            r++;
        if (r == count) {
            *MLT_ARRAY_ADD(rows, count, room) =
                (root_row){.root = root, .queue = port->queue, .first_unwired = MLT_FLOW_NONE};
        }
        last = r;
        bool input = root->queues[port->queue].input, in = port->ins > 0;
        bool out = port->out != MLT_FLOW_NONE;
        if (!(input ? out : in) && !rows[r].told) {
            mlt_flow_graph_say(b, root->file, root->line, MLT_FLOW_ERROR,
                               "%s is an %s of %s, but nothing inside is wired to it",
                               root->queues[port->queue].name, input ? "input" : "output",
                               root->name);
            rows[r].told = true;
        }
        rows[r].all++;
        rows[r].wired += input ? in : out;
        if (!(input ? in : out) && rows[r].first_unwired == MLT_FLOW_NONE)
            rows[r].first_unwired = p;
    }
    for (uint32_t r = 0; r < count; r++) {
        const flow_queue_decl *queue = &rows[r].root->queues[rows[r].queue];
        if (queue->optional || rows[r].told || rows[r].first_unwired == MLT_FLOW_NONE)
            continue;
        char example[CHECK_TEXT];
        check_end_name(b, (mlt_flow_end){MLT_FLOW_PORT | rows[r].first_unwired, rows[r].queue},
                       example);
        *strrchr(example, '.') = 0;
        const mlt_flow_roots *roots = root_vector_of(b, &b->ports.at[rows[r].first_unwired]);
        tell_unwired(b, b->root->file, roots->line, rows[r].root->name, queue->name, rows[r].wired,
                     rows[r].all, example);
    }
    free(rows);
}

// ---- types

static const flow_queue_decl *decl_of(const mlt_flow_builder *b, mlt_flow_end end)
{
    if (!(end.id & MLT_FLOW_PORT))
        return &mlt_flow_vector_of(b->graph, end.id)->module->queues[end.queue];
    const mlt_flow_port *port = &b->ports.at[end.id & ~MLT_FLOW_PORT];
    return &root_vector_of(b, port)->root->queues[port->queue];
}

static const char *type_text(flow_type kind, const char *type)
{
    return type ? type : mlt_flow_type_name(kind);
}

static const char *decl_type(const flow_queue_decl *q)
{
    return type_text(q->kind, q->type);
}

static bool same_type(flow_type a, const char *a_text, const flow_queue_decl *q)
{
    if (a != FLOW_ANY && q->kind != FLOW_ANY)
        return a == q->kind;
    return strcmp(type_text(a, a_text), decl_type(q)) == 0;
}

// False: two types.
static bool check_edge(mlt_flow_builder *b, const mlt_flow_edge *e)
{
    mlt_flow_end source = edge_end(e, true), sink = edge_end(e, false);
    const flow_queue_decl *from = decl_of(b, source), *to = decl_of(b, sink);
    if (!typed(from) || !typed(to) || same_type(from->kind, from->type, to))
        return true;
    char a[CHECK_TEXT], c[CHECK_TEXT];
    if (mlt_flow_once(b, MLT_FLOW_TOLD_TYPE, e->line))
        mlt_flow_graph_say(b, b->root->file, e->line, MLT_FLOW_ERROR,
                           "%s gives %s, but %s takes %s", check_end_name(b, source, a),
                           decl_type(from), check_end_name(b, sink, c), decl_type(to));
    return false;
}

// The collective that stands for all that pass elements to each other.
static mlt_flow_collective *type_group(mlt_flow_builder *b, const mlt_flow_collective *c)
{
    mlt_flow_collective *all = b->collectives.at;
    uint32_t i = c->parent;
    while (all[i].parent != i)
        i = all[i].parent = all[all[i].parent].parent;
    return &all[i];
}

// A queue at a collective: its type is that of the others there.
static void check_joined(mlt_flow_builder *b, uint32_t edge, bool source)
{
    const mlt_flow_graph *g = b->graph;
    const mlt_flow_edge *e = &g->edges[edge];
    mlt_flow_end own = edge_end(e, source);
    const flow_queue_decl *q = decl_of(b, own);
    uint32_t at = source ? e->to : e->from;
    mlt_flow_collective *c = type_group(b, mlt_flow_collective_of(b, at));
    if (!typed(q) || c->told)
        return;
    if (c->edge == MLT_FLOW_NONE) {
        c->edge = edge;
        c->source = source;
        return;
    }
    mlt_flow_end first = edge_end(&g->edges[c->edge], c->source);
    const flow_queue_decl *p = decl_of(b, first);
    if (p == q || same_type(p->kind, p->type, q))
        return;
    char one[CHECK_TEXT], other[CHECK_TEXT], name[CHECK_TEXT];
    if (mlt_flow_once(b, MLT_FLOW_TOLD_TYPE, e->line))
        mlt_flow_graph_say(b, b->root->file, e->line, MLT_FLOW_ERROR,
                           "%s carries %s, but %s carries %s: %s joins queues of one type",
                           check_end_name(b, first, one), decl_type(p),
                           check_end_name(b, own, other), decl_type(q),
                           mlt_flow_node_name(g, at, name, sizeof name));
    c->told = true;
}

// A Reduce's operation is for the type of what it reduces.
static void check_op(mlt_flow_builder *b, const mlt_flow_collective *r)
{
    const mlt_flow_graph *g = b->graph;
    const flow_op *op = mlt_flow_vector_of(g, r->node)->op;
    mlt_flow_collective *c = type_group(b, r);
    if (!op || c->told || c->edge == MLT_FLOW_NONE)
        return;
    mlt_flow_end first = edge_end(&g->edges[c->edge], c->source);
    const flow_queue_decl *q = decl_of(b, first);
    char name[CHECK_TEXT], end[CHECK_TEXT], why[CHECK_TEXT] = "";
    if (op->combine) {
        if ((op->kind != FLOW_ANY || op->type) && !same_type(op->kind, op->type, q))
            snprintf(why, sizeof why, "%s works on %s, not on %s", op->name,
                     type_text(op->kind, op->type), decl_type(q));
    } else if (q->kind != FLOW_ANY) {
        mlt_reduction unused;
        if (mlt_flow_op_find(op->name, q->kind, &unused, why, sizeof why))
            *why = 0;
    } else if (q->bytes > 0 || strncmp(q->type, "struct ", 7) == 0 ||
               strncmp(q->type, "union ", 6) == 0) {
        // An unknown type name may be a typedef of a number: the program will tell.
        snprintf(why, sizeof why, "%s works on numbers, not on %s: declare an operation for it",
                 op->name, q->type);
    }
    if (!*why)
        return;
    if (mlt_flow_once(b, MLT_FLOW_TOLD_TYPE, r->in_line))
        mlt_flow_graph_say(b, file_of(b, r->node), r->in_line, MLT_FLOW_ERROR,
                           "%s(%s): %s carries %s, and %s",
                           mlt_flow_node_name(g, r->node, name, sizeof name), op->name,
                           check_end_name(b, first, end), decl_type(q), why);
    c->told = true;
}

static void check_types(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (uint32_t i = 0; i < g->edge_count && b->collectives.count; i++) {
        const mlt_flow_collective *from = mlt_flow_collective_of(b, g->edges[i].from);
        const mlt_flow_collective *to = mlt_flow_collective_of(b, g->edges[i].to);
        if (from && to)
            type_group(b, from)->parent = type_group(b, to)->parent;
    }
    for (uint32_t i = 0; i < g->edge_count; i++) {
        const mlt_flow_edge *e = &g->edges[i];
        bool from = mlt_flow_vector_of(g, e->from)->kind != MLT_FLOW_MODULE;
        bool to = mlt_flow_vector_of(g, e->to)->kind != MLT_FLOW_MODULE;
        if (from != to)
            check_joined(b, i, to);
        else if (!from)
            check_edge(b, e);
    }
    for (uint32_t c = 0; c < b->collectives.count; c++)
        if (mlt_flow_vector_of(g, b->collectives.at[c].node)->kind == MLT_FLOW_REDUCE)
            check_op(b, &b->collectives.at[c]);
}

// ---- collectives, places

// What is missing of a collective; NULL: nothing.
static const char *missing(const mlt_flow_graph *g, const mlt_flow_collective *c)
{
    const mlt_flow_vector *v = mlt_flow_vector_of(g, c->node);
    bool in = g->in.first[c->node + 1] > g->in.first[c->node];
    bool out = g->out.first[c->node + 1] > g->out.first[c->node];
    return !in && !out                            ? " is wired nowhere"
           : !in && v->kind == MLT_FLOW_REDUCE    ? " has no contributors: nothing leads to it"
           : !in                                  ? " has no senders: nothing leads to it"
           : !out                                 ? " leads nowhere: wire it to its receivers"
           : v->kind == MLT_FLOW_REDUCE && !v->op ? " is a Reduce and needs an operation, such as "
                                                  : NULL;
}

static void check_collectives(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    for (uint32_t i = 0; i < b->collectives.count; i++) {
        const mlt_flow_collective *c = &b->collectives.at[i];
        const mlt_flow_vector *v = mlt_flow_vector_of(g, c->node);
        const char *what = missing(g, c);
        int line = c->in_line ? c->in_line : c->out_line ? c->out_line : v->line;
        if (!what || !mlt_flow_once(b, MLT_FLOW_TOLD_COLLECTIVE, line))
            continue;
        char name[CHECK_TEXT];
        bool op = what[strlen(what) - 1] == ' ';
        mlt_flow_node_name(g, c->node, name, sizeof name);
        mlt_flow_graph_say(b, file_of(b, c->node), line, MLT_FLOW_ERROR, "%s%s%s%s", name, what,
                           op ? name : "", op ? "(sum)" : "");
    }
}

// Keeps one pin a node: of two that agree the more exact (of `p @ host1; p[0] @ host1:0;` the
// second); others are errors.
static void check_pins(mlt_flow_builder *b)
{
    mlt_flow_graph *g = b->graph;
    if (!g->pin_count)
        return;
    uint32_t *pin_of = mlt_flow_arena_take(g->arena, g->node_count * sizeof *pin_of), kept = 0;
    for (uint32_t i = 0; i < g->pin_count; i++) {
        mlt_flow_pin pin = g->pins[i], *other;
        if (!pin_of[pin.node]) {
            g->pins[kept++] = pin;
            pin_of[pin.node] = kept;
            continue;
        }
        other = &g->pins[pin_of[pin.node] - 1];
        if (!pin.host == !other->host && (!pin.host || strcmp(pin.host, other->host) == 0) &&
            (pin.place < 0 || other->place < 0 || pin.place == other->place)) {
            if (other->place < 0)
                *other = pin;
            continue;
        }
        char name[CHECK_TEXT], one[CHECK_TEXT], two[CHECK_TEXT];
        if (mlt_flow_once(b, MLT_FLOW_TOLD_PIN, pin.line))
            mlt_flow_graph_say(b, file_of(b, pin.node), pin.line, MLT_FLOW_ERROR,
                               "%s is placed at %s, but line %d says %s",
                               mlt_flow_node_name(g, pin.node, name, sizeof name),
                               mlt_flow_pin_text(&pin, one, sizeof one), other->line,
                               mlt_flow_pin_text(other, two, sizeof two));
    }
    g->pin_count = kept;
}

// ---- all of it

void mlt_flow_check_wires(mlt_flow_builder *b)
{
    const mlt_flow_graph *g = b->graph;
    size_t marks = 0;
    for (uint32_t v = 0; v < g->vector_count; v++) {
        b->vector_info.at[v].mark = marks;
        if (g->vectors[v].kind == MLT_FLOW_MODULE)
            marks += (size_t)g->vectors[v].count * g->vectors[v].module->queue_count;
    }
    b->marks = mlt_flow_arena_take(g->arena, marks * sizeof *b->marks);
    mark_wires(b);
    for (uint32_t i = 0; i < g->edge_count && b->ports.count; i++)
        if ((g->edges[i].from | g->edges[i].to) & MLT_FLOW_PORT)
            b->mistyped |= !check_edge(b, &g->edges[i]);
}

void mlt_flow_check_whole(mlt_flow_builder *b)
{
    uint32_t wiring_errors = b->graph->errors; // wrong types and pins hide nothing that is missing
    if (!b->mistyped)
        check_types(b);
    check_pins(b);
    if (wiring_errors)
        return;
    check_collectives(b);
    check_ports(b);
    check_queues(b);
}
