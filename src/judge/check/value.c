// SPDX-License-Identifier: BSD-3-Clause
// Values by hash-consing. A value's parts have smaller numbers than it.
#include "judge/check/value.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "judge/check/check_int.h"

void mlt_values_init(mlt_values *values, mlt_value_op wanted, const uint32_t *rank_of)
{
    *values = (mlt_values){.wanted = mlt_value_op_plain(wanted), .rank_of = rank_of};
}

void mlt_values_fini(mlt_values *values)
{
    free(values->value);
    mlt_table_free(&values->table);
}

// ---- the table

static uint32_t hash_of(const mlt_value *v)
{
    uint64_t words[4] = {v->kind | (uint64_t)v->op.op << 16 | (uint64_t)v->op.type << 24 |
                             (uint64_t)v->op.user << 32,
                         v->a | (uint64_t)v->phase << 32, v->b, v->shift};
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++)
        hash = mlt_hash_mix(hash, words[i]);
    return (uint32_t)hash;
}

static bool same(const mlt_value *a, const mlt_value *b)
{
    return a->kind == b->kind && a->phase == b->phase && a->op.op == b->op.op &&
           a->op.type == b->op.type && a->op.user == b->op.user && a->a == b->a && a->b == b->b &&
           a->shift == b->shift;
}

static bool same_op(mlt_value_op a, mlt_value_op b)
{
    return a.op == b.op && a.type == b.type && a.user == b.user;
}

static void derive_node(const mlt_values *values, mlt_value *v)
{
    const mlt_value *a = &values->value[v->a], *b = &values->value[v->b];
    v->pure = a->pure && b->pure && !v->shift && !v->phase && same_op(v->op, values->wanted);
    v->in_order = v->pure && a->in_order && b->in_order && a->high == b->low;
    v->low = a->low;
    v->high = b->high;
    v->leaves = a->leaves + b->leaves;
    if (v->leaves > UINT64_MAX / 4)
        v->leaves = UINT64_MAX / 4;
}

// The number of the value like *v; `known` tells whether it was there.
static uint32_t intern(mlt_values *values, mlt_value v, bool *known)
{
    uint32_t hash = hash_of(&v);
    mlt_table_look look = mlt_table_look_for(&values->table, hash);
    while (mlt_table_next(&look))
        if (same(&values->value[look.word], &v)) {
            *known = true;
            return (uint32_t)look.word;
        }
    if (values->count >= UINT32_MAX - 1)
        mlt_fatal("the result of a GOAL program has more than 4 billion parts");
    uint32_t number = (uint32_t)values->count;
    MLT_ARRAY_WANT(values->value, values->count + 1, values->room);
    v.canon = number;
    values->value[values->count++] = v;
    mlt_table_add(&values->table, hash, number);
    *known = false;
    return number;
}

uint32_t mlt_value_leaf(mlt_values *values, uint32_t number)
{
    bool known;
    return intern(values,
                  (mlt_value){.kind = MLT_VALUE_LEAF,
                              .a = number,
                              .pure = true,
                              .in_order = true,
                              .low = number,
                              .high = number + 1,
                              .leaves = 1},
                  &known);
}

uint32_t mlt_value_junk(mlt_values *values, uint32_t rank, uint32_t buf)
{
    bool known;
    return intern(values, (mlt_value){.kind = MLT_VALUE_JUNK, .a = rank, .b = buf, .leaves = 1},
                  &known);
}

uint32_t mlt_value_opaque(mlt_values *values, uint32_t rank, uint32_t action)
{
    bool known;
    return intern(
        values, (mlt_value){.kind = MLT_VALUE_OPAQUE, .a = rank, .b = action, .leaves = 1}, &known);
}

uint32_t mlt_value_node(mlt_values *values, mlt_value_op op, uint32_t phase, uint32_t a, uint32_t b,
                        uint64_t shift)
{
    mlt_value v = {.kind = MLT_VALUE_NODE,
                   .phase = phase,
                   .op = mlt_value_op_plain(op),
                   .a = a,
                   .b = b,
                   .shift = shift};
    derive_node(values, &v);
    bool known;
    uint32_t number = intern(values, v, &known);
    if (known || !v.pure)
        return number;
    uint32_t first = values->value[a].canon, second = values->value[b].canon;
    if (op.op != MLT_OPS && first > second) {
        uint32_t swap = first;
        first = second;
        second = swap;
    }
    if (first != a || second != b) {
        v.a = first;
        v.b = second;
        derive_node(values, &v);
        uint32_t canon = intern(values, v, &known);
        values->value[number].canon = canon;
    }
    return number;
}

