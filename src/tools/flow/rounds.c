// SPDX-License-Identifier: BSD-3-Clause
// Round by round, each task after those that it needs: elements of a line are the actions after
// which they are there, and where they lie.
#include "tools/flow/rounds.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cycle.h"
#include "base/memory.h"
#include "flow/graph/ops.h"

enum { ROUNDS_MOST_ACTIONS = 1 << 26 };

// An element on the worker where its line ends.
typedef struct item {
    uint32_t after; // that action; MLT_GOAL_NONE: it is there at once
    mlt_goal_span span;
    bool shared; // others have it, too: nobody may combine into it
} item;

typedef struct items {
    item *of;
    uint32_t count, room;
} items;

typedef struct rounds {
    const mlt_flow_lowered *l;
    const mlt_flow_rounds *how;
    mlt_goal_program *program;
    uint32_t *strong; // [nodes] the number of its circle: nodes of one reach each other
    uint32_t *unit;   // [tasks] what is done at once: a task, or all parts of a reduction
    uint32_t *order;  // [order_count] units, each after those that it needs
    uint32_t order_count;
    items *came;                  // [lines] in this round
    items *back;                  // [lines] in the round before, of lines that lead back
    uint32_t *ready;              // [tasks] of modules: the action of the round before
    uint64_t *turn;               // [tasks] of Deals: elements so far
    uint32_t *sends, *gets;       // [lines] buffers at both ends; 0: none yet
    uint64_t *sent, *got;         // [lines] elements so far
    uint32_t *runs;               // [reductions] of its schedule, so far
    mlt_goal_program **schedules; // [reductions] of all its members; NULL: not needed yet
    char *why;
    size_t why_size;
} rounds;

// ---- circles

// Marks what `node` reaches in that direction and nobody has marked, in the order in which it is
// left; returns the end of that order.
static uint32_t walk(const mlt_digraph *g, uint32_t node, uint32_t mark, uint32_t *marks,
                     uint32_t *left, uint32_t end)
{
    uint64_t *at = mlt_xcalloc(g->nodes, sizeof *at);
    uint32_t *stack = mlt_xcalloc(g->nodes, sizeof *stack), depth = 0;
    marks[node] = mark;
    at[depth] = g->first[node];
    stack[depth++] = node;
    while (depth) {
        uint32_t now = stack[depth - 1];
        if (at[depth - 1] == g->first[now + 1]) {
            left[end++] = now;
            depth--;
            continue;
        }
        uint32_t next = g->to[at[depth - 1]++];
        if (marks[next])
            continue;
        marks[next] = mark;
        at[depth] = g->first[next];
        stack[depth++] = next;
    }
    free(at);
    free(stack);
    return end;
}

// Kosaraju's: strongly connected parts of the graph as written.
static void find_circles(rounds *r)
{
    const mlt_flow_graph *g = r->l->graph;
    uint32_t n = g->node_count, end = 0, number = 0;
    mlt_edge *edges = mlt_xcalloc(g->edge_count + 1ull, sizeof *edges);
    for (uint32_t i = 0; i < g->edge_count; i++)
        edges[i] = (mlt_edge){g->edges[i].from, g->edges[i].to};
    mlt_digraph forth = mlt_digraph_of(n, edges, g->edge_count, MLT_FORWARDS);
    mlt_digraph back = mlt_digraph_of(n, edges, g->edge_count, MLT_BACKWARDS);
    uint32_t *marks = mlt_xcalloc(n, sizeof *marks), *left = mlt_xcalloc(n, sizeof *left);
    uint32_t *idle = mlt_xcalloc(n, sizeof *idle);
    r->strong = mlt_xcalloc(n, sizeof *r->strong);
    for (uint32_t i = 0; i < n; i++)
        if (!marks[i])
            end = walk(&forth, i, 1, marks, left, end);
    for (uint32_t i = n; i-- > 0;)
        if (!r->strong[left[i]])
            walk(&back, left[i], ++number, r->strong, idle, 0);
    mlt_digraph_free(&forth);
    mlt_digraph_free(&back);
    free(edges);
    free(marks);
    free(left);
    free(idle);
}

