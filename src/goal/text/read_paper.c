// SPDX-License-Identifier: BSD-3-Clause
// The paper's dialect, with Millet's extensions (docs/reference/goal-language.md).
//
//     ranks 3;
//     rank #0 {
//         buffer in 64;
//         r: recv in+0,8 from 1 tag 5;
//         e: exec sumInt8 with 500,8 in+0,8;
//         requ e -> r;
//     }
//     rank #1, #2..3 { ... }
//
// A block of several ranks is read once for each: what a name stands for may differ among them.
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "goal/text/read_int.h"

typedef struct interval {
    uint32_t first, last;
    const char *at;
} interval;

typedef struct interval_list {
    interval *items;
    size_t count, room;
} interval_list;

static bool word(mlt_goal_reader *r, const char *text, const char *what)
{
    if (!mlt_goal_is_word(&r->token, text))
        return mlt_goal_read_expected(r, what, false);
    return mlt_goal_next(r, false);
}

static bool sign(mlt_goal_reader *r, int kind, const char *what)
{
    if (r->token.kind != kind)
        return mlt_goal_read_expected(r, what, false);
    return mlt_goal_next(r, false);
}

// ---- spans

typedef struct span {
    mlt_goal_span bytes;
    const char *at, *size_at;
} span;

static bool named(mlt_goal_reader *r, span *s)
{
    uint32_t symbol;
    if (!mlt_goal_read_symbol(r, "a buffer or an address", &symbol))
        return false;
    uint32_t buffer = mlt_goal_read_find(r, MLT_GOAL_BUFFER, symbol);
    if (buffer == MLT_GOAL_NONE) {
        char quote[48];
        mlt_goal_read_quote(s->at, r->before, quote);
        return mlt_goal_read_fail(
            r, s->at, "rank %u has no buffer '%s'; declare it first, with 'buffer %s SIZE;'",
            r->rank, quote, quote);
    }
    s->bytes.buf = buffer + 1;
    s->bytes.at = 0;
    if (r->token.kind != '+')
        return true;
    return mlt_goal_next(r, false) &&
           mlt_goal_read_number(r, "an offset in bytes", UINT64_MAX, &s->bytes.at);
}

// "500,1", "in,1", "in+8,1"; for a message "none,1".
static bool read_span(mlt_goal_reader *r, bool message, span *s)
{
    s->at = r->token.at;
    if (r->token.kind == MLT_TOKEN_WORD && mlt_goal_is_word(&r->token, "none")) {
        if (!message)
            return mlt_goal_read_fail(r, s->at,
                                      "'none' is for plain messages; an operation needs memory");
        s->bytes.buf = MLT_GOAL_NOWHERE;
        s->bytes.at = 0;
        if (!mlt_goal_next(r, false))
            return false;
    } else if (r->token.kind == MLT_TOKEN_WORD) {
        if (!named(r, s))
            return false;
    } else {
        s->bytes.buf = MLT_GOAL_MEMORY;
        if (!mlt_goal_read_number(r, "a buffer or an address", UINT64_MAX, &s->bytes.at))
            return false;
    }
    if (!sign(r, ',', "',' and a size in bytes"))
        return false;
    s->size_at = r->token.at;
    if (!mlt_goal_read_number(r, "a size in bytes", UINT64_MAX, &s->bytes.size))
        return false;
    if (s->bytes.at + s->bytes.size < s->bytes.at)
        return mlt_goal_read_fail(r, s->size_at, "these bytes end beyond 2^64");
    return true;
}

// ---- functions

static bool no_function(mlt_goal_reader *r, const mlt_goal_token *token, size_t op_length, bool op)
{
    char list[256] = "", quote[48];
    size_t used = 0;
    const char *at = op ? token->at : token->at + op_length;
    mlt_goal_read_quote(at, op ? token->at + op_length : token->end, quote);
    if (strcmp(quote, "Float8") == 0 && !op)
        return mlt_goal_read_fail(r, at,
                                  "Float8 is refused, for nobody has said what its bits mean; "
                                  "there are Float16, Float32 and Float64");
    for (int i = 0; i < (op ? (int)MLT_OPS : (int)MLT_OP_TYPES); i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 op ? mlt_op_names[i] : mlt_op_type_names[i]);
    if (!*quote)
        return mlt_goal_read_fail(r, at, "here should be %s: one of %s",
                                  op ? "an operation" : "the type of its elements", list);
    return mlt_goal_read_fail(r, at, "'%s' is no %s; there are %s", quote,
                              op ? "operation" : "type", list);
}

