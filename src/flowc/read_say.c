// SPDX-License-Identifier: BSD-3-Clause
// The reader's tokens, and its messages with their places.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/character.h"
#include "base/text.h"
#include "base/word.h"
#include "flowc/read_int.h"

// ---- messages

// Columns are characters from 1 on.
static int column_of(const mlt_flow_reader *r, const char *at)
{
    const char *line = at;
    while (line > r->text && line[-1] != '\n')
        line--;
    int column = 1;
    for (const char *c = line; c < at && column < INT_MAX; c++)
        column += ((unsigned char)*c & 0xc0) != 0x80;
    return column;
}

static void say(mlt_flow_reader *r, int line, const char *at, const char *text)
{
    if (r->muted || r->over)
        return;
    mlt_flow_say(r->messages, line, column_of(r, at), MLT_FLOW_ERROR, "%s", text);
    if (++r->errors == MLT_FLOW_MOST_ERRORS) {
        r->over = true;
        r->lexer.at = r->lexer.end;
        r->token = (mlt_flow_token){.at = r->lexer.end, .end = r->lexer.end, .line = line};
    }
}

bool mlt_flow_read_fail(mlt_flow_reader *r, const mlt_flow_token *at, const char *format, ...)
{
    char text[sizeof r->messages->first->text];
    MLT_TEXT_PRINT(text, sizeof text, format);
    say(r, at->line, at->at, text);
    return false;
}

// Adds bytes as they may be shown, as far as there is room; how many were used.
static size_t show(const char *at, const char *end, char *text, size_t size)
{
    size_t used = 0;
    while (at < end) {
        bool shown;
        size_t length = mlt_character(at, end, &shown);
        if (used + length >= size)
            break;
        if (shown)
            memcpy(text + used, at, length);
        else
            text[used] = '?';
        used += shown ? length : 1;
        at += length;
    }
    text[used] = 0;
    return used;
}

const char *mlt_flow_read_quote(const mlt_flow_token *token, char text[64])
{
    size_t used = show(token->at, token->end, text, 60);
    if ((size_t)(token->end - token->at) > used)
        strcpy(text + used, "...");
    return text;
}

// What was written from r->start to r->before, with one space where there was any and without
// comments. If that is long, its end.
static const char *quote_before(const mlt_flow_reader *r, char text[128])
{
    mlt_flow_lexer lexer = {r->start, r->before, 1};
    mlt_flow_token token;
    const char *last = r->start;
    char all[1024];
    size_t used = 0;
    for (mlt_flow_lex(&lexer, &token); token.kind; mlt_flow_lex(&lexer, &token)) {
        char word[128];
        size_t length = show(token.at, token.end, word, sizeof word);
        if (used + length + 1 >= sizeof all) {
            memmove(all, all + used / 2, used - used / 2);
            used -= used / 2;
        }
        if (token.at > last && used)
            all[used++] = ' ';
        memcpy(all + used, word, length);
        used += length;
        last = token.end;
    }
    size_t from = used > 60 ? used - 50 : 0;
    // Whole words, and in any case whole characters.
    const char *space = from ? memchr(all + from, ' ', 20) : NULL;
    if (space)
        from = (size_t)(space + 1 - all);
    while (from && from < used && ((unsigned char)all[from] & 0xc0) == 0x80)
        from++;
    snprintf(text, 128, "%s%.*s", from ? "... " : "", (int)(used - from), all + from);
    return text;
}

static const char *found_text(const mlt_flow_reader *r, char text[80])
{
    char found[64];
    snprintf(text, 80, r->token.kind ? "'%s'" : "the end of the file",
             mlt_flow_read_quote(&r->token, found));
    return text;
}

