// SPDX-License-Identifier: BSD-3-Clause
// LogGOPSim's dialect.
//
//     num_ranks 2
//     rank 0 {
//     l1: send 10b to 1 tag 5 cpu 0 nic 0
//     l2: calc 100
//     l1 requires l2
//     }
//
// A statement ends with its line. More than one on a line is read too: where one ends is always
// clear. Messages have a size and no memory.

#include "goal/text/read_int.h"

// True if the token stands on the line of the one before it.
static bool same_line(const mlt_goal_reader *r, uint32_t line)
{
    return r->token.kind != MLT_TOKEN_END && r->token.line == line;
}

// A number within the statement's line. With any: or -1.
static bool number(mlt_goal_reader *r, uint32_t line, const char *what, uint64_t most, bool any,
                   int64_t *value)
{
    uint64_t positive;
    if (!same_line(r, line))
        return mlt_goal_read_expected(r, what, false);
    if (r->token.kind == '-') {
        const char *at = r->token.at;
        if (!mlt_goal_next(r, false))
            return false;
        bool one = r->token.kind == MLT_TOKEN_NUMBER && r->token.value == 1 && !r->token.bytes &&
                   r->token.at == at + 1;
        if (!any || !one)
            return mlt_goal_read_fail(r, at, "here should be %s%s, not a negative number", what,
                                      any ? ", or -1 for any" : "");
        *value = MLT_GOAL_ANY;
        return mlt_goal_next(r, false);
    }
    if (r->token.bytes)
        return mlt_goal_read_expected(r, what, false);
    if (!mlt_goal_read_number(r, what, most, &positive))
        return false;
    *value = (int64_t)positive;
    return true;
}

// "10b", also "10 b" and "10".
static bool size(mlt_goal_reader *r, uint32_t line, uint64_t *bytes)
{
    if (!same_line(r, line))
        return mlt_goal_read_expected(r, "a size such as 10b", false);
    bool has_unit = r->token.bytes;
    if (!mlt_goal_read_number(r, "a size such as 10b", UINT64_MAX, bytes))
        return false;
    if (!has_unit && same_line(r, line) && mlt_goal_is_word(&r->token, "b"))
        return mlt_goal_next(r, false);
    return true;
}

enum { READ_LOGGOPSIM_TAG = 1, READ_LOGGOPSIM_CPU = 2, READ_LOGGOPSIM_NIC = 4 };

static bool read_loggopsim_options(mlt_goal_reader *r, uint32_t line, mlt_goal_action *action)
{
    static const char *const words[] = {"tag", "cpu", "nic"};
    int allowed = action->kind == MLT_GOAL_CALC
                      ? READ_LOGGOPSIM_CPU
                      : READ_LOGGOPSIM_TAG | READ_LOGGOPSIM_CPU | READ_LOGGOPSIM_NIC,
        seen = 0;
    while (same_line(r, line) && r->token.kind == MLT_TOKEN_WORD) {
        int which = 0;
        while (which < 3 && !mlt_goal_is_word(&r->token, words[which]))
            which++;
        if (which == 3)
            break;
        if (!(allowed & 1 << which))
            return mlt_goal_read_fail(r, r->token.at, "calc takes a cpu, but no %s", words[which]);
        if (seen & 1 << which)
            return mlt_goal_read_fail(r, r->token.at, "'%s' stands twice in this statement",
                                      words[which]);
        seen |= 1 << which;
        int64_t value;
        if (!mlt_goal_next(r, false) ||
            !number(r, line, which ? "a number" : "a tag", which ? 255 : INT32_MAX,
                    which == 0 && action->kind == MLT_GOAL_RECV, &value))
            return false;
        if (which == 0)
            action->tag = (int32_t)value;
        else if (which == 1)
            action->cpu = (uint8_t)value;
        else
            action->nic = (uint8_t)value;
    }
    return true;
}

static bool peer(mlt_goal_reader *r, uint32_t line, mlt_goal_action *action)
{
    bool send = action->kind == MLT_GOAL_SEND;
    const char *word = send ? "to" : "from";
    if (!same_line(r, line) || !mlt_goal_is_word(&r->token, word))
        return mlt_goal_read_expected(r, send ? "'to' and a rank" : "'from' and a rank", false);
    if (!mlt_goal_next(r, false))
        return false;
    if (same_line(r, line) && r->token.kind == '-') {
        int64_t value;
        if (!number(r, line, "a rank", UINT64_MAX, !send, &value))
            return false;
        action->peer = (int32_t)value;
        return true;
    }
    uint32_t rank;
    if (!same_line(r, line) || r->token.bytes)
        return mlt_goal_read_expected(r, "a rank", false);
    if (!mlt_goal_read_rank(r, "a rank", &rank))
        return false;
    action->peer = (int32_t)rank;
    return true;
}