// "sumInt8" or "user 3".
static bool function(mlt_goal_reader *r, mlt_goal_action *action, bool *user)
{
    const mlt_goal_token token = r->token;
    if (token.kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(r, "an operation such as sumInt32, or 'user N'", false);
    *user = mlt_goal_is_word(&token, "user");
    if (*user) {
        uint64_t number;
        if (!mlt_goal_next(r, false) ||
            !mlt_goal_read_number(r, "the number of a function", UINT16_MAX, &number))
            return false;
        action->user = (uint16_t)number;
        return true;
    }
    size_t length = (size_t)(token.end - token.at), op_length = 0;
    while (op_length < length && token.at[op_length] >= 'a' && token.at[op_length] <= 'z')
        op_length++;
    int op = 0, type = 0;
    while (op < MLT_OPS && (strlen(mlt_op_names[op]) != op_length ||
                            memcmp(mlt_op_names[op], token.at, op_length) != 0))
        op++;
    if (op == MLT_OPS)
        return no_function(r, &token, op_length, true);
    while (type < MLT_OP_TYPES &&
           (strlen(mlt_op_type_names[type]) != length - op_length ||
            memcmp(mlt_op_type_names[type], token.at + op_length, length - op_length) != 0))
        type++;
    if (type == MLT_OP_TYPES)
        return no_function(r, &token, op_length, false);
    action->op = (uint8_t)op;
    action->type = (uint8_t)type;
    return mlt_goal_next(r, false);
}

// The sizes of a predefined operation; the spans stand in the text in this order.
static bool sizes(mlt_goal_reader *r, const mlt_goal_action *action, const span *first,
                  const span *second)
{
    uint64_t size = first->bytes.size;
    unsigned bytes = mlt_op_type_bytes[action->type];
    if (size % bytes)
        return mlt_goal_read_fail(r, first->size_at,
                                  "%" PRIu64 " bytes are no whole number of %s, which have %u "
                                  "bytes each",
                                  size, mlt_op_type_names[action->type], bytes);
    if (size != second->bytes.size)
        return mlt_goal_read_fail(r, second->size_at,
                                  "the two buffers of an operation have the same size, but these "
                                  "have %" PRIu64 " and %" PRIu64 " bytes",
                                  size, second->bytes.size);
    return true;
}

// ---- actions

// Behind `then`: the message, which is in *message and in the action's first span, becomes the
// second operand.
static bool then(mlt_goal_reader *r, mlt_goal_action *action, const span *message)
{
    bool user;
    span result;
    if (message->bytes.buf == MLT_GOAL_NOWHERE)
        return mlt_goal_read_fail(r, message->at,
                                  "'none' is for plain messages; an operation needs memory");
    mlt_goal_span_set(action, 1, message->bytes);
    if (!function(r, action, &user) || !word(r, "with", "'with' and a buffer") ||
        !read_span(r, false, &result) || (!user && !sizes(r, action, message, &result)))
        return false;
    action->kind = user ? MLT_GOAL_RECV_USER : MLT_GOAL_RECV_EXEC;
    mlt_goal_span_set(action, 0, result.bytes);
    return true;
}

enum { READ_PAPER_TAG, SYNC, READ_PAPER_CPU, READ_PAPER_NIC, THEN, REVERSED, OPTIONS };
static const char *const option_words[OPTIONS] = {"tag", "sync", "cpu", "nic", "then", "reversed"};
static const char *const option_owners[OPTIONS] = {
    "a send or a receive", "a send", "an action", "an action", "a receive", "an operation",
};

static unsigned options_of(int kind)
{
    switch (kind) {
    case MLT_GOAL_SEND:
        return 1 << READ_PAPER_TAG | 1 << SYNC | 1 << READ_PAPER_CPU | 1 << READ_PAPER_NIC;
    case MLT_GOAL_RECV:
        return 1 << READ_PAPER_TAG | 1 << READ_PAPER_CPU | 1 << READ_PAPER_NIC | 1 << THEN;
    case MLT_GOAL_RECV_EXEC:
    case MLT_GOAL_RECV_USER:
        return 1 << READ_PAPER_TAG | 1 << READ_PAPER_CPU | 1 << READ_PAPER_NIC | 1 << THEN |
               1 << REVERSED;
    case MLT_GOAL_EXEC:
    case MLT_GOAL_USER:
        return 1 << READ_PAPER_CPU | 1 << READ_PAPER_NIC | 1 << REVERSED;
    default:
        return 1 << READ_PAPER_CPU | 1 << READ_PAPER_NIC;
    }
}

static bool option(mlt_goal_reader *r, int which, mlt_goal_action *action, const span *message)
{
    uint64_t value;
    switch (which) {
    case READ_PAPER_TAG:
        if (mlt_goal_is_word(&r->token, "any") && action->kind != MLT_GOAL_SEND) {
            action->tag = MLT_GOAL_ANY;
            return mlt_goal_next(r, false);
        }
        if (!mlt_goal_read_number(r, "a tag", INT32_MAX, &value))
            return false;
        action->tag = (int32_t)value;
        return true;
    case SYNC:
        action->flags |= MLT_GOAL_SYNCHRONOUS;
        return true;
    case THEN:
        return then(r, action, message);
    case REVERSED:
        action->flags |= MLT_GOAL_REVERSED;
        return true;
    default:
        if (!mlt_goal_read_number(
                r, which == READ_PAPER_CPU ? "the number of a CPU" : "the number of a NIC", 255,
                &value))
            return false;
        *(which == READ_PAPER_CPU ? &action->cpu : &action->nic) = (uint8_t)value;
        return true;
    }
}

static bool read_paper_options(mlt_goal_reader *r, mlt_goal_action *action, const span *message)
{
    unsigned seen = 0;
    while (r->token.kind == MLT_TOKEN_WORD) {
        int which = 0;
        while (which < OPTIONS && !mlt_goal_is_word(&r->token, option_words[which]))
            which++;
        if (which == OPTIONS)
            return true;
        if (!(options_of(action->kind) & 1u << which))
            return mlt_goal_read_fail(r, r->token.at, "'%s' belongs to %s", option_words[which],
                                      option_owners[which]);
        if (seen & 1u << which)
            return mlt_goal_read_fail(r, r->token.at, "'%s' stands twice in this action",
                                      option_words[which]);
        seen |= 1u << which;
        if (!mlt_goal_next(r, false) || !option(r, which, action, message))
            return false;
    }
    return true;
}

static bool read_paper_message(mlt_goal_reader *r, mlt_goal_action *action, span *s)
{
    bool send = action->kind == MLT_GOAL_SEND;
    uint32_t rank;
    if (!read_span(r, true, s) ||
        !word(r, send ? "to" : "from", send ? "'to' and a rank" : "'from' and a rank"))
        return false;
    mlt_goal_span_set(action, 0, s->bytes);
    if (!send && mlt_goal_is_word(&r->token, "any")) {
        action->peer = MLT_GOAL_ANY;
        return mlt_goal_next(r, false);
    }
    if (!mlt_goal_read_rank(r, send ? "a rank" : "a rank, or 'any'", &rank))
        return false;
    action->peer = (int32_t)rank;
    return true;
}

static bool exec(mlt_goal_reader *r, mlt_goal_action *action)
{
    bool user;
    span result, second;
    if (!function(r, action, &user) || !word(r, "with", "'with' and two buffers") ||
        !read_span(r, false, &result))
        return false;
    // The paper's grammar has a comma here, its example has none.
    if (r->token.kind == ',' && !mlt_goal_next(r, false))
        return false;
    if (!read_span(r, false, &second) || (!user && !sizes(r, action, &result, &second)))
        return false;
    action->kind = user ? MLT_GOAL_USER : MLT_GOAL_EXEC;
    mlt_goal_span_set(action, 0, result.bytes);
    mlt_goal_span_set(action, 1, second.bytes);
    return true;
}

static int kind_of(const mlt_goal_token *token)
{
    return mlt_goal_is_word(token, "send")   ? MLT_GOAL_SEND
           : mlt_goal_is_word(token, "recv") ? MLT_GOAL_RECV
           : mlt_goal_is_word(token, "exec") ? MLT_GOAL_EXEC
           : mlt_goal_is_word(token, "calc") ? MLT_GOAL_CALC
           : mlt_goal_is_word(token, "nop")  ? MLT_GOAL_NOP
                                             : 0;
}

// Behind its first word.
static bool read_paper_action(mlt_goal_reader *r, int kind, uint32_t line, uint32_t label)
{
    mlt_goal_action a = {.kind = (uint8_t)kind, .label = label, .line = line};
    span s = {.at = NULL};
    bool good = true;
    if (kind == MLT_GOAL_SEND || kind == MLT_GOAL_RECV)
        good = read_paper_message(r, &a, &s);
    else if (kind == MLT_GOAL_EXEC)
        good = exec(r, &a);
    else if (kind == MLT_GOAL_CALC)
        good = mlt_goal_read_number(r, "a time in nanoseconds", UINT64_MAX, &a.size[0]);
    if (!good || !read_paper_options(r, &a, &s))
        return false;
    mlt_goal_add(r->program, r->rank, &a);
    return true;
}

// ---- statements

// Behind `requ` or `irequ`.
static bool read_paper_dependency(mlt_goal_reader *r, bool started)
{
    mlt_goal_pending d = {.rank = r->rank, .started = started, .action_at = r->token.at};
    if (!mlt_goal_read_symbol(r, "a label", &d.action) ||
        !sign(r, MLT_TOKEN_ARROW, "'->' and the label of an action that comes before"))
        return false;
    d.on_at = r->token.at;
    if (!mlt_goal_read_symbol(r, "a label", &d.on))
        return false;
    mlt_goal_read_require(r, &d);
    return true;
}

static bool buffer(mlt_goal_reader *r)
{
    const mlt_goal_token token = r->token;
    uint64_t size;
    if (token.kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(r, "the name of a buffer", false);
    return mlt_goal_next(r, false) &&
           mlt_goal_read_number(r, "a size in bytes", UINT64_MAX, &size) &&
           mlt_goal_read_buffer(r, &token, size);
}

// What stands before a ';'.
static bool read_paper_statement(mlt_goal_reader *r)
{
    const mlt_goal_token first = r->token;
    if (first.kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(r, "an action, a label, 'requ' or 'buffer'", true);
    if (!mlt_goal_next(r, false))
        return false;
    int kind = kind_of(&first);
    if (r->token.kind == ':') {
        uint32_t label;
        if (!mlt_goal_read_label(r, &first, &label) || !mlt_goal_next(r, false))
            return false;
        const mlt_goal_token second = r->token;
        kind = kind_of(&second);
        if (!kind)
            return mlt_goal_read_expected(r, "send, recv, exec, calc or nop", false);
        return mlt_goal_next(r, false) && read_paper_action(r, kind, first.line, label);
    }
    if (kind)
        return read_paper_action(r, kind, first.line, 0);
    if (mlt_goal_is_word(&first, "requ") || mlt_goal_is_word(&first, "irequ"))
        return read_paper_dependency(r, *first.at == 'i');
    if (mlt_goal_is_word(&first, "buffer"))
        return buffer(r);
    char quote[48];
    mlt_goal_read_quote(first.at, first.end, quote);
    return mlt_goal_read_fail(r, first.at,
                              "'%s' begins no statement; here should be send, recv, exec, calc, "
                              "nop, requ, irequ, buffer, or a label and ':'",
                              quote);
}

static bool statements(mlt_goal_reader *r, uint32_t open_line)
{
    while (r->token.kind != '}') {
        if (r->token.kind == MLT_TOKEN_END)
            return mlt_goal_read_fail(r, r->token.at, "the block that begins in line %u has no '}'",
                                      open_line);
        if (mlt_goal_is_word(&r->token, "rank") || mlt_goal_is_word(&r->token, "ranks"))
            return mlt_goal_read_fail(
                r, r->token.at,
                "the block that begins in line %u is still open here; close it with '}'",
                open_line);
        if (r->token.kind != ';' && !read_paper_statement(r))
            return false;
        if (!sign(r, ';', "';'"))
            return false;
    }
    return true;
}

// ---- rank blocks

static bool list_add(mlt_goal_reader *r, interval_list *list)
{
    interval i = {.at = r->token.at};
    // A '#' is a mark here; that of the first rank tells the dialect, further ones may be missing.
    if (r->token.kind == '#' && !mlt_goal_next(r, false))
        return false;
    if (!mlt_goal_read_rank(r, "a rank", &i.first))
        return false;
    i.last = i.first;
    if (r->token.kind == MLT_TOKEN_RANGE) {
        if (!mlt_goal_next(r, true) || (r->token.kind == '#' && !mlt_goal_next(r, false)))
            return false;
        const char *at = r->token.at;
        if (!mlt_goal_read_rank(r, "the last rank of the range", &i.last))
            return false;
        if (i.last < i.first)
            return mlt_goal_read_fail(r, at, "this range ends before it begins");
    }
    *MLT_ARRAY_ADD(list->items, list->count, list->room) = i;
    return true;
}

static int by_first(const void *pa, const void *pb)
{
    const interval *a = pa, *b = pb;
    return a->first != b->first ? (a->first < b->first ? -1 : 1)
           : a->at < b->at      ? -1
                                : a->at > b->at;
}

// Reads "#0, #2..7 {" and puts the ranks in order.
static bool rank_list(mlt_goal_reader *r, interval_list *list)
{
    do {
        if (!mlt_goal_next(r, true) || !list_add(r, list))
            return false;
    } while (r->token.kind == ',');
    if (r->token.kind != '{')
        return mlt_goal_read_expected(r, "',' and a further rank, or '{'", false);
    qsort(list->items, list->count, sizeof *list->items, by_first);
    for (size_t i = 1; i < list->count; i++) {
        const interval *a = &list->items[i - 1], *b = &list->items[i];
        if (b->first <= a->last)
            return mlt_goal_read_fail(r, a->at > b->at ? a->at : b->at,
                                      "rank %u stands twice in this list", b->first);
    }
    return true;
}

static bool read_paper_block(mlt_goal_reader *r)
{
    interval_list list = {NULL, 0, 0};
    uint32_t line = r->token.line;
    bool good = rank_list(r, &list) && mlt_goal_next(r, false);
    const mlt_goal_reader begin = *r;
    for (size_t i = 0; i < list.count && good; i++)
        for (uint32_t rank = list.items[i].first; rank <= list.items[i].last && good; rank++) {
            r->at = begin.at;
            r->line = begin.line;
            r->token = begin.token;
            r->before = begin.before;
            mlt_goal_read_enter(r, rank);
            good = statements(r, line);
        }
    free(list.items);
    return good && mlt_goal_next(r, false);
}

bool mlt_goal_read_paper(mlt_goal_reader *r)
{
    bool blocks = false, bare = false; // rank blocks; statements outside of any
    while (r->token.kind != MLT_TOKEN_END) {
        if (mlt_goal_is_word(&r->token, "ranks")) {
            if (blocks || bare || r->declared)
                return mlt_goal_read_fail(r, r->token.at,
                                          "'ranks N;' stands once, before everything else");
            if (!mlt_goal_next(r, false) || !mlt_goal_read_ranks(r) || !sign(r, ';', "';'"))
                return false;
        } else if (mlt_goal_is_word(&r->token, "rank")) {
            if (bare)
                return mlt_goal_read_fail(r, r->token.at,
                                          "there are statements before this block; in a text with "
                                          "rank blocks each statement stands in one");
            if (!read_paper_block(r))
                return false;
            blocks = true;
        } else if (r->token.kind == ';') {
            if (!mlt_goal_next(r, false))
                return false;
        } else if (blocks) {
            return mlt_goal_read_expected(r, "a rank block, 'rank #N {', or the end", true);
        } else {
            // The paper's grammar: a text without blocks is one process's own program.
            if (!bare) {
                r->ranks = r->ranks ? r->ranks : 1;
                mlt_goal_read_enter(r, 0);
            }
            bare = true;
            if (!read_paper_statement(r) || !sign(r, ';', "';'"))
                return false;
        }
    }
    return true;
}
