// SPDX-License-Identifier: BSD-3-Clause
// Reads a .flow file: includes, constants, operations, declarations of modules; roots are in
// read_root.c. docs/reference/flow-language.md has the grammar.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flowc/read_int.h"

// ---- queues

bool mlt_flow_read_at_queue(const mlt_flow_reader *r)
{
    mlt_flow_token one = mlt_flow_read_peek(r, 1), two = mlt_flow_read_peek(r, 2);
    if (mlt_flow_read_is(r, "in") || mlt_flow_read_is(r, "out"))
        return one.kind == MLT_FLOW_TOKEN_NAME;
    if (!mlt_flow_read_is(r, "Input") && !mlt_flow_read_is(r, "Output"))
        return false;
    // Modules may be called Input and Output too: `Input i[4];`
    return one.kind == ':' || (mlt_flow_token_is(&one, "Queue") && mlt_flow_token_is(&two, "is"));
}

static bool read_queue_options(mlt_flow_reader *r, mlt_flow_queue_item *queue)
{
    static const char *const words[] = {"cap", "optional", NULL};
    for (;;) {
        mlt_flow_token at = r->token;
        if (mlt_flow_read_accept_word(r, "cap")) {
            if (queue->cap)
                return mlt_flow_read_fail(r, &at, "'cap' stands twice");
            queue->cap = mlt_flow_read_expr(r);
            if (!queue->cap)
                return false;
        } else if (mlt_flow_read_accept_word(r, "optional")) {
            if (queue->optional)
                return mlt_flow_read_fail(r, &at, "'optional' stands twice");
            queue->optional = true;
        } else {
            const char *meant = mlt_flow_read_meant(r, words);
            return meant ? mlt_flow_read_misspelt(r, "'cap', 'optional' or ';'", meant)
                         : mlt_flow_read_semicolon(r);
        }
    }
}

// The name, if there is one, and `[]`, which says that an element has any number of values: all
// have.
static bool read_queue_name(mlt_flow_reader *r, mlt_flow_queue_item *queue)
{
    queue->name = queue->input ? "in" : "out";
    if (mlt_flow_read_is(r, queue->name)) {
        mlt_flow_read_next(r);
    } else if (r->token.kind == MLT_FLOW_TOKEN_NAME && !mlt_flow_read_is(r, "cap") &&
               !mlt_flow_read_is(r, "optional")) {
        queue->name = mlt_flow_read_name(r, "the name of a queue");
        if (!queue->name)
            return false;
    }
    if (!mlt_flow_read_accept(r, '['))
        return true;
    if (r->token.kind == MLT_FLOW_TOKEN_NUMBER || r->token.kind == MLT_FLOW_TOKEN_NAME)
        return mlt_flow_read_fail(
            r, &r->token,
            "an element has as many values as its sender says: write '[]', and 'cap' for how many "
            "elements the queue holds");
    return mlt_flow_read_kind(r, ']', "']'");
}

bool mlt_flow_read_queue(mlt_flow_reader *r)
{
    mlt_flow_read_begin(r);
    mlt_flow_queue_item *queue = mlt_flow_read_take(r, sizeof *queue);
    queue->line = r->token.line;
    queue->input = mlt_flow_read_is(r, "in") || mlt_flow_read_is(r, "Input");
    bool papers = mlt_flow_read_is(r, "Input") || mlt_flow_read_is(r, "Output");
    mlt_flow_read_next(r);
    if (papers && mlt_flow_read_accept(r, ':'))
        return true;
    if (papers) {
        if (!mlt_flow_read_word(r, "Queue") || !mlt_flow_read_word(r, "is"))
            return false;
        const char *whole = queue->input ? "in" : "out";
        queue->name = mlt_flow_read_accept_word(r, whole)
                          ? whole
                          : mlt_flow_read_name(r, "the name of a queue");
        if (!queue->name)
            return false;
    } else if (!mlt_flow_read_type(r, &queue->type) || !read_queue_name(r, queue)) {
        return false;
    }
    bool good = read_queue_options(r, queue);
    *r->last_queue = queue;
    r->last_queue = &queue->next;
    return good;
}

// ---- declarations

static bool read_data(mlt_flow_reader *r, mlt_flow_declaration *module)
{
    mlt_flow_read_begin(r);
    mlt_flow_token at = r->token;
    mlt_flow_read_next(r);
    if (r->token.kind != '{')
        return mlt_flow_read_expected(r, "'{'");
    const char *begin = r->token.end;
    int line = r->token.line;
    const char *end = mlt_flow_lex_c(&r->lexer);
    if (!end) {
        mlt_flow_read_fail(r, &at, "this data section has no end: its '{' has no '}'");
        r->over = true; // what is missing after it follows from that
        mlt_flow_read_next(r);
        return false;
    }
    mlt_flow_token text = {.at = begin, .end = end, .line = line};
    r->token = (mlt_flow_token){.kind = '}', .at = end, .end = end + 1, .line = r->lexer.line};
    mlt_flow_read_next(r);
    const char *zero = memchr(begin, 0, (size_t)(end - begin));
    if (zero) {
        for (const char *c = begin; c < zero; c++)
            line += *c == '\n';
        mlt_flow_read_fail(r, &(mlt_flow_token){.at = zero, .line = line},
                           "a data section is text; here is a byte 0");
        return true;
    }
    if (module->data) {
        mlt_flow_read_fail(r, &at, "module %s has a data section already, in line %d", module->name,
                           module->data_line);
        return true;
    }
    module->data = mlt_flow_read_text(r, &text);
    module->data_line = line;
    return true;
}

