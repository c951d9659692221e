// SPDX-License-Identifier: BSD-3-Clause
// GOAL's tokens, which dialect a text is in, and errors that show their place.
#include <inttypes.h>
#include <stdio.h>

#include "base/character.h"
#include "base/text.h"
#include "goal/text/read_int.h"

enum { SPACE = 1, LETTER = 2, DIGIT = 4, INSIDE = LETTER | DIGIT };

// clang-format off
static const uint8_t class_of[256] = {
    [' '] = SPACE, ['\t'] = SPACE, ['\n'] = SPACE, ['\v'] = SPACE, ['\f'] = SPACE, ['\r'] = SPACE,
    ['0'] = DIGIT, ['1'] = DIGIT, ['2'] = DIGIT, ['3'] = DIGIT, ['4'] = DIGIT,
    ['5'] = DIGIT, ['6'] = DIGIT, ['7'] = DIGIT, ['8'] = DIGIT, ['9'] = DIGIT,
    ['_'] = 8, // inside a word, but not its beginning
    ['a'] = LETTER, ['b'] = LETTER, ['c'] = LETTER, ['d'] = LETTER, ['e'] = LETTER, ['f'] = LETTER,
    ['g'] = LETTER, ['h'] = LETTER, ['i'] = LETTER, ['j'] = LETTER, ['k'] = LETTER, ['l'] = LETTER,
    ['m'] = LETTER, ['n'] = LETTER, ['o'] = LETTER, ['p'] = LETTER, ['q'] = LETTER, ['r'] = LETTER,
    ['s'] = LETTER, ['t'] = LETTER, ['u'] = LETTER, ['v'] = LETTER, ['w'] = LETTER, ['x'] = LETTER,
    ['y'] = LETTER, ['z'] = LETTER,
    ['A'] = LETTER, ['B'] = LETTER, ['C'] = LETTER, ['D'] = LETTER, ['E'] = LETTER, ['F'] = LETTER,
    ['G'] = LETTER, ['H'] = LETTER, ['I'] = LETTER, ['J'] = LETTER, ['K'] = LETTER, ['L'] = LETTER,
    ['M'] = LETTER, ['N'] = LETTER, ['O'] = LETTER, ['P'] = LETTER, ['Q'] = LETTER, ['R'] = LETTER,
    ['S'] = LETTER, ['T'] = LETTER, ['U'] = LETTER, ['V'] = LETTER, ['W'] = LETTER, ['X'] = LETTER,
    ['Y'] = LETTER, ['Z'] = LETTER,
};
// clang-format on

static inline bool is(char c, int kinds)
{
    return class_of[(unsigned char)c] & kinds;
}

static inline bool read_lex_inside(char c)
{
    return class_of[(unsigned char)c] & (INSIDE | 8);
}

// Words that are no labels and no buffers: what begins a statement or says more about one.
static const char *const paper_words[] = {
    "send", "recv", "exec",  "requ",     "to",   "with", "from", "user", "rank", "ranks", "buffer",
    "tag",  "any",  "irequ", "reversed", "then", "sync", "calc", "nop",  "none", "cpu",   "nic",
};
static const char *const loggopsim_words[] = {
    "send",      "recv", "calc", "rank", "num_ranks", "requires",
    "irequires", "to",   "from", "tag",  "cpu",       "nic",
};

bool mlt_goal_is_keyword(mlt_goal_dialect dialect, const char *text, size_t length)
{
    bool paper = dialect == MLT_GOAL_PAPER;
    const char *const *words = paper ? paper_words : loggopsim_words;
    size_t count = paper ? sizeof paper_words / sizeof *paper_words
                         : sizeof loggopsim_words / sizeof *loggopsim_words;
    for (size_t i = 0; i < count; i++)
        if (words[i][0] == text[0] && strlen(words[i]) == length &&
            memcmp(words[i], text, length) == 0)
            return true;
    return false;
}

bool mlt_goal_is_identifier(mlt_goal_dialect dialect, const char *text, size_t length)
{
    if (!length || !is(text[0], LETTER))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!read_lex_inside(text[i]))
            return false;
    return !mlt_goal_is_keyword(dialect, text, length);
}

bool mlt_goal_function(const char *text, mlt_op *op, mlt_op_type *type)
{
    for (int o = -1; o < MLT_OPS; o++) { // -1: only a type
        size_t n = o < 0 ? 0 : strlen(mlt_op_names[o]);
        int t = 0;
        if (o >= 0 && strncmp(text, mlt_op_names[o], n) != 0)
            continue;
        while (t < MLT_OP_TYPES && strcmp(text + n, mlt_op_type_names[t]) != 0)
            t++;
        if (t == MLT_OP_TYPES && (o < 0 || text[n]))
            continue;
        *op = o < 0 ? *op : (mlt_op)o;
        *type = t == MLT_OP_TYPES ? *type : (mlt_op_type)t;
        return true;
    }
    return false;
}