// What a module gets from others of its circle is for its next round.
static bool leads_back(const rounds *r, uint32_t line)
{
    const mlt_flow_task *from = &r->l->tasks[r->l->lines[line].from];
    const mlt_flow_task *to = &r->l->tasks[r->l->lines[line].to];
    return to->kind == MLT_FLOW_MODULE && r->strong[from->node] == r->strong[to->node];
}

// ---- order

static void find_units(rounds *r)
{
    const mlt_flow_lowered *l = r->l;
    r->unit = mlt_xcalloc(l->task_count + 1ull, sizeof *r->unit);
    for (uint32_t t = 0; t < l->task_count; t++)
        r->unit[t] = l->tasks[t].kind == MLT_FLOW_REDUCE && l->tasks[t].reduction != UINT32_MAX
                         ? l->reductions[l->tasks[t].reduction].task[0]
                         : t;
}

static bool rounds_order(rounds *r)
{
    const mlt_flow_lowered *l = r->l;
    uint32_t *needs = mlt_xcalloc(l->task_count + 1ull, sizeof *needs), units = 0, count = 0;
    mlt_edge *edges = mlt_xcalloc(l->line_count + 1ull, sizeof *edges);
    for (uint32_t i = 0; i < l->line_count; i++) {
        mlt_edge e = {r->unit[l->lines[i].from], r->unit[l->lines[i].to]};
        if (leads_back(r, i))
            continue;
        needs[e.to]++;
        edges[count++] = e;
    }
    mlt_digraph after = mlt_digraph_of(l->task_count, edges, count, MLT_FORWARDS);
    r->order = mlt_xcalloc(l->task_count + 1ull, sizeof *r->order);
    for (uint32_t t = 0; t < l->task_count; t++) {
        units += r->unit[t] == t;
        if (r->unit[t] == t && !needs[t])
            r->order[r->order_count++] = t;
    }
    for (uint32_t i = 0; i < r->order_count; i++)
        for (uint64_t k = after.first[r->order[i]]; k < after.first[r->order[i] + 1]; k++)
            if (--needs[after.to[k]] == 0)
                r->order[r->order_count++] = after.to[k];
    for (uint32_t t = 0; t < l->task_count && r->order_count < units; t++) {
        char name[96];
        if (r->unit[t] != t || !needs[t])
            continue;
        snprintf(r->why, r->why_size,
                 "%s waits for itself: collectives that lead to each other, with no module "
                 "between, have no rounds",
                 mlt_flow_task_name(l, t, name, sizeof name));
        break;
    }
    mlt_digraph_free(&after);
    free(edges);
    free(needs);
    return r->order_count == units;
}

// ---- actions

static uint32_t worker_of(const rounds *r, uint32_t task)
{
    return r->l->tasks[task].worker;
}

static void rounds_require(rounds *r, uint32_t worker, uint32_t action, uint32_t after)
{
    if (after != MLT_GOAL_NONE)
        mlt_goal_require(r->program, worker, action, after);
}

// A name of the graph as one of a buffer: "p[1].out" is p_1_out.
static void make_identifier(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != ']')
            *to++ = isalnum((unsigned char)*c) ? *c : '_';
    *to = '\0';
}

// The buffer of that name, which is made if there is none.
static uint32_t named_buffer(rounds *r, uint32_t worker, char *name)
{
    make_identifier(name);
    uint32_t buffer = mlt_goal_buffer_find(r->program, worker, name);
    return buffer == MLT_GOAL_NOWHERE ? mlt_goal_buffer_add(r->program, worker, name, 0) : buffer;
}

