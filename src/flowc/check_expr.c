// SPDX-License-Identifier: BSD-3-Clause
// Numbers of a file, and which C types its words mean.
#include <stdio.h>
#include <string.h>

#include "flowc/check_int.h"

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
    static const char signs[] = {[MLT_FLOW_ADD] = '+',
                                 [MLT_FLOW_SUBTRACT] = '-',
                                 [MLT_FLOW_MULTIPLY] = '*',
                                 [MLT_FLOW_DIVIDE] = '/',
                                 [MLT_FLOW_REMAINDER] = '%'};
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
        MLT_SEMA_ERROR(c, e->line, "%ld %c %ld divides by 0", a, signs[e->kind], b);
    else if (compute(e->kind, a, b, value))
        return true;
    else if (e->kind == MLT_FLOW_NEGATE)
        MLT_SEMA_ERROR(c, e->line, "-(%ld) is too large a number", a);
    else
        MLT_SEMA_ERROR(c, e->line, "%ld %c %ld is too large a number", a, signs[e->kind], b);
    return false;
}

// ---- types

typedef struct word_row {
    const char *name;
    flow_type kind;
} word_row;

// Names that stand alone. Those of stdint.h are what they are on 64-bit Linux.
static const word_row words[] = {
    {"bool", FLOW_BOOL},      {"_Bool", FLOW_BOOL},      {"int8_t", FLOW_SCHAR},
    {"uint8_t", FLOW_UCHAR},  {"int16_t", FLOW_SHORT},   {"uint16_t", FLOW_USHORT},
    {"int32_t", FLOW_INT},    {"uint32_t", FLOW_UINT},   {"int64_t", FLOW_LONG},
    {"uint64_t", FLOW_ULONG}, {"size_t", FLOW_ULONG},    {"ptrdiff_t", FLOW_LONG},
    {"intptr_t", FLOW_LONG},  {"uintptr_t", FLOW_ULONG}, {"ssize_t", FLOW_LONG},
};
_Static_assert(sizeof(long) == 8 && sizeof(int) == 4, "the table above");

// How often each word of C's own types stands there.
enum { SIGNED, UNSIGNED, SHORT, LONG, INT, CHAR, FLOAT, DOUBLE, COMPLEX, WORDS };
static const char *const basic[WORDS] = {"signed", "unsigned", "short",  "long",    "int",
                                         "char",   "float",    "double", "_Complex"};

static bool count_words(const char *text, int *count)
{
    while (*text) {
        size_t length = strcspn(text, " "), i = 0;
        while (i < WORDS && (strlen(basic[i]) != length || strncmp(basic[i], text, length) != 0))
            i++;
        if (i == WORDS && length == strlen("complex") && strncmp(text, "complex", length) == 0)
            i = COMPLEX;
        if (i == WORDS || ++count[i] > (i == LONG ? 2 : 1))
            return false;
        text += length + (text[length] == ' ');
    }
    return true;
}

flow_type mlt_flow_type_named(const char *text)
{
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, text) == 0)
            return words[i].kind;
    int n[WORDS] = {0};
    if (!text || !*text || !count_words(text, n) || n[SIGNED] + n[UNSIGNED] > 1)
        return FLOW_ANY;
    bool sign = n[SIGNED] + n[UNSIGNED] > 0, whole = n[INT] || sign || n[SHORT];
    if (n[COMPLEX])
        return whole || n[CHAR] || n[LONG] ? FLOW_ANY
               : n[FLOAT] && !n[DOUBLE]    ? FLOW_FLOAT_COMPLEX
               : n[DOUBLE] && !n[FLOAT]    ? FLOW_DOUBLE_COMPLEX
                                           : FLOW_ANY;
    if (n[DOUBLE] + n[FLOAT] > 0) {
        if (whole || n[CHAR] || n[DOUBLE] + n[FLOAT] > 1 || n[LONG] > n[DOUBLE])
            return FLOW_ANY;
        return n[FLOAT] ? FLOW_FLOAT : n[LONG] ? FLOW_LDOUBLE : FLOW_DOUBLE;
    }
    if (n[CHAR])
        return n[INT] || n[SHORT] || n[LONG] ? FLOW_ANY
               : n[UNSIGNED]                 ? FLOW_UCHAR
               : n[SIGNED]                   ? FLOW_SCHAR
                                             : FLOW_CHAR;
    if (n[SHORT] && n[LONG])
        return FLOW_ANY;
    flow_type kind = n[SHORT]       ? FLOW_SHORT
                     : n[LONG] == 2 ? FLOW_LLONG
                     : n[LONG]      ? FLOW_LONG
                                    : FLOW_INT;
    return n[UNSIGNED] ? (flow_type)(kind + 1) : kind;
}
