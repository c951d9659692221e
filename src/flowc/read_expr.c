// SPDX-License-Identifier: BSD-3-Clause
// Names, types, expressions and constants.
#include <stdio.h>
#include <string.h>

#include "flowc/read_int.h"

void *mlt_flow_read_take(mlt_flow_reader *r, size_t bytes)
{
    return mlt_flow_arena_take(r->file->arena, bytes);
}

void *mlt_flow_read_more(mlt_flow_reader *r, const void *array, size_t count, size_t size)
{
    if (count & (count - 1)) // not a power of 2: there is room
        return (void *)array;
    void *more = mlt_flow_read_take(r, (count ? 2 * count : 1) * size);
    if (count)
        memcpy(more, array, count * size);
    return more;
}

const char *mlt_flow_read_text(mlt_flow_reader *r, const mlt_flow_token *token)
{
    return mlt_flow_arena_text(r->file->arena, token->at, (size_t)(token->end - token->at));
}

// ---- names

static bool among(const mlt_flow_token *token, const char *const *words)
{
    for (; *words; words++)
        if (mlt_flow_token_is(token, *words))
            return true;
    return false;
}

bool mlt_flow_read_is_c_word(const mlt_flow_token *token)
{
    static const char *const words[] = {"auto",           "break",
                                        "case",           "char",
                                        "const",          "continue",
                                        "default",        "do",
                                        "double",         "else",
                                        "enum",           "extern",
                                        "float",          "for",
                                        "goto",           "if",
                                        "inline",         "int",
                                        "long",           "register",
                                        "restrict",       "return",
                                        "short",          "signed",
                                        "sizeof",         "static",
                                        "struct",         "switch",
                                        "typedef",        "union",
                                        "unsigned",       "void",
                                        "volatile",       "while",
                                        "_Alignas",       "_Alignof",
                                        "_Atomic",        "_Bool",
                                        "_Complex",       "_Generic",
                                        "_Noreturn",      "_Imaginary",
                                        "typeof",         "asm",
                                        "_Static_assert", "_Thread_local",
                                        "bool",           "true",
                                        "false",          NULL};
    return among(token, words);
}

const char *mlt_flow_read_name(mlt_flow_reader *r, const char *what)
{
    // Macros that are there before the first line, or in every header: not even a queue, which is a
    // member of a struct, can be called so.
    static const char *const macros[] = {"NULL", "linux", "unix", "errno", NULL};
    static const char *const words[] = {"Module", "Declare", "Root", "is",       "requires", "flow",
                                        "in",     "out",     "cap",  "optional", NULL};
    if (r->token.kind != MLT_FLOW_TOKEN_NAME) {
        mlt_flow_read_expected(r, what);
        return NULL;
    }
    bool c = mlt_flow_read_is_c_word(&r->token) || among(&r->token, macros);
    if (c || among(&r->token, words)) {
        mlt_flow_read_fail(r, &r->token, "'%.*s' is a word of %s and cannot be %s",
                           (int)(r->token.end - r->token.at), r->token.at, c ? "C" : "the language",
                           what);
        return NULL;
    }
    const char *name = mlt_flow_read_text(r, &r->token);
    mlt_flow_read_next(r);
    return name;
}

// ---- expressions

static mlt_flow_expr *new_expr(mlt_flow_reader *r, mlt_flow_expr_kind kind, int line)
{
    mlt_flow_expr *e = mlt_flow_read_take(r, sizeof *e);
    e->kind = kind;
    e->line = line;
    return e;
}

static mlt_flow_expr *read_sum(mlt_flow_reader *r);

// The tree is at most as deep as it has operators, and functions that walk it recurse.
static bool one_more(mlt_flow_reader *r)
{
    if (++r->operators <= MLT_FLOW_MOST_OPERATORS)
        return true;
    return mlt_flow_read_fail(r, &r->token, "this expression has more than %d operators",
                              MLT_FLOW_MOST_OPERATORS);
}