// A new one; if there is one of that name already, it has a number, too.
static uint32_t new_buffer(rounds *r, uint32_t worker, const char *name, uint32_t number)
{
    char text[160];
    snprintf(text, sizeof text, "%s", name);
    make_identifier(text);
    if (mlt_goal_buffer_find(r->program, worker, text) != MLT_GOAL_NOWHERE)
        snprintf(text + strlen(text), sizeof text - strlen(text), "_%" PRIu32, number);
    return named_buffer(r, worker, text);
}

// The next element of a buffer.
static mlt_goal_span next_span(rounds *r, uint32_t worker, uint32_t buffer, uint64_t number)
{
    mlt_goal_span span = {buffer, number * r->how->bytes, r->how->bytes};
    mlt_goal_buffer *b = &r->program->rank[worker].buffers[buffer - 1];
    if (b->size < span.at + span.size)
        b->size = span.at + span.size;
    return span;
}

// "c.out": of the task where a line begins, without subscripts; of collectives "r1".
static void queue_name(const rounds *r, uint32_t line, char *text, size_t size)
{
    const mlt_flow_line *of = &r->l->lines[line];
    const mlt_flow_vector *v = mlt_flow_vector_of(r->l->graph, r->l->tasks[of->from].node);
    bool module = v->kind == MLT_FLOW_MODULE;
    snprintf(text, size, "%.60s%s%.60s", v->name, module ? "." : "",
             module ? v->module->queues[of->out].name : "");
}

// What a module puts into a line: it lies in a buffer of its worker.
static mlt_goal_span module_span(rounds *r, uint32_t line)
{
    uint32_t worker = worker_of(r, r->l->lines[line].from);
    char name[128];
    if (!r->sends[line]) {
        queue_name(r, line, name, sizeof name);
        r->sends[line] = new_buffer(r, worker, name, line);
    }
    return next_span(r, worker, r->sends[line], r->sent[line]++);
}

// An element leaves into a line; if that leads elsewhere, as a message.
static void put(rounds *r, uint32_t line, item e)
{
    const mlt_flow_line *of = &r->l->lines[line];
    uint32_t from = worker_of(r, of->from), to = worker_of(r, of->to);
    if (from != to) {
        int32_t tag = (int32_t)(r->l->reduction_count + line);
        char name[140] = "got_";
        if (!r->gets[line]) {
            queue_name(r, line, name + 4, sizeof name - 4);
            r->gets[line] = new_buffer(r, to, name, line);
        }
        uint32_t send = mlt_goal_send(r->program, from, e.span, (int32_t)to, tag);
        rounds_require(r, from, send, e.after);
        e.span = next_span(r, to, r->gets[line], r->got[line]++);
        e.after = mlt_goal_recv(r->program, to, e.span, (int32_t)from, tag);
        e.shared = false;
    }
    *MLT_ARRAY_ADD(r->came[line].of, r->came[line].count, r->came[line].room) = e;
}

// ---- tasks

#define EACH_LINE(i, index, task)                                                                  \
    (uint32_t i = (index).first[task]; i < (index).first[(task) + 1]; i++)

static void do_module(rounds *r, uint32_t task)
{
    const mlt_flow_lowered *l = r->l;
    uint32_t worker = worker_of(r, task), first = MLT_GOAL_NONE, deps = 0;
    uint64_t ns = r->how->compute_ns * mlt_flow_vector_of(l->graph, l->tasks[task].node)->weight;
    uint32_t *waits = NULL, room = 0;
    for
        EACH_LINE(i, l->in, task)
        {
            const items *in =
                leads_back(r, l->in.list[i]) ? &r->back[l->in.list[i]] : &r->came[l->in.list[i]];
            for (uint32_t k = 0; k < in->count; k++)
                if (in->of[k].after != MLT_GOAL_NONE)
                    *MLT_ARRAY_ADD(waits, deps, room) = in->of[k].after;
        }
    if (r->ready[task] != MLT_GOAL_NONE)
        *MLT_ARRAY_ADD(waits, deps, room) = r->ready[task];
    if (ns || deps > 1) {
        mlt_goal_action calc = {.kind = MLT_GOAL_CALC, .size = {ns}};
        first = mlt_goal_add(r->program, worker, &calc);
        for (uint32_t i = 0; i < deps; i++)
            rounds_require(r, worker, first, waits[i]);
    } else if (deps) {
        first = waits[0];
    }
    free(waits);
    r->ready[task] = first;
    for
        EACH_LINE(i, l->out, task)
        {
            uint32_t line = l->out.list[i], to = l->lines[line].to, elements = 1;
            if (l->tasks[to].kind == MLT_FLOW_DEAL) { // each of its receivers gets one
                uint32_t outs = mlt_flow_index_count(l->out.first, to);
                uint32_t ins = mlt_flow_index_count(l->in.first, to);
                elements = (outs + ins - 1) / ins;
            }
            for (uint32_t k = 0; k < elements; k++)
                put(r, line, (item){first, module_span(r, line), false});
        }
}