static bool read_item(mlt_flow_reader *r, mlt_flow_declaration *module)
{
    static const char *const words[] = {"data_section", "Input",  "Output", "in",
                                        "out",          "weight", NULL};
    if (r->token.kind == ';') {
        mlt_flow_read_fail(r, &r->token, "this ';' ends nothing; leave it out");
        mlt_flow_read_next(r);
        return true;
    }
    if (mlt_flow_read_is(r, "void"))
        return mlt_flow_read_fail(r, &r->token,
                                  "code of module %s belongs in a C file: %s.c, with %s_run",
                                  module->name, module->name, module->name);
    if (mlt_flow_read_is(r, "data_section"))
        return read_data(r, module);
    if (mlt_flow_read_is(r, "in") || mlt_flow_read_is(r, "out") || mlt_flow_read_is(r, "Input") ||
        mlt_flow_read_is(r, "Output"))
        return mlt_flow_read_queue(r);
    mlt_flow_read_begin(r);
    if (!mlt_flow_read_is(r, "weight")) {
        (void)mlt_flow_read_word_of(
            r, words, "'in', 'out', 'Input', 'Output', 'data_section', 'weight' or '}'");
        return false;
    }
    mlt_flow_token at = r->token;
    mlt_flow_read_next(r);
    mlt_flow_expr *weight = mlt_flow_read_expr(r);
    if (weight && module->weight)
        mlt_flow_read_fail(r, &at, "module %s has a weight already, in line %d", module->name,
                           module->weight->line);
    module->weight = weight;
    return weight && mlt_flow_read_semicolon(r);
}

mlt_flow_queue_item mlt_flow_default_queues[2] = {
    {.next = &mlt_flow_default_queues[1], .name = "in", .input = true, .implied = true},
    {.name = "out", .implied = true},
};

// Default queues that the module does not declare follow the others.
static void add_defaults(mlt_flow_reader *r, mlt_flow_declaration *module)
{
    for (int i = 0; i < 2; i++) {
        mlt_flow_queue_item **last = &module->queues, *own = mlt_flow_read_take(r, sizeof *own);
        *own = mlt_flow_default_queues[i];
        own->next = NULL;
        while (*last && strcmp((*last)->name, own->name) != 0)
            last = &(*last)->next;
        if (!*last)
            *last = own;
    }
}

static bool read_module(mlt_flow_reader *r)
{
    mlt_flow_declaration *module = mlt_flow_read_take(r, sizeof *module);
    module->line = r->token.line;
    module->name = mlt_flow_read_name(r, "the name of a module");
    if (!module->name)
        return false;
    *r->last_declaration = module;
    r->last_declaration = &module->next;
    r->last_queue = &module->queues;
    if (!mlt_flow_read_kind(r, '{', "'{'"))
        return false;
    while (r->token.kind != '}') {
        if (!r->token.kind || mlt_flow_read_is(r, "Declare") || mlt_flow_read_is(r, "Module")) {
            add_defaults(r, module);
            return mlt_flow_read_unclosed(r, "Declare Module", module->name, module->line);
        }
        if (!read_item(r, module))
            mlt_flow_read_recover(r);
    }
    mlt_flow_read_next(r);
    add_defaults(r, module);
    return true;
}

static bool read_operation(mlt_flow_reader *r)
{
    mlt_flow_operation *op = mlt_flow_read_take(r, sizeof *op);
    op->line = r->token.line;
    op->name = mlt_flow_read_name(r, "the name of an operation");
    if (!op->name || !mlt_flow_read_kind(r, '(', "'(' and the type of its values"))
        return false;
    mlt_flow_token type = r->token;
    if (!mlt_flow_read_type(r, &op->type))
        return false;
    if (!op->type)
        return mlt_flow_read_fail(r, &type, "operation %s needs the type of its values, not 'void'",
                                  op->name);
    if (!mlt_flow_read_kind(r, ')', "')'"))
        return false;
    op->ordered = mlt_flow_read_accept_word(r, "ordered");
    *r->last_operation = op;
    r->last_operation = &op->next;
    const char *meant = mlt_flow_read_meant(r, (const char *const[]){"ordered", NULL});
    return meant ? mlt_flow_read_misspelt(r, "'ordered' or ';'", meant)
                 : mlt_flow_read_semicolon(r);
}

static bool read_declaration(mlt_flow_reader *r)
{
    static const char *const words[] = {"Module", "Operation", NULL};
    mlt_flow_read_begin(r);
    mlt_flow_read_next(r);
    const char *what = mlt_flow_read_word_of(r, words, "'Module' or 'Operation'");
    return what && (*what == 'M' ? read_module(r) : read_operation(r));
}

