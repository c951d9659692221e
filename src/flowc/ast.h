// SPDX-License-Identifier: BSD-3-Clause
// A .flow file as it was read: declarations, roots, statements, with the line of each thing. Names
// are not looked up here and numbers are not computed; sema.h does.
// docs/reference/flow-language.md has the grammar.
//
// All memory of a file is one arena: texts and lists stay until mlt_flow_file_free.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "flow/graph/severity.h"

typedef enum mlt_flow_expr_kind {
    MLT_FLOW_NUMBER,
    MLT_FLOW_EXPR_NAME,
    MLT_FLOW_NEGATE,
    MLT_FLOW_ADD,
    MLT_FLOW_SUBTRACT,
    MLT_FLOW_MULTIPLY,
    MLT_FLOW_DIVIDE,
    MLT_FLOW_REMAINDER,
} mlt_flow_expr_kind;

// Of an operator with two operands.
static inline char mlt_flow_sign(mlt_flow_expr_kind kind)
{
    return "+-*/%"[kind - MLT_FLOW_ADD];
}

typedef struct mlt_flow_expr {
    mlt_flow_expr_kind kind;
    int line;
    long number;
    const char *name;
    struct mlt_flow_expr *left, *right; // negate: left
} mlt_flow_expr;

typedef struct mlt_flow_const {
    struct mlt_flow_const *next;
    const char *name;
    int line;
    mlt_flow_expr *value;
} mlt_flow_const;

typedef struct mlt_flow_queue_item {
    struct mlt_flow_queue_item *next;
    const char *name; // "in" or "out": the default one
    bool input, optional;
    bool implied;       // a default one of a module that does not declare it
    const char *type;   // words with one space between; NULL: untyped. Arithmetic types have one
                        // name each: unsigned, long, unsigned long long, _Bool, double _Complex
    mlt_flow_expr *cap; // NULL: none
    int line;
} mlt_flow_queue_item;

typedef struct mlt_flow_declaration {
    struct mlt_flow_declaration *next;
    const char *name;
    int line;
    const char *data; // C text of the data section, as it stands, no braces; NULL: none
    int data_line;    // of its first character
    mlt_flow_queue_item *queues;
    mlt_flow_expr *weight; // NULL: none
} mlt_flow_declaration;

typedef struct mlt_flow_operation {
    struct mlt_flow_operation *next;
    const char *name, *type;
    bool ordered;
    int line;
} mlt_flow_operation;

typedef struct mlt_flow_wire_part {
    struct mlt_flow_wire_part *next;
    const char *name;
    int line;
    mlt_flow_expr *first, *last, *step; // NULL: not written; first alone: one instance
    const char *queue;                  // NULL: the default one
    const char *op;                     // NULL: none
} mlt_flow_wire_part;

typedef enum mlt_flow_joint { MLT_FLOW_BARS, MLT_FLOW_ARROW, MLT_FLOW_EACH } mlt_flow_joint;

typedef struct mlt_flow_stage {
    struct mlt_flow_stage *next;
    mlt_flow_joint joint; // with the one before
    int line;
    mlt_flow_wire_part *parts;
} mlt_flow_stage;

// `port = 7000` or `host = "*"` of an instance.
typedef struct mlt_flow_argument {
    struct mlt_flow_argument *next;
    const char *name;
    int line;
    mlt_flow_expr *value; // NULL: a text
    const char *text;     // without its quotes
} mlt_flow_argument;

typedef enum mlt_flow_statement_kind {
    MLT_FLOW_INSTANCE,
    MLT_FLOW_STATEMENT_WIRE,
    MLT_FLOW_PLACE,
    MLT_FLOW_CONST,
} mlt_flow_statement_kind;

typedef struct mlt_flow_statement {
    struct mlt_flow_statement *next;
    mlt_flow_statement_kind kind;
    int line;
    const char *module, *name;    // instance
    mlt_flow_expr *count;         // instance: of a vector; NULL: none
    mlt_flow_argument *arguments; // instance: its parameters
    mlt_flow_stage *stages;       // wire; place: one stage
    const char *host;             // place; NULL: by number
    mlt_flow_expr *place;         // place: the n-th of the host, or of all; NULL: none
    mlt_flow_const *constant;
} mlt_flow_statement;

typedef struct mlt_flow_root_item {
    struct mlt_flow_root_item *next;
    const char *name;
    int line;
    const char **required; // [required_count]
    int *required_lines;   // [required_count]
    size_t required_count;
    mlt_flow_queue_item *queues; // of a nested one
    mlt_flow_statement *statements;
} mlt_flow_root_item;

typedef struct mlt_flow_file {
    const char *path; // as it was given
    mlt_flow_const *consts;
    const char **includes; // as written, with quotes or brackets
    size_t include_count;
    mlt_flow_operation *operations;
    mlt_flow_declaration *declarations;
    mlt_flow_root_item *roots; // in order; sema.h finds the main one
    struct mlt_flow_arena *arena;
} mlt_flow_file;

// The queues of a module that declares none.
extern mlt_flow_queue_item mlt_flow_default_queues[2];

// A message about a line of a file. They are collected in order; an error ends a stage only if the
// stage cannot go on.
typedef struct mlt_flow_message {
    struct mlt_flow_message *next;
    int line, column; // column 0: none
    bool warning;
    char text[400];
} mlt_flow_message;

typedef struct mlt_flow_messages {
    mlt_flow_message *first, *last;
    size_t errors, warnings;
} mlt_flow_messages;

void mlt_flow_say(mlt_flow_messages *to, int line, int column, mlt_flow_severity severity,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
void mlt_flow_messages_free(mlt_flow_messages *messages);

// Reads a text of `size` bytes (any bytes). Never NULL: what could be read is there even if there
// were errors. After an error, reading goes on at the next `;` or `}`; at most 20 errors are told.
mlt_flow_file *mlt_flow_read(const char *path, const char *text, size_t size,
                             mlt_flow_messages *messages);
void mlt_flow_file_free(mlt_flow_file *file); // NULL is fine