static void do_relay(rounds *r, uint32_t task)
{
    const mlt_flow_lowered *l = r->l;
    bool several = mlt_flow_index_count(l->out.first, task) > 1;
    for
        EACH_LINE(i, l->in, task)
    for (uint32_t k = 0; k < r->came[l->in.list[i]].count; k++) {
        item e = r->came[l->in.list[i]].of[k];
        e.shared |= several;
            for
                EACH_LINE(o, l->out, task)
            put(r, l->out.list[o], e);
    }
}

// One of each sender in turn, to the next receiver (Deal) or to all (Collect, which has one).
static void do_turns(rounds *r, uint32_t task)
{
    const mlt_flow_lowered *l = r->l;
    uint32_t outs = mlt_flow_index_count(l->out.first, task);
    bool any = outs > 0, deals = l->tasks[task].kind == MLT_FLOW_DEAL;
    for (uint32_t k = 0; any; k++) {
        any = false;
        for
            EACH_LINE(i, l->in, task)
            {
                const items *in = &r->came[l->in.list[i]];
                if (k >= in->count)
                    continue;
                any = true;
                uint64_t to = deals ? r->turn[task]++ % outs : 0;
                put(r, l->out.list[l->out.first[task] + to], in->of[k]);
            }
    }
}

// ---- reductions

static bool reduction_shape(const rounds *r, uint32_t node, mlt_coll_shape *shape, char *why,
                            size_t why_size)
{
    const mlt_flow_graph *g = r->l->graph;
    const mlt_flow_vector *v = mlt_flow_vector_of(g, node);
    const mlt_flow_edge *edge = &g->edges[g->in.list[g->in.first[node]]];
    const mlt_flow_vector *from = mlt_flow_vector_of(g, edge->from);
    flow_type kind =
        from->kind == MLT_FLOW_MODULE ? from->module->queues[edge->out].kind : FLOW_ANY;
    mlt_reduction found = {.op = MLT_OPS};
    char name[96], no[256] = "";
    *shape = (mlt_coll_shape){.op = MLT_OPS, .type = MLT_OP_UINT8, .element = 1};
    if (v->op && !v->op->combine && mlt_flow_op_known(v->op->name)) {
        bool fits = kind != FLOW_ANY
                        ? mlt_flow_op_find(v->op->name, kind, &found, no, sizeof no)
                        : mlt_flow_op_find(v->op->name, FLOW_DOUBLE, &found, no, sizeof no) ||
                              mlt_flow_op_find(v->op->name, FLOW_LONG, &found, no, sizeof no);
        shape->element = fits ? found.element : 1;
        if (fits && found.op != MLT_OPS)
            *shape = (mlt_coll_shape){.op = found.op, .type = found.type, .element = found.element};
    }
    shape->count = r->how->bytes / shape->element;
    if (r->how->bytes % shape->element == 0)
        return true;
    snprintf(why, why_size,
             "elements of %" PRIu64 " bytes are no whole number of values of %" PRIu32
             " bytes, which reduction %s combines",
             r->how->bytes, shape->element, mlt_flow_node_name(g, node, name, sizeof name));
    return false;
}

