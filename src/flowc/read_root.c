// SPDX-License-Identifier: BSD-3-Clause
// Reads a root: what it requires, its own queues, its instances, and after `flow:` its wires and
// places.
#include <stdio.h>
#include <string.h>

#include "flowc/read_int.h"

// A root while it is being read.
typedef struct body {
    mlt_flow_root_item *root;
    mlt_flow_statement **last;
    int flow_line;       // 0: no `flow:` yet
    bool told_too_early; // of wires
} body;

static mlt_flow_statement *add_statement(mlt_flow_reader *r, body *b, mlt_flow_statement_kind kind,
                                         int line)
{
    mlt_flow_statement *s = mlt_flow_read_take(r, sizeof *s);
    s->kind = kind;
    s->line = line;
    *b->last = s;
    b->last = &s->next;
    return s;
}

// ---- instances

// What stands between ( and ).
static bool read_arguments(mlt_flow_reader *r, const char *instance, mlt_flow_argument **last)
{
    do {
        mlt_flow_token next = mlt_flow_read_peek(r, 1);
        if (r->token.kind != MLT_FLOW_TOKEN_NAME || next.kind != '=')
            return mlt_flow_read_fail(
                r, &r->token, "parameters have names, as in '%.50s(port = 7000)'", instance);
        mlt_flow_argument *a = *last = mlt_flow_read_take(r, sizeof *a);
        last = &a->next;
        a->line = r->token.line;
        a->name = mlt_flow_read_text(r, &r->token);
        mlt_flow_read_next(r);
        mlt_flow_read_next(r);
        if (r->token.kind == MLT_FLOW_TOKEN_STRING) {
            mlt_flow_token text = r->token;
            text.at++;
            text.end -= text.end > text.at && text.end[-1] == '"';
            for (const char *c = text.at; c < text.end; c++)
                if (!(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') &&
                    !(*c >= 'A' && *c <= 'Z') && !strchr("-_.:*%", *c))
                    return mlt_flow_read_fail(r, &r->token,
                                              "the text of a parameter has letters, digits, '-', "
                                              "'_', '.', ':', '*' and '%%'");
            a->text = mlt_flow_read_text(r, &text);
            mlt_flow_read_next(r);
        } else if (!(a->value = mlt_flow_read_expr(r))) {
            return false;
        }
    } while (mlt_flow_read_accept(r, ','));
    return mlt_flow_read_kind(r, ')', "',' or ')'");
}

static bool read_instances(mlt_flow_reader *r, body *b)
{
    mlt_flow_read_begin(r);
    mlt_flow_token begin = r->token;
    const char *module = mlt_flow_read_name(r, "the name of a module");
    if (!module)
        return false;
    if (b->flow_line) {
        char quote[64];
        mlt_flow_read_fail(r, &begin,
                           "'%s %.*s' declares an instance; instances stand before 'flow:', which "
                           "is in line %d",
                           module, r->token.kind ? 40 : 0, mlt_flow_read_quote(&r->token, quote),
                           b->flow_line);
    }
    do {
        int line = r->token.line;
        const char *name = mlt_flow_read_name(r, "the name of an instance");
        if (!name)
            return false;
        mlt_flow_expr *count = NULL;
        if (mlt_flow_read_accept(r, '[')) {
            count = mlt_flow_read_expr(r);
            if (!count || !mlt_flow_read_kind(r, ']', "']'"))
                return false;
            if (r->token.kind == '[')
                return mlt_flow_read_fail(r, &r->token, "vectors have one dimension; '%s' has two",
                                          name);
        }
        mlt_flow_statement *s = add_statement(r, b, MLT_FLOW_INSTANCE, line);
        s->module = module;
        s->name = name;
        s->count = count;
        if (mlt_flow_read_accept(r, '(') && !read_arguments(r, name, &s->arguments))
            return false;
    } while (mlt_flow_read_accept(r, ','));
    if (r->token.kind == '=')
        return mlt_flow_read_fail(r, &r->token,
                                  "an instance takes no value: use its module's init, or "
                                  "flow_const");
    return mlt_flow_read_semicolon(r);
}

// ---- wires and places

static bool read_slice(mlt_flow_reader *r, mlt_flow_wire_part *part)
{
    mlt_flow_expr **ends[] = {&part->first, &part->last, &part->step};
    for (int i = 0; i < 3; i++) {
        if (i && !mlt_flow_read_accept(r, ':'))
            break;
        if (r->token.kind == ':' || r->token.kind == ']')
            return mlt_flow_read_fail(r, &r->token,
                                      "a slice names both of its ends, which are included: "
                                      "'%s[0:3]', or '%s' for all",
                                      part->name, part->name);
        *ends[i] = mlt_flow_read_expr(r);
        if (!*ends[i])
            return false;
    }
    return mlt_flow_read_kind(r, ']', part->step ? "']'" : "':' or ']'");
}

static bool read_part(mlt_flow_reader *r, mlt_flow_wire_part *part)
{
    part->line = r->token.line;
    if (r->token.kind != MLT_FLOW_TOKEN_NAME)
        return mlt_flow_read_expected(r, "an instance");
    if (mlt_flow_read_is_c_word(&r->token))
        return mlt_flow_read_fail(r, &r->token, "'%.*s' is a word of C and cannot be an instance",
                                  (int)(r->token.end - r->token.at), r->token.at);
    part->name = mlt_flow_read_text(r, &r->token);
    mlt_flow_read_next(r);
    if (mlt_flow_read_accept(r, '[') && !read_slice(r, part))
        return false;
    if (mlt_flow_read_accept(r, '.')) {
        if (r->token.kind != MLT_FLOW_TOKEN_NAME)
            return mlt_flow_read_expected(r, "the name of a queue");
        part->queue = mlt_flow_read_text(r, &r->token);
        mlt_flow_read_next(r);
        if (r->token.kind == '[' || r->token.kind == '.')
            return mlt_flow_read_fail(r, &r->token,
                                      "'%.50s' is a queue of '%.50s' and has no parts; "
                                      "subscripts follow instances, as in "
                                      "'%.50s[0:3].%.50s'",
                                      part->queue, part->name, part->name, part->queue);
    }
    if (mlt_flow_read_accept(r, '(')) {
        if (r->token.kind != MLT_FLOW_TOKEN_NAME)
            return mlt_flow_read_expected(r, "an operation such as sum");
        part->op = mlt_flow_read_text(r, &r->token);
        mlt_flow_read_next(r);
        if (!mlt_flow_read_kind(r, ')', "')'"))
            return false;
        if (r->token.kind == '[' || r->token.kind == '.')
            return mlt_flow_read_fail(r, &r->token,
                                      "the operation stands last: '%.50s[0](%.50s)', not "
                                      "'%.50s(%.50s)[0]'",
                                      part->name, part->op, part->name, part->op);
    }
    return true;
}

static bool read_stage(mlt_flow_reader *r, mlt_flow_stage *stage)
{
    stage->line = r->token.line;
    mlt_flow_wire_part **last = &stage->parts;
    do {
        mlt_flow_wire_part *part = mlt_flow_read_take(r, sizeof *part);
        *last = part;
        last = &part->next;
        if (!read_part(r, part))
            return false;
    } while (mlt_flow_read_accept(r, ','));
    return true;
}

// A host may be quoted, for '-' and '.' are no letters.
static bool read_host(mlt_flow_reader *r, mlt_flow_statement *s)
{
    mlt_flow_token name = r->token;
    if (name.kind == MLT_FLOW_TOKEN_STRING) {
        name.at++;
        name.end -= name.end > name.at && name.end[-1] == '"';
        bool good = name.at < name.end;
        for (const char *c = name.at; c < name.end; c++)
            good &= (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
                    (*c >= 'A' && *c <= 'Z') || *c == '-' || *c == '_' || *c == '.';
        if (!good)
            return mlt_flow_read_fail(r, &r->token,
                                      "a host's name has letters, digits, '-', '_' and '.'");
    }
    s->host = mlt_flow_read_text(r, &name);
    mlt_flow_read_next(r);
    if (r->token.kind == '.')
        return mlt_flow_read_fail(r, &r->token,
                                  "a host's name that has a '.' or '-' is quoted: "
                                  "\"node-3.cluster\"");
    if (!mlt_flow_read_accept(r, ':'))
        return true;
    s->place = mlt_flow_read_expr(r);
    return s->place;
}

static bool read_place(mlt_flow_reader *r, mlt_flow_statement *s)
{
    for (mlt_flow_wire_part *part = s->stages->parts; part; part = part->next)
        if (part->queue || part->op)
            return mlt_flow_read_fail(r, &r->token,
                                      "instances have places, queues and operations have none: "
                                      "write '%s' without '%s%s%s'",
                                      part->name, part->queue ? "." : "(",
                                      part->queue ? part->queue : part->op, part->queue ? "" : ")");
    s->kind = MLT_FLOW_PLACE;
    mlt_flow_read_next(r);
    mlt_flow_token next = mlt_flow_read_peek(r, 1);
    // `N + 1` and `(N)` are numbers, a name alone is a host.
    bool computed = next.kind && strchr("+-*/%", next.kind < 256 ? next.kind : ';') != NULL;
    if (r->token.kind == MLT_FLOW_TOKEN_STRING ||
        (r->token.kind == MLT_FLOW_TOKEN_NAME && !computed)) {
        if (!read_host(r, s))
            return false;
    } else if (r->token.kind == MLT_FLOW_TOKEN_NUMBER || r->token.kind == MLT_FLOW_TOKEN_NAME ||
               r->token.kind == '(' || r->token.kind == '-') {
        s->place = mlt_flow_read_expr(r);
        if (!s->place)
            return false;
    } else {
        return mlt_flow_read_expected(r, "a host or the number of a place");
    }
    return mlt_flow_read_semicolon(r);
}

static bool at_joint(mlt_flow_reader *r, mlt_flow_joint *joint)
{
    switch (r->token.kind) {
    case MLT_FLOW_TOKEN_FEW:
        mlt_flow_read_expected(r, "'|||'");
        *joint = MLT_FLOW_BARS;
        return r->token.kind;
    case MLT_FLOW_TOKEN_BARS:
        *joint = MLT_FLOW_BARS;
        return true;
    case MLT_FLOW_TOKEN_ARROW:
        *joint = MLT_FLOW_ARROW;
        return true;
    case MLT_FLOW_TOKEN_EACH:
        *joint = MLT_FLOW_EACH;
        return true;
    default:
        return false;
    }
}

static bool read_wire(mlt_flow_reader *r, body *b)
{
    mlt_flow_read_begin(r);
    mlt_flow_token begin = r->token;
    mlt_flow_statement *s = mlt_flow_read_take(r, sizeof *s);
    s->kind = MLT_FLOW_STATEMENT_WIRE;
    s->line = r->token.line;
    mlt_flow_stage **last = &s->stages;
    mlt_flow_joint joint = MLT_FLOW_BARS;
    for (;;) {
        mlt_flow_stage *stage = mlt_flow_read_take(r, sizeof *stage);
        stage->joint = joint;
        *last = stage;
        last = &stage->next;
        if (!read_stage(r, stage))
            return false;
        if (!at_joint(r, &joint))
            break;
        mlt_flow_read_next(r);
    }
    bool place = r->token.kind == '@' && !s->stages->next;
    if (!place && r->token.kind == '@')
        return mlt_flow_read_fail(r, &r->token,
                                  "a place is a statement of its own, such as 'p[0:3] @ host1;', "
                                  "and not part of a wire");
    if (!place && !s->stages->next)
        return mlt_flow_read_expected(r, b->flow_line ? "'|||', '->', '=>' or '@'"
                                                      : "the name of an instance");
    if (!b->flow_line && !b->told_too_early) {
        b->told_too_early = true;
        mlt_flow_read_fail(r, &begin,
                           "wires and places stand after 'flow:', and no 'flow:' stands before "
                           "this line");
    }
    if (!(place ? read_place(r, s) : mlt_flow_read_semicolon(r)))
        return false;
    *b->last = s;
    b->last = &s->next;
    return true;
}

// ---- statements

static bool read_flow(mlt_flow_reader *r, body *b)
{
    mlt_flow_read_begin(r);
    mlt_flow_token at = r->token;
    mlt_flow_read_next(r);
    if (!mlt_flow_read_kind(r, ':', "':'"))
        (void)mlt_flow_read_accept(r, ';');
    if (b->flow_line)
        mlt_flow_read_fail(r, &at, "'flow:' stands in line %d already", b->flow_line);
    else
        b->flow_line = at.line;
    return true;
}

static bool read_label(mlt_flow_reader *r, body *b)
{
    if (mlt_flow_read_meant(r, (const char *const[]){"flow", NULL})) {
        mlt_flow_read_misspelt(r, "'flow:'", "flow:");
        return r->token.kind && read_flow(r, b);
    }
    mlt_flow_read_fail(r, &r->token, "'%.*s:' is not part of the language; only 'flow:' is",
                       (int)(r->token.end - r->token.at), r->token.at);
    mlt_flow_read_next(r);
    (void)mlt_flow_read_accept(r, ':');
    return true;
}

static bool read_statement(mlt_flow_reader *r, body *b)
{
    mlt_flow_token next = mlt_flow_read_peek(r, 1);
    r->start = NULL;
    if (r->token.kind == ';') {
        mlt_flow_read_fail(r, &r->token, "this ';' ends nothing; leave it out");
        mlt_flow_read_next(r);
        return true;
    }
    if (mlt_flow_read_is(r, "const")) {
        int line = r->token.line;
        mlt_flow_const *constant = mlt_flow_read_const(r);
        if (!constant)
            return false;
        add_statement(r, b, MLT_FLOW_CONST, line)->constant = constant;
        return true;
    }
    if (mlt_flow_read_is(r, "flow"))
        return read_flow(r, b);
    if (mlt_flow_read_is(r, "void"))
        return mlt_flow_read_fail(r, &r->token,
                                  "in a root, only queues stand before 'void initialize()', and "
                                  "nothing stands after it");
    if (r->token.kind != MLT_FLOW_TOKEN_NAME)
        return mlt_flow_read_expected(r, b->flow_line ? "an instance or '}'"
                                                      : "the name of a module, 'flow:' or '}'");
    if ((mlt_flow_read_is(r, "data_section") && next.kind == '{') ||
        (mlt_flow_read_is(r, "weight") && next.kind == MLT_FLOW_TOKEN_NUMBER))
        return mlt_flow_read_fail(r, &r->token,
                                  "a root does not run, so it has no '%.*s'; 'Declare Module' has",
                                  (int)(r->token.end - r->token.at), r->token.at);
    if (mlt_flow_read_at_queue(r)) {
        mlt_flow_read_fail(r, &r->token, "the queues of a root stand before all else in it");
        return r->token.kind && mlt_flow_read_queue(r);
    }
    if (next.kind == ':')
        return read_label(r, b);
    return next.kind == MLT_FLOW_TOKEN_NAME ? read_instances(r, b) : read_wire(r, b);
}

// ---- the body

// Statements up to '}', which is taken; false: told that it is not there.
static bool read_statements(mlt_flow_reader *r, body *b)
{
    while (r->token.kind != '}') {
        if (!r->token.kind || mlt_flow_read_is(r, "Module") || mlt_flow_read_is(r, "Declare"))
            return mlt_flow_read_unclosed(r, "Module", b->root->name, b->root->line);
        if (!read_statement(r, b))
            mlt_flow_read_recover(r);
    }
    mlt_flow_read_next(r);
    return true;
}

// `void initialize() { statements }`, and the '}' of the root.
static bool read_initialize(mlt_flow_reader *r, body *b)
{
    mlt_flow_read_begin(r);
    mlt_flow_read_next(r);
    if (!mlt_flow_read_word(r, "initialize") || !mlt_flow_read_kind(r, '(', "'('"))
        return false;
    (void)mlt_flow_read_accept_word(r, "void");
    if (!mlt_flow_read_kind(r, ')', "')'") || !mlt_flow_read_kind(r, '{', "'{'"))
        return false;
    if (!read_statements(r, b))
        return true;
    if (mlt_flow_read_accept(r, '}'))
        return true;
    r->start = NULL;
    char what[200];
    snprintf(what, sizeof what, "'}' after initialize, which ends 'Module %s' of line %d",
             b->root->name, b->root->line);
    mlt_flow_read_expected(r, what);
    if (!mlt_flow_read_is(r, "Module") && !mlt_flow_read_is(r, "Declare")) {
        mlt_flow_read_recover(r);
        (void)mlt_flow_read_accept(r, '}');
    }
    return true;
}

static void read_body(mlt_flow_reader *r, mlt_flow_root_item *root)
{
    body b = {.root = root, .last = &root->statements};
    while (mlt_flow_read_at_queue(r))
        if (!mlt_flow_read_queue(r))
            mlt_flow_read_recover(r);
    if (mlt_flow_read_is(r, "void")) {
        if (!read_initialize(r, &b)) {
            mlt_flow_read_recover(r);
            (void)mlt_flow_read_accept(r, '}');
        }
        return;
    }
    (void)read_statements(r, &b);
}

// ---- the head

static void require(mlt_flow_reader *r, mlt_flow_root_item *root, const char *name, int line)
{
    size_t count = root->required_count;
    root->required = mlt_flow_read_more(r, root->required, count, sizeof *root->required);
    root->required_lines =
        mlt_flow_read_more(r, root->required_lines, count, sizeof *root->required_lines);
    root->required[count] = name;
    root->required_lines[count] = line;
    root->required_count++;
}

static bool read_head(mlt_flow_reader *r, mlt_flow_root_item *root)
{
    static const char *const words[] = {"requires", NULL};
    if (!mlt_flow_read_word(r, "is") || !mlt_flow_read_word(r, "Root"))
        return false;
    if (r->token.kind != '{') {
        if (!mlt_flow_read_word_of(r, words, "'requires' or '{'"))
            return false;
        do {
            // 'Module' may be forgotten: it is told, and what follows is a name all the same.
            mlt_flow_token next = mlt_flow_read_peek(r, 1);
            bool name =
                r->token.kind == MLT_FLOW_TOKEN_NAME && (next.kind == ',' || next.kind == '{');
            if (!mlt_flow_read_word(r, "Module") && !name)
                return false;
            int line = r->token.line;
            const char *required = mlt_flow_read_name(r, "the name of a module");
            if (!required)
                return false;
            require(r, root, required, line);
        } while (mlt_flow_read_accept(r, ','));
    }
    return r->token.kind == '{' || mlt_flow_read_expected(r, "',' or '{'");
}

// `Module X { code }`: the paper's way to write a module. Its code is skipped as C text.
static void read_code(mlt_flow_reader *r, const mlt_flow_token *name)
{
    char quote[64];
    mlt_flow_read_quote(name, quote);
    mlt_flow_read_fail(r, name,
                       "module %s is not a root, so its code belongs in a C file: %s.c, with the "
                       "function %s_run; queues and data stand in 'Declare Module %s { ... }'",
                       quote, quote, quote, quote);
    if (r->token.kind != '{')
        return;
    (void)mlt_flow_lex_c(&r->lexer);
    r->token.line = r->lexer.line;
    mlt_flow_read_next(r);
}

void mlt_flow_read_root(mlt_flow_reader *r)
{
    mlt_flow_read_begin(r);
    mlt_flow_read_next(r);
    mlt_flow_token name = r->token;
    mlt_flow_root_item *root = mlt_flow_read_take(r, sizeof *root);
    root->line = r->token.line;
    root->name = mlt_flow_read_name(r, "the name of a module");
    if (!root->name) {
        mlt_flow_read_recover(r);
        return;
    }
    if (r->token.kind == '{') {
        read_code(r, &name);
        return;
    }
    *r->last_root = root;
    r->last_root = &root->next;
    r->last_queue = &root->queues;
    if (!read_head(r, root))
        while (r->token.kind && r->token.kind != '{' && r->token.kind != ';' &&
               r->token.kind != '}')
            mlt_flow_read_next(r);
    if (!mlt_flow_read_accept(r, '{')) {
        mlt_flow_read_recover(r);
        return;
    }
    read_body(r, root);
}
