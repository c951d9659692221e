// SPDX-License-Identifier: BSD-3-Clause
// The contributors that a part of a Reduce has: their n-th elements become one.
//
// They are taken in order, and combined as they come into one that may be written to, so no memory
// is needed but theirs. Where brackets may change bits (sums of floating point, functions of the
// user's) and the part is all there is of its reduction, they are the canonical ones
// (coll/alg/tree.h): then they depend on the number of contributors only, and a Reduce that is one
// part under every layout (mpirun --reproducible) gives the same bits under every layout.
//
//     7 contributors:   ((0 1)(2 3))((4 5) 6)       else:   (((0 1) 2) 3) ...
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "flow/graph/ops.h"
#include "flow/part/part_int.h"

// ---- words

const char *mlt_flow_feeder(const mlt_flow_program *program, uint32_t line, char *text, size_t size)
{
    const mlt_flow_graph *g = program->graph;
    mlt_flow_out_name(g, &g->edges[program->lowered->lines[line].edge], text, size);
    size_t length = strlen(text);
    if (length > 4 && strcmp(text + length - 4, ".out") == 0)
        text[length - 4] = '\0'; // the default queue needs no name
    return text;
}

const char *mlt_flow_ordinal(uint64_t n, char *text, size_t size)
{
    bool teens = n % 100 / 10 == 1;
    const char *end = teens         ? "th"
                      : n % 10 == 1 ? "st"
                      : n % 10 == 2 ? "nd"
                      : n % 10 == 3 ? "rd"
                                    : "th";
    snprintf(text, size, "%llu%s", (unsigned long long)n, end);
    return text;
}

void mlt_flow_unequal(const mlt_flow_combiner *c, uint32_t ended, uint64_t after, uint32_t sent)
{
    char one[96], other[96], nth[32];
    const mlt_flow_program *p = c->task->program;
    mlt_flow_fault(c->task, "reduction %s: %s has ended after %llu element%s, but %s sent a %s",
                   c->name, mlt_flow_feeder(p, ended, one, sizeof one), (unsigned long long)after,
                   after == 1 ? "" : "s", mlt_flow_feeder(p, sent, other, sizeof other),
                   mlt_flow_ordinal(after + 1, nth, sizeof nth));
}

static void describe(const mlt_flow_element *e, char *text, size_t size)
{
    uint64_t count = e->bytes / (e->value_bytes ? e->value_bytes : 1);
    if (e->kind == FLOW_ANY)
        snprintf(text, size, "%llu of %u bytes each", (unsigned long long)count, e->value_bytes);
    else
        snprintf(text, size, "%llu of type %s", (unsigned long long)count,
                 mlt_flow_type_name((flow_type)e->kind));
}

static _Noreturn MLT_COLD void differ(const mlt_flow_combiner *c, const mlt_flow_element *a,
                                      const mlt_flow_element *b, uint32_t which)
{
    char one[96], other[96], nth[32], first[64], second[64];
    const mlt_flow_program *p = c->task->program;
    describe(a, first, sizeof first);
    describe(b, second, sizeof second);
    mlt_flow_fault(c->task,
                   "reduction %s: the %s element of %s has other values than that of %s: "
                   "%s, and %s",
                   c->name, mlt_flow_ordinal(c->taken + 1, nth, sizeof nth),
                   mlt_flow_feeder(p, c->task->in[which].line, other, sizeof other),
                   mlt_flow_feeder(p, c->task->in[0].line, one, sizeof one), second, first);
}

// ---- operations

static _Noreturn MLT_COLD void unfit(const mlt_flow_combiner *c, uint32_t line, const char *why)
{
    char who[96];
    mlt_flow_fault(c->task, "reduction %s cannot combine what %s sends: %s", c->name,
                   mlt_flow_feeder(c->task->program, line, who, sizeof who), why);
}

static void users_own(const mlt_flow_combiner *c, mlt_flow_how *how, uint32_t line)
{
    const flow_op *op = c->op;
    char why[160];
    bool fits = !op->bytes || op->bytes == how->value_bytes;
    if (!fits)
        snprintf(why, sizeof why, "operation %s is for values of %zu bytes, not of %u", op->name,
                 op->bytes, how->value_bytes);
    else if (op->kind != FLOW_ANY && how->kind != FLOW_ANY && op->kind != (flow_type)how->kind)
        snprintf(why, sizeof why, "operation %s is for %s, not for %s", op->name,
                 mlt_flow_type_name(op->kind), mlt_flow_type_name((flow_type)how->kind));
    else
        why[0] = '\0';
    if (why[0])
        unfit(c, line, why);
    mlt_coll_op_plain(&how->op, op->combine, op, how->value_bytes ? how->value_bytes : 1,
                      !op->ordered);
}

static MLT_COLD mlt_flow_how *make_how(mlt_flow_combiner *c, uint8_t kind, uint32_t value_bytes,
                                       uint32_t line)
{
    mlt_flow_how *how = mlt_xcalloc(1, sizeof *how);
    how->kind = kind;
    how->value_bytes = value_bytes;
    if (c->op->combine) {
        users_own(c, how, line);
        return how;
    }
    mlt_reduction found;
    char why[256];
    if (!mlt_flow_op_find(c->op->name, (flow_type)kind, &found, why, sizeof why))
        unfit(c, line, why);
    mlt_coll_op_predefined(&how->op, &found, NULL);
    return how;
}

const mlt_flow_how *mlt_flow_how_of(mlt_flow_combiner *c, uint8_t kind, uint32_t value_bytes,
                                    uint32_t line)
{
    mlt_flow_how **at = &c->hows, *how;
    for (; (how = *at); at = &how->next)
        if (how->kind == kind && how->value_bytes == value_bytes)
            break;
    if (MLT_LIKELY(how && how == c->hows))
        return how;
    if (how)
        *at = how->next;
    else
        how = make_how(c, kind, value_bytes, line);
    how->next = c->hows;
    return c->hows = how;
}

