// SPDX-License-Identifier: BSD-3-Clause
// The readers' common ground: tokens, errors with their place, labels and buffers of ranks,
// dependencies that wait for a label. For read*.c and their tests only.
//
// A function that returns bool has said why in the reader's `why` if it is false.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/table.h"
#include "goal/program.h"
#include "goal/text/text.h"

enum { // mlt_goal_token.kind; other signs are their own kind: '{', ';'
    MLT_TOKEN_END = 0,
    MLT_TOKEN_WORD = 256,
    MLT_TOKEN_NUMBER,
    MLT_TOKEN_HUGE,   // a number of 2^64 or more
    MLT_TOKEN_BROKEN, // a number with letters after it
    MLT_TOKEN_ARROW,  // ->
    MLT_TOKEN_RANGE,  // ..
};

typedef struct mlt_goal_token {
    int kind;
    uint32_t line;
    bool bytes; // LogGOPSim's: a number with a b after it
    const char *at, *end;
    uint64_t value; // a number's; the first eight letters of a word, the first one lowest
} mlt_goal_token;

// A word that stands for an action or a buffer somewhere. What it stands for on the rank that used
// it last is at hand.
typedef struct mlt_goal_symbol {
    uint64_t letters; // its first eight
    const char *at;   // where it is in the text
    uint32_t length;
    uint32_t name;                      // its place in the program's names; 0: it has none yet
    uint32_t label_rank, label_index;   // 1 + rank, action
    uint32_t buffer_rank, buffer_index; // 1 + rank, buffer
} mlt_goal_symbol;

// Names of one rank, key << 32 | index: only for ranks that have several blocks and more than a few
// names. The table holds those of the first `actions` and `buffers`.
typedef struct mlt_goal_bindings {
    mlt_table table;
    uint32_t actions, buffers;
} mlt_goal_bindings;

typedef struct mlt_goal_pending { // a dependency whose labels were not both known when it was read
    uint32_t rank, action, on;    // symbols
    bool started;
    const char *action_at, *on_at;
} mlt_goal_pending;

typedef struct mlt_goal_reader {
    const char *name, *text, *end;
    mlt_goal_dialect dialect;
    const char *at; // what comes after the token
    uint32_t line;
    mlt_goal_token token; // the next one to be looked at
    const char *before;   // where the one before it ended
    bool comments;        // there were some

    mlt_goal_program *program; // may have more ranks than `ranks`; trimmed at the end
    uint32_t rank;             // the one whose block is being read
    bool first_block;          // and whether that is its first
    uint32_t declared;         // ranks that the text says it has; 0: it does not say
    uint32_t ranks;            // 1 + the greatest rank so far, at least `declared`
    uint32_t most_ranks;
    mlt_goal_symbol *symbols;
    size_t symbols_count, symbols_room;
    uint64_t *symbol_table; // hash << 32 | symbol + 1
    uint32_t symbol_table_size;
    mlt_goal_bindings *bindings; // [bindings_room]
    uint32_t bindings_room;
    mlt_goal_pending *pending;
    size_t pending_count, pending_room;

    char *why;
    size_t why_size;
} mlt_goal_reader;

enum { MLT_GOAL_IMPLIED_RANKS = 1 << 20 }; // ranks that a text may have without saying so

// mlt_goal_read, with another limit than MLT_GOAL_MAX_RANKS: for texts that are not trusted.
mlt_status mlt_goal_read_limited(const char *name, const char *text, size_t length,
                                 uint32_t most_ranks, mlt_goal_program **out,
                                 mlt_goal_dialect *dialect, char *why,
                                 size_t why_size) MLT_MUST_CHECK;

bool mlt_goal_read_paper(mlt_goal_reader *reader);
bool mlt_goal_read_loggopsim(mlt_goal_reader *reader);

// ---- read_lex.c

mlt_goal_dialect mlt_goal_dialect_of(const char *text, const char *end);

// The next token becomes reader->token. With marks: a '#' is a sign, not the beginning of a
// comment. False: a comment without its end.
bool mlt_goal_next(mlt_goal_reader *reader, bool marks);

// The first eight letters of a word as a token has them. With a literal the compiler does it all.
static inline uint64_t mlt_goal_letters(const char *word, size_t length)
{
    uint64_t letters = 0;
#define LETTER(i) letters |= length > (i) ? (uint64_t)(unsigned char)word[i] << 8 * (i) : 0
    LETTER(0), LETTER(1), LETTER(2), LETTER(3), LETTER(4), LETTER(5), LETTER(6), LETTER(7);
#undef LETTER
    return letters;
}

static inline bool mlt_goal_is_word(const mlt_goal_token *token, const char *word)
{
    size_t length = strlen(word);
    return token->kind == MLT_TOKEN_WORD && token->value == mlt_goal_letters(word, length) &&
           (length < 8 ||
            ((size_t)(token->end - token->at) == length && memcmp(token->at, word, length) == 0));
}

bool mlt_goal_is_keyword(mlt_goal_dialect dialect, const char *text, size_t length);

// Says "name:line:column: message", the line and a caret. Always false.
bool mlt_goal_read_fail(mlt_goal_reader *reader, const char *at, const char *format, ...)
    MLT_PRINTF(3, 4) MLT_COLD;
// "here should be WHAT, not 'token'", at the token or, if that is on a later line and no statement
// may begin there, after the one before it. Always false.
bool mlt_goal_read_expected(mlt_goal_reader *reader, const char *what, bool new_line) MLT_COLD;
// The text of a token, short and harmless, for a message. Returns text.
char *mlt_goal_read_quote(const char *at, const char *end, char text[48]);

// ---- read.c: what both parsers do

// The current token is a number of at most `most`; goes on after it.
bool mlt_goal_read_number(mlt_goal_reader *reader, const char *what, uint64_t most,
                          uint64_t *value);
// The same for a rank that exists, or that may come to exist.
bool mlt_goal_read_rank(mlt_goal_reader *reader, const char *what, uint32_t *rank);
// Declares the number of ranks: the token is it.
bool mlt_goal_read_ranks(mlt_goal_reader *reader);
// The symbol that the current token is, if it may be one; goes on after it.
bool mlt_goal_read_symbol(mlt_goal_reader *reader, const char *what, uint32_t *symbol);
uint32_t mlt_goal_symbol_of(mlt_goal_reader *reader, const mlt_goal_token *word);

enum { MLT_GOAL_LABEL, MLT_GOAL_BUFFER };
// Index of the action of that label, or of the buffer, of the reader's rank; MLT_GOAL_NONE: none.
uint32_t mlt_goal_read_find(mlt_goal_reader *reader, int kind, uint32_t symbol);
// Makes the word the label of the action that is added next, whose name it gives.
bool mlt_goal_read_label(mlt_goal_reader *reader, const mlt_goal_token *word, uint32_t *name);
bool mlt_goal_read_buffer(mlt_goal_reader *reader, const mlt_goal_token *word, uint64_t size);
void mlt_goal_read_require(mlt_goal_reader *reader, const mlt_goal_pending *dependency);
// Makes room for the rank and makes it the reader's.
void mlt_goal_read_enter(mlt_goal_reader *reader, uint32_t rank);
