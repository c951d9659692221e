// SPDX-License-Identifier: BSD-3-Clause
// The words of a .flow file. The text is any bytes, and no NUL need follow it. The lexer tells
// nothing: what is wrong is a kind of token, and the reader words the message. A lexer is a few
// words of memory: copy it to look ahead.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MLT_FLOW_NAME_LONGEST = 100 };

// A token of one character is that character.
typedef enum mlt_flow_token_kind {
    MLT_FLOW_TOKEN_END,
    MLT_FLOW_TOKEN_NAME = 256,
    MLT_FLOW_TOKEN_NUMBER,
    MLT_FLOW_TOKEN_STRING, // with its quotes
    MLT_FLOW_TOKEN_BARS,   // |||
    MLT_FLOW_TOKEN_ARROW,  // ->
    MLT_FLOW_TOKEN_EACH,   // =>
    MLT_FLOW_TOKEN_FEW,    // | or ||, or four and more
    // What is wrong:
    MLT_FLOW_TOKEN_LONG,         // a name of too many letters
    MLT_FLOW_TOKEN_HUGE,         // a number beyond LONG_MAX
    MLT_FLOW_TOKEN_OCTAL,        // a number that begins with 0
    MLT_FLOW_TOKEN_BROKEN,       // 12ab, 0x, 1.5
    MLT_FLOW_TOKEN_OPEN_STRING,  // ends with its line
    MLT_FLOW_TOKEN_OPEN_COMMENT, // ends with the file
    MLT_FLOW_TOKEN_STRAY,        // a character that means nothing
} mlt_flow_token_kind;

typedef struct mlt_flow_token {
    int kind;
    int line;
    const char *at, *end;
    long number;
} mlt_flow_token;

typedef struct mlt_flow_lexer {
    const char *at, *end;
    int line;
} mlt_flow_lexer;

mlt_flow_lexer mlt_flow_lexer_of(const char *text, size_t size);
void mlt_flow_lex(mlt_flow_lexer *lexer, mlt_flow_token *token);

// After a token '<', as of `<stdio.h>`: the token becomes all of it, as a string. False: there is
// no '>' in this line.
bool mlt_flow_lex_brackets(mlt_flow_lexer *lexer, mlt_flow_token *token);

// After a token '{': reads C text and the '}' that ends it. Braces in comments and quotes do not
// count. Returns where the text ends, which is that '}'. NULL: there is none.
const char *mlt_flow_lex_c(mlt_flow_lexer *lexer);

bool mlt_flow_token_is(const mlt_flow_token *token, const char *word);