// into = into op with.
static uint32_t combine(rounds *r, uint32_t worker, const mlt_coll_shape *shape, mlt_goal_span into,
                        mlt_goal_span with)
{
    bool own = shape->op == MLT_OPS;
    mlt_goal_action exec = {.kind = own ? MLT_GOAL_USER : MLT_GOAL_EXEC,
                            .op = own ? 0 : (uint8_t)shape->op,
                            .type = own ? 0 : (uint8_t)shape->type};
    mlt_goal_span_set(&exec, 0, into);
    mlt_goal_span_set(&exec, 1, with);
    return mlt_goal_add(r->program, worker, &exec);
}

// Room for an element that a part combines into.
static mlt_goal_span copy_span(rounds *r, uint32_t worker, uint32_t node)
{
    char name[128];
    snprintf(name, sizeof name, "%.100s_copy", mlt_flow_vector_of(r->l->graph, node)->name);
    uint32_t buffer = named_buffer(r, worker, name);
    uint64_t size = r->program->rank[worker].buffers[buffer - 1].size;
    return next_span(r, worker, buffer, size / r->how->bytes);
}

// The k-th elements of all contributors of a part, as one. There is one line in at least.
static item combined(rounds *r, const mlt_coll_shape *shape, uint32_t task, uint32_t k)
{
    const mlt_flow_lowered *l = r->l;
    uint32_t begin = l->in.first[task], worker = worker_of(r, task);
    item sum = r->came[l->in.list[begin]].of[k];
    if (sum.shared && mlt_flow_index_count(l->in.first, task) > 1) {
        mlt_goal_span own = copy_span(r, worker, l->tasks[task].node);
        mlt_goal_action copy = {.kind = MLT_GOAL_EXEC, .op = MLT_OP_COPY, .type = MLT_OP_UINT8};
        mlt_goal_span_set(&copy, 0, own);
        mlt_goal_span_set(&copy, 1, sum.span);
        uint32_t action = mlt_goal_add(r->program, worker, &copy);
        rounds_require(r, worker, action, sum.after);
        sum = (item){action, own, false};
    }
    for (uint32_t i = begin + 1; i < l->in.first[task + 1]; i++) {
        item e = r->came[l->in.list[i]].of[k];
        uint32_t action = combine(r, worker, shape, sum.span, e.span);
        rounds_require(r, worker, action, sum.after);
        rounds_require(r, worker, action, e.after);
        sum.after = action;
    }
    return sum;
}

