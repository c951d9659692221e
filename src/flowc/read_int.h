// SPDX-License-Identifier: BSD-3-Clause
// What the files of the reader share: read.c (a file, declarations), read_root.c (roots and their
// statements), read_expr.c (numbers, types, names), read_say.c (tokens and messages).
//
// A function that returns false has said what is wrong. The loop over statements or items then goes
// on after the next ';' or at the next '}' (mlt_flow_read_recover). Only expressions are recursive,
// and their depth is limited.
#pragma once

#include "flow/graph/arena.h"
#include "flowc/ast.h"
#include "flowc/lex.h"

enum { MLT_FLOW_MOST_ERRORS = 20, MLT_FLOW_DEEPEST = 100, MLT_FLOW_MOST_OPERATORS = 500 };

typedef struct mlt_flow_reader {
    mlt_flow_file *file;
    mlt_flow_messages *messages;
    const char *text;
    mlt_flow_lexer lexer;
    mlt_flow_token token; // the next one, not yet taken
    const char *before;   // end of the one taken last
    int before_line;
    const char *start; // of what is being read: messages quote from here to `before`
    int start_line;
    // Where the next item of a list goes.
    mlt_flow_const **last_const;
    mlt_flow_operation **last_operation;
    mlt_flow_declaration **last_declaration;
    mlt_flow_root_item **last_root;
    mlt_flow_queue_item **last_queue; // of the module or root that is being read
    size_t errors;
    bool muted, over;     // nothing is told for now; nothing more is told
    int depth, operators; // of the expression
} mlt_flow_reader;

// ---- read_say.c

void mlt_flow_read_next(mlt_flow_reader *r);
mlt_flow_token mlt_flow_read_peek(const mlt_flow_reader *r, int ahead); // 1: after r->token
void mlt_flow_read_begin(mlt_flow_reader *r);                           // r->start is here
bool mlt_flow_read_is(const mlt_flow_reader *r, const char *word);
bool mlt_flow_read_accept(mlt_flow_reader *r, int kind);
bool mlt_flow_read_accept_word(mlt_flow_reader *r, const char *word);

// All return false.
bool mlt_flow_read_fail(mlt_flow_reader *r, const mlt_flow_token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "expected ';' after 'Chemical c[16]', found 'Reduce'"
bool mlt_flow_read_expected(mlt_flow_reader *r, const char *what);
// The '}' of what began there is missing.
bool mlt_flow_read_unclosed(mlt_flow_reader *r, const char *what, const char *name, int line);
// ... and "; did you mean 'Module'?"; meant NULL: nothing more
bool mlt_flow_read_misspelt(mlt_flow_reader *r, const char *what, const char *meant);

// The one of these words (up to a NULL) that the next token may mean; NULL: none.
const char *mlt_flow_read_meant(const mlt_flow_reader *r, const char *const *words);
// Takes one of the words. A misspelt one is told, and taken as what it means. NULL: told.
const char *mlt_flow_read_word_of(mlt_flow_reader *r, const char *const *words, const char *what);
bool mlt_flow_read_word(mlt_flow_reader *r, const char *word);
bool mlt_flow_read_kind(mlt_flow_reader *r, int kind, const char *what);
// ';'. One that is missing at the end of a line is told and taken as if it stood there.
bool mlt_flow_read_semicolon(mlt_flow_reader *r);

// Goes on after the next ';', or at the '}' that closes what is being read.
void mlt_flow_read_recover(mlt_flow_reader *r);

// The token as it may be shown. Returns text.
const char *mlt_flow_read_quote(const mlt_flow_token *token, char text[64]);

// ---- read_expr.c

void *mlt_flow_read_take(mlt_flow_reader *r, size_t bytes);
// Room for one more element of an array with that many, in the arena.
void *mlt_flow_read_more(mlt_flow_reader *r, const void *array, size_t count, size_t size);
const char *mlt_flow_read_text(mlt_flow_reader *r, const mlt_flow_token *token);
// A name that is declared here: no word of C or of the language. NULL: told.
const char *mlt_flow_read_name(mlt_flow_reader *r, const char *what);
bool mlt_flow_read_is_c_word(const mlt_flow_token *token);
mlt_flow_expr *mlt_flow_read_expr(mlt_flow_reader *r); // NULL: told
// *type NULL: void, that is untyped.
bool mlt_flow_read_type(mlt_flow_reader *r, const char **type);
mlt_flow_const *mlt_flow_read_const(mlt_flow_reader *r); // at 'const'; NULL: told

// ---- read.c

bool mlt_flow_read_at_queue(const mlt_flow_reader *r); // a heading or a queue begins here
// A heading, or one queue, which is added at r->last_queue.
bool mlt_flow_read_queue(mlt_flow_reader *r);

// ---- read_root.c

void mlt_flow_read_root(mlt_flow_reader *r); // at 'Module'