bool mlt_flow_read_misspelt(mlt_flow_reader *r, const char *what, const char *meant)
{
    char found[80], after[128], text[400];
    bool behind = r->start && r->start < r->before;
    // Something that is missing at the end of a line is missing there, not in the next one.
    bool there = behind && (r->token.line > r->before_line || !r->token.kind);
    snprintf(text, sizeof text, "expected %s%s%s%s, found %s%s%s%s", what, behind ? " after '" : "",
             behind ? quote_before(r, after) : "", behind ? "'" : "", found_text(r, found),
             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    say(r, there ? r->before_line : r->token.line, there ? r->before : r->token.at, text);
    return false;
}

bool mlt_flow_read_unclosed(mlt_flow_reader *r, const char *what, const char *name, int line)
{
    char found[80];
    return mlt_flow_read_fail(r, &r->token, "expected '}', which ends '%s %s' of line %d, found %s",
                              what, name, line, found_text(r, found));
}

bool mlt_flow_read_expected(mlt_flow_reader *r, const char *what)
{
    return mlt_flow_read_misspelt(r, what, NULL);
}

const char *mlt_flow_read_meant(const mlt_flow_reader *r, const char *const *words)
{
    if (r->token.kind != MLT_FLOW_TOKEN_NAME)
        return NULL;
    const char *nearest = NULL;
    size_t length = (size_t)(r->token.end - r->token.at), least = 3;
    for (; *words; words++) {
        size_t letters = strlen(*words), most = letters >= 6 ? 2 : letters >= 3;
        size_t distance = mlt_word_distance(r->token.at, length, *words, letters);
        if (distance <= most && distance < least) {
            least = distance;
            nearest = *words;
        }
    }
    return nearest;
}

// ---- tokens

// Tells of a token that is none, and makes one of it that gives no more to tell. True: leave it
// out.
static bool wrong_token(mlt_flow_reader *r)
{
    mlt_flow_token *token = &r->token;
    const int kind = token->kind;
    char quote[64];
    mlt_flow_read_quote(token, quote);
    switch (kind) {
    case MLT_FLOW_TOKEN_LONG:
        mlt_flow_read_fail(r, token, "'%s' has %zu letters; a name has at most %d", quote,
                           (size_t)(token->end - token->at), MLT_FLOW_NAME_LONGEST);
        break;
    case MLT_FLOW_TOKEN_HUGE:
        mlt_flow_read_fail(r, token, "%s is too large; the greatest number is %ld", quote,
                           LONG_MAX);
        break;
    case MLT_FLOW_TOKEN_OCTAL:
        mlt_flow_read_fail(r, token,
                           "'%s' begins with 0, which would make it octal in C; write it decimal "
                           "or as 0x...",
                           quote);
        break;
    case MLT_FLOW_TOKEN_BROKEN:
        mlt_flow_read_fail(r, token, "'%s' is not a whole number", quote);
        break;
    case MLT_FLOW_TOKEN_OPEN_STRING:
        mlt_flow_read_fail(r, token, "this string has no closing '\"' in its line");
        break;
    case MLT_FLOW_TOKEN_OPEN_COMMENT:
        r->muted = false;
        mlt_flow_read_fail(r, token, "this comment has no end; close it with */");
        r->over = true; // what is missing after it follows from that
        break;
    case MLT_FLOW_TOKEN_STRAY:
        mlt_flow_read_fail(r, token, "'%s' is not a character of the language", quote);
        break;
    default:
        return false;
    }
    if (!token->kind) // that was the last error that is told
        return false;
    token->kind = MLT_FLOW_TOKEN_NUMBER;
    token->number = 1; // makes least trouble
    if (kind == MLT_FLOW_TOKEN_LONG) {
        token->kind = MLT_FLOW_TOKEN_NAME;
        token->end = token->at + MLT_FLOW_NAME_LONGEST;
    } else if (kind == MLT_FLOW_TOKEN_OPEN_STRING) {
        token->kind = MLT_FLOW_TOKEN_STRING;
    } else if (kind == MLT_FLOW_TOKEN_OPEN_COMMENT) {
        token->kind = MLT_FLOW_TOKEN_END;
    }
    return kind == MLT_FLOW_TOKEN_STRAY;
}

void mlt_flow_read_next(mlt_flow_reader *r)
{
    r->before = r->token.end;
    r->before_line = r->token.line;
    do
        mlt_flow_lex(&r->lexer, &r->token);
    while (wrong_token(r));
}

mlt_flow_token mlt_flow_read_peek(const mlt_flow_reader *r, int ahead)
{
    mlt_flow_lexer lexer = r->lexer;
    mlt_flow_token token;
    do
        mlt_flow_lex(&lexer, &token);
    while (--ahead);
    return token;
}

void mlt_flow_read_begin(mlt_flow_reader *r)
{
    r->start = r->token.at;
    r->start_line = r->token.line;
}

bool mlt_flow_read_is(const mlt_flow_reader *r, const char *word)
{
    return mlt_flow_token_is(&r->token, word);
}

bool mlt_flow_read_accept(mlt_flow_reader *r, int kind)
{
    bool is = r->token.kind == kind;
    if (is)
        mlt_flow_read_next(r);
    return is;
}

bool mlt_flow_read_accept_word(mlt_flow_reader *r, const char *word)
{
    bool is = mlt_flow_read_is(r, word);
    if (is)
        mlt_flow_read_next(r);
    return is;
}

const char *mlt_flow_read_word_of(mlt_flow_reader *r, const char *const *words, const char *what)
{
    for (const char *const *word = words; *word; word++)
        if (mlt_flow_read_accept_word(r, *word))
            return *word;
    const char *meant = mlt_flow_read_meant(r, words);
    (void)mlt_flow_read_misspelt(r, what, meant);
    if (meant && r->token.kind)
        mlt_flow_read_next(r);
    return meant;
}

bool mlt_flow_read_word(mlt_flow_reader *r, const char *word)
{
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return mlt_flow_read_word_of(r, (const char *const[]){word, NULL}, what);
}

bool mlt_flow_read_kind(mlt_flow_reader *r, int kind, const char *what)
{
    return mlt_flow_read_accept(r, kind) || mlt_flow_read_expected(r, what);
}

bool mlt_flow_read_semicolon(mlt_flow_reader *r)
{
    if (mlt_flow_read_accept(r, ';'))
        return true;
    mlt_flow_read_expected(r, "';'");
    return r->token.line > r->before_line && r->token.kind;
}

void mlt_flow_read_recover(mlt_flow_reader *r)
{
    bool muted = r->muted;
    r->muted = true;
    for (size_t depth = 0; r->token.kind; mlt_flow_read_next(r)) {
        bool first = r->token.line > r->before_line;
        if (first && (mlt_flow_read_is(r, "Declare") || mlt_flow_read_is(r, "Module")))
            break;
        if (r->token.kind == '{')
            depth++;
        if (r->token.kind == '}' && depth-- == 0)
            break;
        if ((r->token.kind == ';' || r->token.kind == '}') && depth == 0) {
            mlt_flow_read_next(r);
            break;
        }
    }
    r->muted = muted;
}