static mlt_flow_expr *read_primary(mlt_flow_reader *r)
{
    int line = r->token.line;
    if (r->token.kind == MLT_FLOW_TOKEN_NUMBER || r->token.kind == MLT_FLOW_TOKEN_NAME) {
        bool number = r->token.kind == MLT_FLOW_TOKEN_NUMBER;
        mlt_flow_expr *e = new_expr(r, number ? MLT_FLOW_NUMBER : MLT_FLOW_EXPR_NAME, line);
        if (number)
            e->number = r->token.number;
        else
            e->name = mlt_flow_read_text(r, &r->token);
        mlt_flow_read_next(r);
        return e;
    }
    if (r->token.kind != '(' && r->token.kind != '-') {
        mlt_flow_read_expected(r, "a number or a constant");
        return NULL;
    }
    if (r->depth == MLT_FLOW_DEEPEST) {
        mlt_flow_read_fail(r, &r->token, "this expression is nested more than %d deep",
                           MLT_FLOW_DEEPEST);
        return NULL;
    }
    r->depth++;
    bool negate = r->token.kind == '-';
    mlt_flow_read_next(r);
    mlt_flow_expr *e = negate ? read_primary(r) : read_sum(r);
    r->depth--;
    if (negate && e) {
        mlt_flow_expr *inner = e;
        e = new_expr(r, MLT_FLOW_NEGATE, line);
        e->left = inner;
        return e;
    }
    return e && mlt_flow_read_kind(r, ')', "')'") ? e : NULL;
}

// Operands of `signs`, which are operators from `first` on, and bind those of `inner`.
static mlt_flow_expr *read_operators(mlt_flow_reader *r, const char *signs,
                                     mlt_flow_expr_kind first,
                                     mlt_flow_expr *(*inner)(mlt_flow_reader *r))
{
    mlt_flow_expr *left = inner(r);
    const char *sign;
    while (left && r->token.kind && r->token.kind < 128 && (sign = strchr(signs, r->token.kind))) {
        mlt_flow_expr *e = new_expr(r, first + (mlt_flow_expr_kind)(sign - signs), r->token.line);
        if (!one_more(r))
            return NULL;
        mlt_flow_read_next(r);
        e->left = left;
        e->right = inner(r);
        left = e->right ? e : NULL;
    }
    return left;
}

static mlt_flow_expr *read_product(mlt_flow_reader *r)
{
    return read_operators(r, "*/%", MLT_FLOW_MULTIPLY, read_primary);
}

static mlt_flow_expr *read_sum(mlt_flow_reader *r)
{
    return read_operators(r, "+-", MLT_FLOW_ADD, read_product);
}

mlt_flow_expr *mlt_flow_read_expr(mlt_flow_reader *r)
{
    r->depth = r->operators = 0;
    return read_sum(r);
}

// ---- types

// The arithmetic types of C, under one name each, however they are written: as letters of the words
// in any order. u unsigned, s signed, h short, l long, i int, c char, f float, d double, b bool,
// x complex.
static const struct {
    const char *letters, *name;
} arithmetic[] = {
    {"c", "char"},
    {"cs", "signed char"},
    {"cu", "unsigned char"},
    {"h", "short"},
    {"hi", "short"},
    {"hs", "short"},
    {"his", "short"},
    {"hu", "unsigned short"},
    {"hiu", "unsigned short"},
    {"i", "int"},
    {"s", "int"},
    {"is", "int"},
    {"u", "unsigned"},
    {"iu", "unsigned"},
    {"l", "long"},
    {"il", "long"},
    {"ls", "long"},
    {"ils", "long"},
    {"lu", "unsigned long"},
    {"ilu", "unsigned long"},
    {"ll", "long long"},
    {"ill", "long long"},
    {"lls", "long long"},
    {"ills", "long long"},
    {"llu", "unsigned long long"},
    {"illu", "unsigned long long"},
    {"f", "float"},
    {"d", "double"},
    {"dl", "long double"},
    {"b", "_Bool"},
    {"fx", "float _Complex"},
    {"dx", "double _Complex"},
    {"dlx", "long double _Complex"},
};