// ---- comments

static const char *skip_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

// Behind the comment that begins at `at`; NULL if it has no end.
static const char *skip_block(const char *at, const char *end)
{
    for (at += 2; at + 1 < end; at++)
        if (at[0] == '*' && at[1] == '/')
            return at + 2;
    return NULL;
}

// ---- tokens

static inline unsigned digit_of(char c)
{
    return is(c, DIGIT)           ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 16;
}

static inline const char *skip_digits(const char *at, const char *end, unsigned base,
                                      mlt_goal_token *token)
{
    const char *first = at;
    uint64_t value = 0;
    bool huge = false;
    for (unsigned digit; at < end && (digit = digit_of(*at)) < base; at++) {
        huge |= __builtin_mul_overflow(value, base, &value);
        huge |= __builtin_add_overflow(value, digit, &value);
    }
    token->value = value;
    token->kind = at == first ? MLT_TOKEN_BROKEN : huge ? MLT_TOKEN_HUGE : MLT_TOKEN_NUMBER;
    return at;
}

static const char *skip_number(const mlt_goal_reader *reader, mlt_goal_token *token)
{
    const char *at = token->at, *end = reader->end;
    bool paper = reader->dialect == MLT_GOAL_PAPER;
    if (paper && at[0] == '0' && at + 1 < end && (at[1] == 'x' || at[1] == 'X'))
        at = skip_digits(at + 2, end, 16, token);
    else
        at = skip_digits(at, end, 10, token);
    if (!paper && at < end && *at == 'b' && (at + 1 == end || !read_lex_inside(at[1]))) {
        token->bytes = true;
        at++;
    }
    if (at < end && read_lex_inside(*at)) {
        token->kind = MLT_TOKEN_BROKEN;
        while (at < end && read_lex_inside(*at))
            at++;
    }
    return at;
}

// White space and comments. NULL: a comment has no end; *open is where it begins.
static const char *skip_space(mlt_goal_reader *reader, bool marks, const char **open)
{
    const char *at = reader->at, *end = reader->end;
    uint32_t line = reader->line;
    for (; at < end; at++) {
        if (is(*at, SPACE)) {
            line += *at == '\n';
        } else if (*at == '#' && !marks) {
            at = skip_line(at, end) - 1;
            reader->comments = true;
        } else if (*at == '/' && reader->dialect == MLT_GOAL_LOGGOPSIM && at + 1 < end &&
                   (at[1] == '/' || at[1] == '*')) {
            const char *begin = at;
            at = at[1] == '/' ? skip_line(at, end) : skip_block(at, end);
            if (!at) {
                *open = begin;
                return NULL;
            }
            at--;
            reader->comments = true;
            for (const char *c = begin; c <= at; c++)
                line += *c == '\n';
        } else {
            break;
        }
    }
    reader->line = line;
    return at;
}

bool mlt_goal_next(mlt_goal_reader *reader, bool marks)
{
    reader->before = reader->at;
    const char *open = NULL, *at = skip_space(reader, marks, &open), *end = reader->end;
    if (MLT_UNLIKELY(!at))
        return mlt_goal_read_fail(reader, open, "this comment has no end; close it with */");
    mlt_goal_token *token = &reader->token;
    token->at = at;
    token->line = reader->line;
    token->bytes = false;
    if (at == end) {
        token->kind = MLT_TOKEN_END;
        token->at = reader->before; // where something is missing
    } else if (is(*at, LETTER)) {
        uint64_t letters = 0;
        for (unsigned shift = 0; at < end && read_lex_inside(*at); at++, shift += 8)
            letters |= shift < 64 ? (uint64_t)(unsigned char)*at << shift : 0;
        token->kind = MLT_TOKEN_WORD;
        token->value = letters;
    } else if (is(*at, DIGIT)) {
        at = skip_number(reader, token);
    } else if (at + 1 < end && at[0] == '-' && at[1] == '>') {
        token->kind = MLT_TOKEN_ARROW;
        at += 2;
    } else if (at + 1 < end && at[0] == '.' && at[1] == '.') {
        token->kind = MLT_TOKEN_RANGE;
        at += 2;
    } else {
        // NUL is no end of the text: 255 stands for it, as for all that means nothing.
        unsigned char c = (unsigned char)*at++;
        token->kind = c ? c : 255;
        while (c >= 0x80 && at < end && ((unsigned char)*at & 0xc0) == 0x80)
            at++; // all of a letter
    }
    token->end = reader->at = at;
    return true;
}

// ---- which dialect

static bool is_among(const mlt_goal_token *token, const char *const *words)
{
    while (*words && !mlt_goal_is_word(token, *words))
        words++;
    return *words != NULL;
}