void mlt_flow_combiner_init(mlt_flow_combiner *c, flow_instance *task)
{
    const mlt_flow_program *p = task->program;
    uint32_t node = p->lowered->tasks[task->task].node;
    *c = (mlt_flow_combiner){.task = task, .op = mlt_flow_vector_of(p->graph, node)->op};
    mlt_flow_node_name(p->graph, node, c->name, sizeof c->name);
    mlt_assert(c->op);
    if (c->op->combine || task->ins < 2)
        return;
    c->brackets = true; // which do not depend on who was combined first
    c->pairs = mlt_xcalloc(task->ins / 2, sizeof *c->pairs);
    for (uint32_t i = 0; i + 1 < task->ins; i += 2) {
        mlt_flow_pair *pair = &c->pairs[i / 2];
        *pair = (mlt_flow_pair){.combiner = c, .in = {&task->in[i], &task->in[i + 1]}};
        task->in[i].pair = task->in[i + 1].pair = pair;
    }
}

void mlt_flow_combiner_fini(mlt_flow_combiner *c)
{
    for (mlt_flow_how *how = c->hows, *next; how; how = next) {
        next = how->next;
        free(how);
    }
    c->hows = NULL;
    for (uint32_t i = 0; c->pairs && i < c->task->ins; i++)
        c->task->in[i].pair = NULL;
    free(c->pairs);
    c->pairs = NULL;
}

// ---- combining

// A function of the program's own: as in a schedule, it does not wait, wherever the reduction runs.
static void call_own(const mlt_flow_combiner *c, void *into, const void *with, uint64_t count)
{
    mlt_sched *sched = c->task->program->csp->sched;
    const char *before = mlt_sched_pin(sched, "the function of an operation");
    c->op->combine(into, with, count);
    mlt_sched_unpin(sched, before);
}

// left op right, and both are consumed.
static inline mlt_flow_element *merge(const mlt_flow_combiner *c, const mlt_flow_how *how,
                                      mlt_flow_element *left, mlt_flow_element *right,
                                      uint64_t count)
{
    const mlt_coll_op *op = &how->op;
    if (MLT_UNLIKELY(left->refs > 1) && right->refs == 1 && op->commutes) {
        mlt_flow_element *swap = left;
        left = right;
        right = swap;
    }
    left = mlt_flow_element_own(left);
    if (MLT_LIKELY(op->kernel != NULL))
        op->kernel(mlt_flow_data(left), mlt_flow_data(right), count);
    else if (count)
        call_own(c, mlt_flow_data(left), mlt_flow_data(right), count);
    mlt_flow_element_drop(right);
    return left;
}

static inline bool alike(const mlt_flow_element *a, const mlt_flow_element *b)
{
    return a->bytes == b->bytes && a->kind == b->kind && a->value_bytes == b->value_bytes;
}

// The next element of contributor i. MLT_FLOW_MERGED: it is in that of the one before already,
// which is `open` and on the stack. NULL: it has ended.
static mlt_flow_element *take_from(mlt_flow_combiner *c, uint32_t i, mlt_flow_element *before)
{
    mlt_flow_inlet *inlet = &c->task->in[i];
    mlt_flow_pair *pair = inlet->pair;
    if (!pair)
        return mlt_flow_take(inlet);
    mlt_flow_element *e = MLT_FLOW_MERGED;
    bool second = inlet == pair->in[1];
    if (second && pair->merged > 0) {
        pair->merged--;
    } else {
        pair->open = second ? before : NULL;
        c->handed_at = inlet;
        e = mlt_flow_take_to(inlet, &c->handed);
        pair->open = NULL;
    }
    pair->taken[second] += e != NULL;
    return e;
}

// The first contributor has ended: so must the others.
static void all_end(mlt_flow_combiner *c)
{
    const flow_instance *task = c->task;
    for (uint32_t i = 1; i < task->ins; i++)
        if (take_from(c, i, NULL))
            mlt_flow_unequal(c, task->in[0].line, c->taken, task->in[i].line);
}

mlt_flow_element *mlt_flow_combine_next(mlt_flow_combiner *c)
{
    const flow_instance *task = c->task;
    mlt_flow_element *stack[33], *first = take_from(c, 0, NULL);
    if (!first) {
        all_end(c);
        return NULL;
    }
    const mlt_flow_how *how = mlt_flow_how_of(c, first->kind, first->value_bytes, task->in[0].line);
    uint64_t count = first->bytes / how->op.element;
    bool chain = !c->brackets || (how->op.exact && !c->pairs);
    uint32_t depth = 1;
    stack[0] = first;
    for (uint32_t i = 1; i < task->ins; i++) {
        mlt_flow_element *e = take_from(c, i, stack[depth - 1]);
        if (MLT_UNLIKELY(!e))
            mlt_flow_unequal(c, task->in[i].line, c->taken, task->in[0].line);
        uint32_t n = i + 1;
        if (e == MLT_FLOW_MERGED) {
            n /= 2;
        } else {
            if (MLT_UNLIKELY(!alike(stack[0], e)))
                differ(c, stack[0], e, i);
            stack[depth++] = e;
        }
        // As many pairs are complete now as n has zero bits at its end.
        for (; depth > 1 && (chain || n % 2 == 0); n /= 2, depth--)
            stack[depth - 2] = merge(c, how, stack[depth - 2], stack[depth - 1], count);
    }
    for (; depth > 1; depth--)
        stack[depth - 2] = merge(c, how, stack[depth - 2], stack[depth - 1], count);
    c->taken++;
    return stack[0];
}