// ---- operations

mlt_value_op mlt_value_op_plain(mlt_value_op op)
{
    static const uint8_t unsigned_of[MLT_OP_TYPES] = {
        [MLT_OP_INT8] = MLT_OP_UINT8,      [MLT_OP_INT16] = MLT_OP_UINT16,
        [MLT_OP_INT32] = MLT_OP_UINT32,    [MLT_OP_INT64] = MLT_OP_UINT64,
        [MLT_OP_UINT8] = MLT_OP_UINT8,     [MLT_OP_UINT16] = MLT_OP_UINT16,
        [MLT_OP_UINT32] = MLT_OP_UINT32,   [MLT_OP_UINT64] = MLT_OP_UINT64,
        [MLT_OP_FLOAT16] = MLT_OP_FLOAT16, [MLT_OP_FLOAT32] = MLT_OP_FLOAT32,
        [MLT_OP_FLOAT64] = MLT_OP_FLOAT64,
    };
    if (op.op == MLT_OPS) {
        op.type = 0;
        return op;
    }
    op.user = 0;
    if (op.op == MLT_OP_BAND || op.op == MLT_OP_BOR || op.op == MLT_OP_BXOR)
        op.type = MLT_OP_UINT8;
    else if (op.op != MLT_OP_MAX && op.op != MLT_OP_MIN)
        op.type = unsigned_of[op.type];
    return op;
}

bool mlt_value_idempotent(mlt_value_op op)
{
    return op.op == MLT_OP_MAX || op.op == MLT_OP_MIN || op.op == MLT_OP_LAND ||
           op.op == MLT_OP_LOR || op.op == MLT_OP_BAND || op.op == MLT_OP_BOR;
}

// ---- looking

static int descending(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return a > b ? -1 : a < b;
}

static bool first_time(mlt_table *seen, uint32_t part)
{
    uint32_t hash = mlt_hash_word(part);
    mlt_table_look look = mlt_table_look_for(seen, hash);
    while (mlt_table_next(&look))
        if (look.word == part)
            return false;
    mlt_table_add(seen, hash, part);
    return true;
}

// The value and all its parts, each once, greater numbers first, so that a value comes before
// its parts.
static uint32_t *parts_of(const mlt_values *values, uint32_t value, uint64_t *count)
{
    uint64_t room = 0, n = 0;
    uint32_t *parts = NULL;
    mlt_table seen = {0};
    *MLT_ARRAY_ADD(parts, n, room) = value;
    for (uint64_t i = 0; i < n; i++) {
        const mlt_value *v = &values->value[parts[i]];
        for (int side = 0; side < 2 && v->kind == MLT_VALUE_NODE; side++) {
            uint32_t part = side ? v->b : v->a;
            if (!first_time(&seen, part))
                continue;
            *MLT_ARRAY_ADD(parts, n, room) = part;
        }
    }
    mlt_table_free(&seen);
    MLT_ARRAY_SORT(parts, n, descending);
    *count = n;
    return parts;
}

uint32_t mlt_value_count(const mlt_values *values, uint32_t value, uint32_t leaves, uint8_t *times)
{
    uint64_t count;
    uint32_t foreign = 0;
    uint32_t *parts = parts_of(values, value, &count);
    uint8_t *often = mlt_xcalloc(count, 1);
    often[0] = 1;
    memset(times, 0, leaves);
    for (uint64_t i = 0; i < count; i++) {
        const mlt_value *v = &values->value[parts[i]];
        if (v->kind == MLT_VALUE_LEAF && v->a < leaves)
            times[v->a] = often[i];
        else if (v->kind != MLT_VALUE_NODE)
            foreign += often[i];
        for (int side = 0; side < 2 && v->kind == MLT_VALUE_NODE; side++) {
            uint32_t part = side ? v->b : v->a;
            uint8_t *to = &often[MLT_ARRAY_SEARCH(k, count, parts[k] >= part) - 1];
            *to = (uint8_t)(*to + often[i] > 255 ? 255 : *to + often[i]);
        }
    }
    free(parts);
    free(often);
    return foreign;
}