mlt_goal_dialect mlt_goal_dialect_of(const char *text, const char *end)
{
    static const char *const papers[] = {"ranks", "buffer", "requ", "irequ", "exec", "nop", NULL};
    static const char *const simulators[] = {"num_ranks", "requires", "irequires", NULL};
    mlt_goal_reader reader = {
        .text = text, .at = text, .end = end, .before = text, .dialect = MLT_GOAL_LOGGOPSIM};
    const mlt_goal_token *token = &reader.token;
    for (bool rank = false; mlt_goal_next(&reader, rank); rank = mlt_goal_is_word(token, "rank")) {
        bool number = token->at < token->end && is(*token->at, DIGIT);
        if ((rank && number) || is_among(token, simulators) ||
            (number && token->end[-1] == 'b' && token->at[1] != 'x'))
            return MLT_GOAL_LOGGOPSIM;
        if (rank || is_among(token, papers) || token->kind == ';' || token->kind == ',' ||
            token->kind == MLT_TOKEN_ARROW || token->kind == MLT_TOKEN_END)
            break;
    }
    return MLT_GOAL_PAPER;
}

// ---- errors

typedef struct sink {
    char *text;
    size_t size, used;
} sink;

static void read_lex_put(sink *s, const char *bytes, size_t count)
{
    if (s->used + count < s->size) {
        memcpy(s->text + s->used, bytes, count);
        s->used += count;
        s->text[s->used] = 0;
    }
}

// Copies characters as they may be shown; at most `most` of them. Where it stopped.
static const char *put_harmless(sink *s, const char *at, const char *end, size_t most)
{
    while (at < end && most--) {
        bool shown;
        size_t length = mlt_character(at, end, &shown);
        if (shown)
            read_lex_put(s, at, length);
        else
            read_lex_put(s, *at == '\t' ? " " : "?", 1);
        at += length;
    }
    return at;
}

char *mlt_goal_read_quote(const char *at, const char *end, char text[48])
{
    sink s = {text, 40, 0};
    text[0] = 0;
    at = put_harmless(&s, at, end, 24);
    s.size = 48;
    if (at < end)
        read_lex_put(&s, "...", 3);
    return text;
}

enum { SHOWN = 100, SHOWN_BEFORE = 60 }; // columns of the line, and of what is left of the place

static void show_line(sink *s, const char *line, const char *line_end, const char *at,
                      size_t column)
{
    size_t skip = column > SHOWN_BEFORE + 4 ? column - SHOWN_BEFORE : 0, shown = skip ? 3 : 0;
    const char *from = line;
    for (size_t i = 0; i < skip; i++) {
        bool unused;
        from += mlt_character(from, at, &unused);
    }
    read_lex_put(s, "\n", 1);
    if (skip)
        read_lex_put(s, "...", 3);
    const char *stop = put_harmless(s, from, line_end, SHOWN);
    if (stop < line_end)
        read_lex_put(s, "...", 3);
    read_lex_put(s, "\n", 1);
    for (size_t i = 0; i < column - skip + shown; i++)
        read_lex_put(s, " ", 1);
    read_lex_put(s, "^", 1);
}

bool mlt_goal_read_fail(mlt_goal_reader *reader, const char *at, const char *format, ...)
{
    char message[512];
    MLT_TEXT_PRINT(message, sizeof message, format);
    const char *line = reader->text, *line_end;
    uint64_t lines = 1;
    for (const char *c; (c = memchr(line, '\n', (size_t)(at - line))); lines++)
        line = c + 1;
    line_end = skip_line(line, reader->end);
    if (line_end > line && line_end[-1] == '\r')
        line_end--;
    if (at > line_end)
        at = line_end;
    size_t column = 0;
    for (const char *c = line; c < at; column++) {
        bool unused;
        c += mlt_character(c, at, &unused);
    }
    if (!reader->why_size)
        return false;
    int n = snprintf(reader->why, reader->why_size, "%s:%" PRIu64 ":%zu: %s", reader->name, lines,
                     column + 1, message);
    if (n < 0 || (size_t)n >= reader->why_size)
        return false;
    sink s = {reader->why, reader->why_size, (size_t)n};
    show_line(&s, line, line_end, at, column);
    return false;
}

bool mlt_goal_read_expected(mlt_goal_reader *reader, const char *what, bool new_line)
{
    const mlt_goal_token *token = &reader->token;
    char quote[48];
    mlt_goal_read_quote(token->at, token->end, quote);
    if (token->kind == MLT_TOKEN_END)
        return mlt_goal_read_fail(reader, reader->before,
                                  "here should be %s, not the end of the text", what);
    if (!new_line && token->at > skip_line(reader->before, reader->end))
        return mlt_goal_read_fail(reader, reader->before,
                                  "here should be %s, not the end of the line", what);
    const char *hint = token->kind == '/' ? "; comments begin with '#'" : "";
    return mlt_goal_read_fail(reader, token->at, "here should be %s, not '%s'%s", what, quote,
                              hint);
}