// The schedule's run of one member: its `in` is what its part has combined. Returns the result.
static item add_member_run(rounds *r, const mlt_flow_reduction *red, uint32_t number,
                           const mlt_goal_rank *from, const mlt_goal_program *names,
                           uint32_t member, const item *in)
{
    uint32_t worker = red->worker[member], base = r->program->rank[worker].count;
    uint64_t run = r->runs[number];
    uint32_t *buffer = mlt_xcalloc(from->buffers_count + 1ull, sizeof *buffer);
    item out = {MLT_GOAL_NONE, {MLT_GOAL_NOWHERE, 0, 0}, true}; // the schedule may still send it
    bool *follows = mlt_xcalloc(from->count + 1ull, sizeof *follows);
    for (uint32_t b = 0; b < from->buffers_count; b++) {
        char name[200], node[96];
        const char *own = mlt_goal_name_text(names, from->buffers[b].name);
        if (in && strcmp(own, "in") == 0)
            continue;
        mlt_flow_node_name(r->l->graph, red->node, node, sizeof node);
        snprintf(name, sizeof name, "%s_%s", node, own);
        buffer[b] = named_buffer(r, worker, name);
        mlt_goal_buffer *whole = &r->program->rank[worker].buffers[buffer[b] - 1];
        whole->size = (run + 1) * from->buffers[b].size;
        if (strcmp(own, "out") == 0)
            out.span = (mlt_goal_span){buffer[b], run * r->how->bytes, r->how->bytes};
    }
    for (uint32_t i = 0; i < from->deps_count; i++)
        follows[from->deps[i].action] = true;
    for (uint32_t i = 0; i < from->count; i++) {
        mlt_goal_action a = from->actions[i];
        for (int s = 0; s < 2; s++) {
            if (a.buf[s] == MLT_GOAL_MEMORY || a.buf[s] > from->buffers_count)
                continue;
            uint32_t b = a.buf[s] - 1;
            a.at[s] += buffer[b] ? run * from->buffers[b].size : in->span.at;
            a.buf[s] = buffer[b] ? buffer[b] : in->span.buf;
        }
        if (mlt_goal_is_message(&a)) {
            a.peer = (int32_t)red->worker[a.peer];
            a.tag = (int32_t)number;
        }
        mlt_goal_add(r->program, worker, &a);
        mlt_goal_access does[2];
        for (int n = mlt_goal_accesses(&a, does); n-- > 0;)
            if (does[n].writes && does[n].span.buf == out.span.buf)
                out.after = base + i; // writers of the result follow each other
        if (in && !follows[i])
            rounds_require(r, worker, base + i, in->after);
    }
    for (uint32_t i = 0; i < from->deps_count; i++)
        mlt_goal_require(r->program, worker, base + from->deps[i].action, base + from->deps[i].on);
    free(buffer);
    free(follows);
    return out;
}

// All contributors must have equally many elements; false: they have not.
static bool count_elements(rounds *r, const mlt_flow_reduction *red, uint32_t *count)
{
    const mlt_flow_lowered *l = r->l;
    uint32_t first = MLT_GOAL_NONE;
    for (uint32_t m = 0; m < red->members; m++)
        for
            EACH_LINE(i, l->in, red->task[m])
            {
                uint32_t line = l->in.list[i], n = r->came[line].count;
                char name[96], one[120], other[120];
                if (first == MLT_GOAL_NONE) {
                    first = line;
                    *count = n;
                }
                if (n == *count)
                    continue;
                snprintf(r->why, r->why_size,
                         "in a round reduction %s gets %" PRIu32 " element%s from %s, but %" PRIu32
                         " from %s",
                         mlt_flow_node_name(l->graph, red->node, name, sizeof name), *count,
                         *count == 1 ? "" : "s",
                         mlt_flow_task_name(l, l->lines[first].from, one, sizeof one), n,
                         mlt_flow_task_name(l, l->lines[line].from, other, sizeof other));
                return false;
            }
    return true;
}

static void hand_out(rounds *r, uint32_t task, item result)
{
    const mlt_flow_lowered *l = r->l;
    result.shared |= mlt_flow_index_count(l->out.first, task) > 1;
    for
        EACH_LINE(i, l->out, task)
    put(r, l->out.list[i], result);
}

static bool do_reduction(rounds *r, uint32_t number)
{
    const mlt_flow_reduction *red = &r->l->reductions[number];
    mlt_coll_shape shape;
    uint32_t elements = 0;
    if (!count_elements(r, red, &elements) ||
        !reduction_shape(r, red->node, &shape, r->why, r->why_size))
        return false;
    bool alone = red->members < 2;
    if (!alone && !r->schedules[number]) {
        r->schedules[number] = mlt_goal_program_new(red->members);
        for (uint32_t m = 0; m < red->members; m++)
            mlt_flow_reduction_emit(red, &shape, r->schedules[number], m);
    }
    for (uint32_t k = 0; k < elements; k++) {
        item *results = mlt_xcalloc(red->members, sizeof *results);
        for (uint32_t m = 0; m < red->members; m++) {
            item in = {.after = MLT_GOAL_NONE};
            if (red->contributes[m])
                in = combined(r, &shape, red->task[m], k);
            results[m] =
                alone ? in
                      : add_member_run(r, red, number, &r->schedules[number]->rank[m],
                                       r->schedules[number], m, red->contributes[m] ? &in : NULL);
        }
        r->runs[number]++;
        for (uint32_t m = 0; m < red->members; m++)
            hand_out(r, red->task[m], results[m]);
        free(results);
    }
    return true;
}

