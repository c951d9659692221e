// SPDX-License-Identifier: BSD-3-Clause
// Numbers of a file, and which C types its words mean.
#include <string.h>

#include "flow/graph/ops.h"
#include "flowc/sema_int.h"

// ---- numbers

static bool find(const mlt_sema_value *list, const char *name, long *value)
{
    for (; list; list = list->next)
        if (strcmp(list->name, name) == 0) {
            *value = list->value;
            return true;
        }
    return false;
}

static bool unknown(mlt_sema *c, const mlt_sema_value *inner, const mlt_sema_value *outer,
                    const mlt_flow_expr *e)
{
    mlt_sema_names names = {.count = 0};
    for (const mlt_flow_const *k = c->file->consts; k; k = k->next)
        if (strcmp(k->name, e->name) == 0) {
            MLT_SEMA_ERROR(c, e->line, "constant %s is declared only later, in line %d", e->name,
                           k->line);
            return false;
        }
    for (const mlt_sema_value *v = inner; v; v = v->next)
        mlt_sema_names_add(&names, v->name);
    for (const mlt_sema_value *v = outer; v; v = v->next)
        mlt_sema_names_add(&names, v->name);
    MLT_SEMA_ERROR(c, e->line, "there is no constant %s%s", e->name,
                   mlt_sema_hint_of(&names, e->name).text);
    return false;
}

// a op b, or false if it has no value in a long.
static bool compute(mlt_flow_expr_kind kind, long a, long b, long *value)
{
    switch (kind) {
    case MLT_FLOW_NEGATE:
        return !__builtin_sub_overflow(0, a, value);
    case MLT_FLOW_ADD:
        return !__builtin_add_overflow(a, b, value);
    case MLT_FLOW_SUBTRACT:
        return !__builtin_sub_overflow(a, b, value);
    case MLT_FLOW_MULTIPLY:
        return !__builtin_mul_overflow(a, b, value);
    default:
        if (b == -1) { // the quotient may not fit
            bool fits = !__builtin_sub_overflow(0, a, value);
            *value = kind == MLT_FLOW_DIVIDE ? *value : 0;
            return fits;
        }
        *value = kind == MLT_FLOW_DIVIDE ? a / b : a % b;
        return true;
    }
}

bool mlt_sema_eval(mlt_sema *c, const mlt_sema_value *inner, const mlt_sema_value *outer,
                   const mlt_flow_expr *e, long *value)
{
    if (e->kind == MLT_FLOW_NUMBER) {
        *value = e->number;
        return true;
    }
    if (e->kind == MLT_FLOW_EXPR_NAME)
        return find(inner, e->name, value) || find(outer, e->name, value) ||
               unknown(c, inner, outer, e);
    long a, b = 0;
    if (!mlt_sema_eval(c, inner, outer, e->left, &a) ||
        (e->right && !mlt_sema_eval(c, inner, outer, e->right, &b)))
        return false;
    if ((e->kind == MLT_FLOW_DIVIDE || e->kind == MLT_FLOW_REMAINDER) && b == 0)
        MLT_SEMA_ERROR(c, e->line, "%ld %c %ld divides by 0", a, mlt_flow_sign(e->kind), b);
    else if (compute(e->kind, a, b, value))
        return true;
    else if (e->kind == MLT_FLOW_NEGATE)
        MLT_SEMA_ERROR(c, e->line, "-(%ld) is too large a number", a);
    else
        MLT_SEMA_ERROR(c, e->line, "%ld %c %ld is too large a number", a, mlt_flow_sign(e->kind),
                       b);
    return false;
}

// ---- types

typedef struct word_row {
    const char *name;
    flow_type kind;
} word_row;

// Names that stand alone. Those of stdint.h are what they are on 64-bit Linux.
static const word_row words[] = {
    {"int8_t", FLOW_SCHAR},    {"uint8_t", FLOW_UCHAR},  {"int16_t", FLOW_SHORT},
    {"uint16_t", FLOW_USHORT}, {"int32_t", FLOW_INT},    {"uint32_t", FLOW_UINT},
    {"int64_t", FLOW_LONG},    {"uint64_t", FLOW_ULONG}, {"size_t", FLOW_ULONG},
    {"ptrdiff_t", FLOW_LONG},  {"intptr_t", FLOW_LONG},  {"uintptr_t", FLOW_ULONG},
    {"ssize_t", FLOW_LONG},
};
_Static_assert(sizeof(long) == 8 && sizeof(int) == 4, "the table above");

flow_type mlt_flow_type_named(const char *text)
{
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, text) == 0)
            return words[i].kind;
    for (int kind = FLOW_ANY + 1; text && kind < FLOW_TYPES; kind++)
        if (strcmp(mlt_flow_type_name((flow_type)kind), text) == 0)
            return (flow_type)kind;
    return FLOW_ANY;
}
