// SPDX-License-Identifier: BSD-3-Clause
// See lex.h.
#include "flowc/lex.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/character.h"

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

mlt_flow_lexer mlt_flow_lexer_of(const char *text, size_t size)
{
    mlt_flow_lexer lexer = {text, text + size, 1};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        lexer.at += 3; // the mark that some editors begin a file with
    return lexer;
}

static bool two(const mlt_flow_lexer *lexer, char first, char second)
{
    return lexer->end - lexer->at >= 2 && lexer->at[0] == first && lexer->at[1] == second;
}

// Behind a comment of either kind; false: it has no end, and the lexer is there.
static bool skip_comment(mlt_flow_lexer *lexer)
{
    bool block = lexer->at[1] == '*';
    for (lexer->at += 2; lexer->at < lexer->end; lexer->at++) {
        if (block && two(lexer, '*', '/')) {
            lexer->at += 2;
            return true;
        }
        if (*lexer->at == '\n') {
            if (!block)
                return true;
            lexer->line++;
        }
    }
    return !block;
}

static void lex_name(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    while (lexer->at < lexer->end && (is_letter(*lexer->at) || is_digit(*lexer->at)))
        lexer->at++;
    bool longer = lexer->at - token->at > MLT_FLOW_NAME_LONGEST;
    token->kind = longer ? MLT_FLOW_TOKEN_LONG : MLT_FLOW_TOKEN_NAME;
}

static void lex_number(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    const char *at = lexer->at, *end = lexer->end;
    bool hex = end - at > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    const long base = hex ? 16 : 10;
    long value = 0;
    bool huge = false, octal = !hex && at[0] == '0' && end - at > 1 && is_digit(at[1]);
    if (hex)
        at += 2;
    const char *first = at;
    for (; at < end && (hex ? isxdigit((unsigned char)*at) : is_digit(*at)); at++) {
        long digit = is_digit(*at) ? *at - '0' : tolower(*at) - 'a' + 10;
        huge |= value > (LONG_MAX - digit) / base;
        value = huge ? 0 : value * base + digit;
    }
    bool broken = at == first;
    bool fraction = end - at > 1 && at[0] == '.' && is_digit(at[1]);
    if (fraction)
        at++;
    for (; at < end && (is_letter(*at) || is_digit(*at)); at++)
        broken = true;
    lexer->at = at;
    token->number = value;
    token->kind = broken  ? MLT_FLOW_TOKEN_BROKEN
                  : octal ? MLT_FLOW_TOKEN_OCTAL
                  : huge  ? MLT_FLOW_TOKEN_HUGE
                          : MLT_FLOW_TOKEN_NUMBER;
}

static void lex_string(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    for (lexer->at++; lexer->at < lexer->end && *lexer->at != '\n'; lexer->at++)
        if (*lexer->at == '"') {
            lexer->at++;
            token->kind = MLT_FLOW_TOKEN_STRING;
            return;
        }
    token->kind = MLT_FLOW_TOKEN_OPEN_STRING;
    while (lexer->at[-1] == ' ' || lexer->at[-1] == '\r')
        lexer->at--;
    lexer->at -= lexer->at[-1] == ';'; // that was hardly meant to be in it
}

static void lex_mark(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    if (two(lexer, '-', '>') || two(lexer, '=', '>')) {
        token->kind = *lexer->at == '-' ? MLT_FLOW_TOKEN_ARROW : MLT_FLOW_TOKEN_EACH;
        lexer->at += 2;
    } else if (*lexer->at == '|') {
        while (lexer->at < lexer->end && *lexer->at == '|')
            lexer->at++;
        token->kind = lexer->at - token->at == 3 ? MLT_FLOW_TOKEN_BARS : MLT_FLOW_TOKEN_FEW;
    } else if (*lexer->at && strchr(";:,.()[]{}@=+-*/%<>#", *lexer->at)) {
        token->kind = *lexer->at++;
    } else {
        bool shown;
        lexer->at += mlt_character(lexer->at, lexer->end, &shown);
        token->kind = MLT_FLOW_TOKEN_STRAY;
    }
}

void mlt_flow_lex(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    *token = (mlt_flow_token){0};
    while (lexer->at < lexer->end) {
        token->at = lexer->at;
        token->line = lexer->line;
        if (isspace((unsigned char)*lexer->at)) {
            lexer->line += *lexer->at++ == '\n';
        } else if (two(lexer, '/', '/') || two(lexer, '/', '*')) {
            if (!skip_comment(lexer)) {
                token->kind = MLT_FLOW_TOKEN_OPEN_COMMENT;
                token->end = token->at + 2;
                return;
            }
        } else {
            break;
        }
    }
    token->at = lexer->at;
    token->line = lexer->line;
    if (lexer->at == lexer->end)
        token->kind = MLT_FLOW_TOKEN_END;
    else if (is_letter(*lexer->at))
        lex_name(lexer, token);
    else if (is_digit(*lexer->at))
        lex_number(lexer, token);
    else if (*lexer->at == '"')
        lex_string(lexer, token);
    else
        lex_mark(lexer, token);
    token->end = lexer->at;
}

bool mlt_flow_lex_brackets(mlt_flow_lexer *lexer, mlt_flow_token *token)
{
    for (const char *at = lexer->at; at < lexer->end && *at != '\n'; at++)
        if (*at == '>') {
            lexer->at = token->end = at + 1;
            token->kind = MLT_FLOW_TOKEN_STRING;
            return true;
        }
    return false;
}

// Skips what `"` or `'` quotes, at most to the end of its line: an apostrophe in an #error is not a
// quote, and a string has no newline except after a backslash.
static void skip_quoted(mlt_flow_lexer *lexer)
{
    char quote = *lexer->at++;
    for (; lexer->at < lexer->end && *lexer->at != '\n'; lexer->at++) {
        if (*lexer->at == quote) {
            lexer->at++;
            return;
        }
        if (*lexer->at == '\\' && lexer->end - lexer->at > 1) {
            lexer->at++;
            lexer->line += *lexer->at == '\n';
        }
    }
}

const char *mlt_flow_lex_c(mlt_flow_lexer *lexer)
{
    for (size_t depth = 0; lexer->at < lexer->end;) {
        char c = *lexer->at;
        if (c == '"' || c == '\'') {
            skip_quoted(lexer);
            continue;
        }
        if (two(lexer, '/', '/') || two(lexer, '/', '*')) {
            (void)skip_comment(lexer); // without an end: neither has the text
            continue;
        }
        lexer->at++;
        lexer->line += c == '\n';
        if (c == '{')
            depth++;
        else if (c == '}' && depth-- == 0)
            return lexer->at - 1;
    }
    return NULL;
}

bool mlt_flow_token_is(const mlt_flow_token *token, const char *word)
{
    size_t length = strlen(word);
    return token->kind == MLT_FLOW_TOKEN_NAME && (size_t)(token->end - token->at) == length &&
           memcmp(token->at, word, length) == 0;
}