mlt_value_odd mlt_value_why_odd(const mlt_values *values, uint32_t value, uint32_t *part)
{
    for (;;) {
        const mlt_value *v = &values->value[value];
        *part = value;
        if (v->pure)
            return MLT_VALUE_FINE;
        if (v->kind == MLT_VALUE_JUNK)
            return MLT_VALUE_ODD_JUNK;
        if (v->kind == MLT_VALUE_OPAQUE)
            return MLT_VALUE_ODD_OPAQUE;
        if (!same_op(v->op, values->wanted))
            return MLT_VALUE_ODD_OP;
        if (v->phase)
            return MLT_VALUE_ODD_PHASE;
        if (values->value[v->a].pure && values->value[v->b].pure)
            return MLT_VALUE_ODD_SHIFT;
        value = values->value[v->a].pure ? v->b : v->a;
    }
}

// ---- formulas

typedef struct writer {
    const mlt_values *values;
    mlt_text text;
} writer;

static void put_sign(writer *w, mlt_value_op op)
{
    static const char *const sign[MLT_OPS] = {
        [MLT_OP_MAX] = " max ", [MLT_OP_MIN] = " min ",   [MLT_OP_SUM] = "+",  [MLT_OP_PROD] = "*",
        [MLT_OP_LAND] = "&&",   [MLT_OP_LOR] = "||",      [MLT_OP_BAND] = "&", [MLT_OP_BOR] = "|",
        [MLT_OP_BXOR] = "^",    [MLT_OP_LXOR] = " lxor ",
    };
    if (op.op < MLT_OPS && sign[op.op])
        mlt_text_add(&w->text, "%s", sign[op.op]);
    else
        mlt_text_add(&w->text, " user %u ", op.user);
}

static void put_atom(writer *w, const mlt_value *v)
{
    if (v->kind == MLT_VALUE_LEAF)
        mlt_text_add(&w->text, "%u", w->values->rank_of[v->a]);
    else
        mlt_text_add(&w->text, "%s", v->kind == MLT_VALUE_JUNK ? "junk" : "mix");
}

// Stops when there is no more room.
static void put_value(writer *w, uint32_t value, int depth)
{
    if (w->text.cut)
        return;
    const mlt_value *v = &w->values->value[value];
    if (v->kind != MLT_VALUE_NODE) {
        put_atom(w, v);
        return;
    }
    mlt_text_add(&w->text, "(");
    if (depth > 0) {
        put_value(w, v->a, depth - 1);
        put_sign(w, v->op);
        put_value(w, v->b, depth - 1);
    } else {
        const mlt_value *first = v, *last = v;
        while (first->kind == MLT_VALUE_NODE)
            first = &w->values->value[first->a];
        while (last->kind == MLT_VALUE_NODE)
            last = &w->values->value[last->b];
        put_atom(w, first);
        put_sign(w, v->op);
        if (v->leaves > 2) {
            mlt_text_add(&w->text, "...");
            put_sign(w, v->op);
        }
        put_atom(w, last);
    }
    mlt_text_add(&w->text, ")");
}

// Down to a depth. The text's length; `size` if there is no room for it.
static size_t print_deep(const mlt_values *values, uint32_t value, int depth, char *text,
                         size_t size)
{
    writer w = {values, mlt_text_on(text, size)};
    put_value(&w, value, depth);
    return w.text.cut ? size : w.text.length;
}

// Whole if there is room, else the outer parts in a third of it, for brackets soon say nothing. A
// depth that fits has at most `size` parts and the next one twice as many, so none is long work;
// one that gives the same text as the last shows all.
char *mlt_value_print(const mlt_values *values, uint32_t value, char *text, size_t size)
{
    char last[1024] = "";
    size = size < sizeof last ? size : sizeof last;
    int depth = 0, shown = 0;
    for (;; depth++) {
        size_t length = print_deep(values, value, depth, text, size);
        if (length >= size)
            break;
        if (depth && strcmp(last, text) == 0)
            return text;
        if (length < size / 3)
            shown = depth;
        memcpy(last, text, length + 1);
    }
    print_deep(values, value, shown, text, size);
    return text;
}