// ---- the whole

static bool do_unit(rounds *r, uint32_t task)
{
    const mlt_flow_task *t = &r->l->tasks[task];
    switch ((mlt_flow_kind)t->kind) {
    case MLT_FLOW_MODULE:
        do_module(r, task);
        return true;
    case MLT_FLOW_REDUCE:
        return do_reduction(r, t->reduction);
    case MLT_FLOW_BROADCAST:
        do_relay(r, task);
        return true;
    default:
        do_turns(r, task);
        return true;
    }
}

static bool do_round(rounds *r)
{
    const mlt_flow_lowered *l = r->l;
    uint64_t actions = 0;
    for (uint32_t i = 0; i < r->order_count; i++)
        if (!do_unit(r, r->order[i]))
            return false;
    for (uint32_t i = 0; i < l->line_count; i++) {
        if (leads_back(r, i)) {
            items taken = r->back[i];
            r->back[i] = r->came[i];
            r->came[i] = taken;
        }
        r->came[i].count = 0;
    }
    for (uint32_t w = 0; w < r->program->ranks; w++)
        actions += r->program->rank[w].count;
    if (actions <= ROUNDS_MOST_ACTIONS)
        return true;
    snprintf(r->why, r->why_size, "that is more than %d actions: ask for fewer rounds",
             ROUNDS_MOST_ACTIONS);
    return false;
}

static void rounds_begin(rounds *r)
{
    const mlt_flow_lowered *l = r->l;
    uint64_t lines = l->line_count + 1ull, tasks = l->task_count + 1ull;
    r->program = mlt_goal_program_new(l->placing->sites->workers);
    r->came = mlt_xcalloc(lines, sizeof *r->came);
    r->back = mlt_xcalloc(lines, sizeof *r->back);
    r->ready = mlt_xcalloc(tasks, sizeof *r->ready);
    r->turn = mlt_xcalloc(tasks, sizeof *r->turn);
    r->sends = mlt_xcalloc(lines, sizeof *r->sends);
    r->gets = mlt_xcalloc(lines, sizeof *r->gets);
    r->sent = mlt_xcalloc(lines, sizeof *r->sent);
    r->got = mlt_xcalloc(lines, sizeof *r->got);
    r->runs = mlt_xcalloc(l->reduction_count + 1ull, sizeof *r->runs);
    r->schedules = mlt_xcalloc(l->reduction_count + 1ull, sizeof(mlt_goal_program *));
    for (uint32_t t = 0; t < l->task_count; t++)
        r->ready[t] = MLT_GOAL_NONE;
    find_circles(r);
    find_units(r);
}

static void rounds_end(rounds *r)
{
    for (uint32_t i = 0; i < r->l->line_count; i++) {
        free(r->came[i].of);
        free(r->back[i].of);
    }
    for (uint32_t i = 0; i < r->l->reduction_count; i++)
        mlt_goal_program_free(r->schedules[i]);
    void *arrays[] = {r->came, r->back, r->ready,     r->turn,   r->sends, r->gets, r->sent,
                      r->got,  r->runs, r->schedules, r->strong, r->unit,  r->order};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

mlt_goal_program *mlt_flow_rounds_new(const mlt_flow_lowered *lowered, const mlt_flow_rounds *how,
                                      char *why, size_t why_size)
{
    rounds r = {.l = lowered, .how = how, .why = why, .why_size = why_size};
    rounds_begin(&r);
    bool fine = rounds_order(&r);
    for (uint64_t i = 0; i < how->count && fine; i++)
        fine = do_round(&r);
    rounds_end(&r);
    if (fine)
        return r.program;
    mlt_goal_program_free(r.program);
    return NULL;
}