static char letter_of(const mlt_flow_token *token, bool first)
{
    static const char *const words[] = {"unsigned", "signed", "short", "long",     "int", "char",
                                        "float",    "double", "_Bool", "_Complex", NULL};
    for (size_t i = 0; words[i]; i++)
        if (mlt_flow_token_is(token, words[i]))
            return "ushlicfdbx"[i];
    if (mlt_flow_token_is(token, "bool"))
        return 'b';
    return !first && mlt_flow_token_is(token, "complex") ? 'x' : 0;
}

static bool read_arithmetic(mlt_flow_reader *r, const char **type)
{
    mlt_flow_token all = r->token;
    char letters[8] = "";
    size_t count = 0;
    for (char letter; (letter = letter_of(&r->token, count == 0)); mlt_flow_read_next(r)) {
        size_t at = count < sizeof letters - 1 ? count++ : count - 1;
        for (; at && letters[at - 1] > letter; at--)
            letters[at] = letters[at - 1];
        letters[at] = letter;
    }
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (strcmp(arithmetic[i].letters, letters) == 0) {
            *type = arithmetic[i].name;
            return true;
        }
    char quote[64];
    all.end = r->before;
    return mlt_flow_read_fail(r, &all, "'%s' is not a type of C", mlt_flow_read_quote(&all, quote));
}

static bool read_values(mlt_flow_reader *r, const char **type)
{
    mlt_flow_token first = r->token;
    if (letter_of(&first, true))
        return read_arithmetic(r, type);
    if (mlt_flow_read_accept_word(r, "void"))
        return true;
    bool tagged = mlt_flow_read_is(r, "struct") || mlt_flow_read_is(r, "union") ||
                  mlt_flow_read_is(r, "enum");
    if (tagged)
        mlt_flow_read_next(r);
    if (mlt_flow_read_is(r, "const") || mlt_flow_read_is(r, "volatile"))
        return mlt_flow_read_fail(r, &r->token,
                                  "a payload's values belong to whoever has it: '%.*s' says "
                                  "nothing here",
                                  (int)(r->token.end - r->token.at), r->token.at);
    const char *name = mlt_flow_read_name(r, tagged ? "the name of a type" : "a type");
    if (!name)
        return false;
    *type = name;
    if (tagged) {
        size_t size = strlen(name) + 8;
        char *text = mlt_flow_read_take(r, size);
        const char *kind = *first.at == 's' ? "struct" : *first.at == 'u' ? "union" : "enum";
        snprintf(text, size, "%s %s", kind, name);
        *type = text;
    }
    return true;
}

bool mlt_flow_read_type(mlt_flow_reader *r, const char **type)
{
    *type = NULL;
    if (!read_values(r, type))
        return false;
    if (r->token.kind == '*')
        return mlt_flow_read_fail(r, &r->token,
                                  "a payload holds values, not pointers: write '%s' "
                                  "without '*'",
                                  *type ? *type : "void");
    return true;
}

// ---- constants

mlt_flow_const *mlt_flow_read_const(mlt_flow_reader *r)
{
    mlt_flow_read_begin(r);
    mlt_flow_read_next(r);
    mlt_flow_const *c = mlt_flow_read_take(r, sizeof *c);
    c->line = r->token.line;
    if (letter_of(&r->token, true)) {
        mlt_flow_read_fail(r, &r->token,
                           "constants have no type, all are whole numbers: write 'const NAME = "
                           "value;'");
        return NULL;
    }
    c->name = mlt_flow_read_name(r, "the name of a constant");
    if (!c->name || !mlt_flow_read_kind(r, '=', "'='"))
        return NULL;
    c->value = mlt_flow_read_expr(r);
    return c->value && mlt_flow_read_semicolon(r) ? c : NULL;
}