// Behind its first word.
static bool read_loggopsim_action(mlt_goal_reader *r, const mlt_goal_token *word, uint32_t label)
{
    mlt_goal_action a = {.label = label, .line = word->line};
    uint32_t line = word->line;
    if (mlt_goal_is_word(word, "calc")) {
        uint64_t ns;
        a.kind = MLT_GOAL_CALC;
        if (!same_line(r, line) || r->token.bytes)
            return mlt_goal_read_expected(r, "a time", false);
        if (!mlt_goal_read_number(r, "a time", UINT64_MAX, &ns))
            return false;
        a.size[0] = ns;
    } else {
        a.kind = mlt_goal_is_word(word, "send") ? MLT_GOAL_SEND : MLT_GOAL_RECV;
        a.buf[0] = MLT_GOAL_NOWHERE;
        if (!size(r, line, &a.size[0]) || !peer(r, line, &a))
            return false;
    }
    if (!read_loggopsim_options(r, line, &a))
        return false;
    mlt_goal_add(r->program, r->rank, &a);
    return true;
}

static bool is_action(const mlt_goal_token *word)
{
    return mlt_goal_is_word(word, "send") || mlt_goal_is_word(word, "recv") ||
           mlt_goal_is_word(word, "calc");
}

static bool read_loggopsim_dependency(mlt_goal_reader *r, const mlt_goal_token *word)
{
    mlt_goal_pending d = {.rank = r->rank, .action_at = word->at};
    d.started = mlt_goal_is_word(&r->token, "irequires");
    d.action = mlt_goal_symbol_of(r, word);
    if (!mlt_goal_next(r, false))
        return false;
    if (!same_line(r, word->line))
        return mlt_goal_read_expected(r, "a label", false);
    d.on_at = r->token.at;
    if (!mlt_goal_read_symbol(r, "a label", &d.on))
        return false;
    mlt_goal_read_require(r, &d);
    return true;
}

static bool read_loggopsim_statement(mlt_goal_reader *r)
{
    if (r->token.kind != MLT_TOKEN_WORD)
        return mlt_goal_read_expected(r, "a statement or '}'", true);
    mlt_goal_token word = r->token;
    if (mlt_goal_is_word(&word, "rank") || mlt_goal_is_word(&word, "num_ranks"))
        return mlt_goal_read_fail(
            r, word.at, "the block of rank %u is still open here; close it with '}'", r->rank);
    if (!mlt_goal_next(r, false))
        return false;
    bool more = same_line(r, word.line);
    if (more && r->token.kind == ':') {
        uint32_t label;
        if (!mlt_goal_read_label(r, &word, &label) || !mlt_goal_next(r, false))
            return false;
        mlt_goal_token first = r->token;
        if (!same_line(r, word.line) || !is_action(&first))
            return mlt_goal_read_expected(r, "send, recv or calc", false);
        return mlt_goal_next(r, false) && read_loggopsim_action(r, &first, label);
    }
    if (is_action(&word))
        return read_loggopsim_action(r, &word, 0);
    if (more &&
        (mlt_goal_is_word(&r->token, "requires") || mlt_goal_is_word(&r->token, "irequires")))
        return read_loggopsim_dependency(r, &word);
    char quote[48], what[128];
    mlt_goal_read_quote(word.at, word.end, quote);
    snprintf(what, sizeof what, "':', 'requires' or 'irequires' after '%s'", quote);
    return mlt_goal_read_expected(r, what, false);
}

static bool read_loggopsim_block(mlt_goal_reader *r)
{
    uint32_t rank, line = r->token.line;
    if (!mlt_goal_next(r, true)) // so that a '#' is seen and can be spoken of
        return false;
    if (r->token.kind == '#')
        return mlt_goal_read_fail(r, r->token.at,
                                  "LogGOPSim's dialect, in which this text begins, writes 'rank N "
                                  "{' without '#'");
    if (r->token.bytes)
        return mlt_goal_read_expected(r, "a rank", false);
    if (!mlt_goal_read_rank(r, "a rank", &rank))
        return false;
    if (r->token.kind != '{')
        return mlt_goal_read_expected(r, "'{'", false);
    mlt_goal_read_enter(r, rank);
    if (!mlt_goal_next(r, false))
        return false;
    while (r->token.kind != '}') {
        if (r->token.kind == MLT_TOKEN_END)
            return mlt_goal_read_fail(r, r->token.at,
                                      "the block of rank %u, which begins in line %u, has no '}'",
                                      rank, line);
        if (!read_loggopsim_statement(r))
            return false;
    }
    return mlt_goal_next(r, false);
}

bool mlt_goal_read_loggopsim(mlt_goal_reader *r)
{
    bool blocks = false;
    while (r->token.kind != MLT_TOKEN_END) {
        if (mlt_goal_is_word(&r->token, "rank")) {
            if (!read_loggopsim_block(r))
                return false;
            blocks = true;
        } else if (mlt_goal_is_word(&r->token, "num_ranks")) {
            if (blocks || r->declared)
                return mlt_goal_read_fail(r, r->token.at,
                                          "num_ranks stands once, before the first rank");
            if (!mlt_goal_next(r, false))
                return false;
            if (r->token.bytes)
                return mlt_goal_read_expected(r, "a number of ranks", false);
            if (!mlt_goal_read_ranks(r))
                return false;
        } else {
            return mlt_goal_read_expected(
                r, blocks ? "'rank N {' or the end" : "'num_ranks N' or 'rank N {'", true);
        }
    }
    return true;
}