// ---- the file

static bool read_include(mlt_flow_reader *r)
{
    mlt_flow_read_begin(r);
    mlt_flow_read_next(r);
    if (r->token.kind == '<' && !mlt_flow_lex_brackets(&r->lexer, &r->token))
        return mlt_flow_read_fail(r, &r->token, "this '<' has no '>' in its line");
    if (r->token.kind != MLT_FLOW_TOKEN_STRING)
        return mlt_flow_read_expected(r, "a file such as \"types.h\" or <math.h>");
    mlt_flow_file *file = r->file;
    for (const char *c = r->token.at; c < r->token.end; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return mlt_flow_read_fail(r, &r->token, "this name of a file has a control character");
    if (r->token.end - r->token.at < 3)
        return mlt_flow_read_fail(r, &r->token, "this name of a file is empty");
    file->includes =
        mlt_flow_read_more(r, file->includes, file->include_count, sizeof *file->includes);
    file->includes[file->include_count++] = mlt_flow_read_text(r, &r->token);
    mlt_flow_read_next(r);
    return mlt_flow_read_semicolon(r);
}

static bool read_file_const(mlt_flow_reader *r)
{
    mlt_flow_const *c = mlt_flow_read_const(r);
    if (!c)
        return false;
    *r->last_const = c;
    r->last_const = &c->next;
    return true;
}

// What begins nothing. Habits from C and from the paper get messages of their own.
static bool read_nothing(mlt_flow_reader *r)
{
    mlt_flow_token at = r->token, next = mlt_flow_read_peek(r, 1);
    if (at.kind == ';' || at.kind == '}') {
        mlt_flow_read_fail(r, &at, "this '%c' %s nothing; leave it out", at.kind,
                           at.kind == ';' ? "ends" : "closes");
        mlt_flow_read_next(r);
        return true;
    }
    if (at.kind == '#') {
        mlt_flow_read_fail(r, &at,
                           "there is no preprocessor here: write 'include \"types.h\";' "
                           "for types, 'const N = 16;' for numbers");
        while (r->token.kind && r->token.line == at.line)
            mlt_flow_read_next(r);
        return true;
    }
    if (at.kind == MLT_FLOW_TOKEN_NAME && next.kind == ':') {
        mlt_flow_read_fail(r, &at,
                           "'%.*s:' is not part of the language; only 'flow:', 'Input:' and "
                           "'Output:' are, inside of a module",
                           (int)(at.end - at.at), at.at);
        mlt_flow_read_next(r);
        mlt_flow_read_next(r);
        return true;
    }
    return mlt_flow_read_expected(r, "'Module', 'Declare', 'const' or 'include'");
}

// What begins here, a misspelt one being told; NULL: nothing.
static const char *beginning(mlt_flow_reader *r)
{
    static const char *const words[] = {"Module", "Declare", "const", "include", NULL};
    for (const char *const *word = words; *word; word++)
        if (mlt_flow_read_is(r, *word))
            return *word;
    mlt_flow_token next = mlt_flow_read_peek(r, 1);
    const char *meant = next.kind == ':' ? NULL : mlt_flow_read_meant(r, words);
    if (meant)
        mlt_flow_read_misspelt(r, "'Module', 'Declare', 'const' or 'include'", meant);
    return meant;
}

static void read_file(mlt_flow_reader *r)
{
    while (r->token.kind) {
        r->start = NULL;
        bool good = true;
        const char *word = beginning(r);
        if (!word)
            good = read_nothing(r);
        else if (*word == 'M')
            mlt_flow_read_root(r);
        else if (*word == 'D')
            good = read_declaration(r);
        else if (*word == 'c')
            good = read_file_const(r);
        else
            good = read_include(r);
        if (!good) {
            mlt_flow_read_recover(r);
            (void)mlt_flow_read_accept(r, '}');
        }
    }
}

mlt_flow_file *mlt_flow_read(const char *path, const char *text, size_t size,
                             mlt_flow_messages *messages)
{
    mlt_flow_file *file = mlt_xcalloc(1, sizeof *file);
    file->arena = mlt_flow_arena_new(MLT_FLOW_ALIGNED);
    file->path = mlt_flow_arena_text(file->arena, path, strlen(path));
    if (!size)
        text = "";
    mlt_flow_reader r = {.file = file,
                         .messages = messages,
                         .text = text,
                         .lexer = mlt_flow_lexer_of(text, size),
                         .last_const = &file->consts,
                         .last_operation = &file->operations,
                         .last_declaration = &file->declarations,
                         .last_root = &file->roots};
    r.token = (mlt_flow_token){.at = r.lexer.at, .end = r.lexer.at, .line = 1};
    mlt_flow_read_next(&r);
    read_file(&r);
    return file;
}

void mlt_flow_file_free(mlt_flow_file *file)
{
    if (!file)
        return;
    mlt_flow_arena_free(file->arena);
    free(file);
}
