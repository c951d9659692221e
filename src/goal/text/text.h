// SPDX-License-Identifier: BSD-3-Clause
// GOAL as text: one reader for both dialects, the paper's and LogGOPSim's, told apart by content,
// and a printer that writes either. The grammar is in docs/reference/goal-language.md.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"
#include "goal/program.h"

typedef enum mlt_goal_dialect {
    MLT_GOAL_PAPER,
    MLT_GOAL_LOGGOPSIM,
} mlt_goal_dialect;

// Reads a whole text, which need not end with a NUL. `name` is what errors call it. On an error,
// why has "name:line:column: what is wrong and what would be right", the line itself, and a caret
// under the place, each on its own line; no program. `dialect` may be NULL; a text that could be
// either is the paper's. The caller frees the program.
mlt_status mlt_goal_read(const char *name, const char *text, size_t length, mlt_goal_program **out,
                         mlt_goal_dialect *dialect, char *why, size_t why_size) MLT_MUST_CHECK;

// True if the text has comments, which a program does not keep.
bool mlt_goal_has_comments(const char *text, size_t length);

// Writes the program so that reading it again gives the same one (labels that actions lack are made
// up where a dependency needs them; equal ranks share a block). What a text cannot say: absolute
// addresses, which become plain ones; names that are no identifiers, which become others.
// LogGOPSim's dialect has no memory, so spans become sizes and exec becomes calc of
// exec_ns_per_byte times its bytes. False: writing failed, errno tells.
bool mlt_goal_print(const mlt_goal_program *program, mlt_goal_dialect dialect,
                    double exec_ns_per_byte, FILE *to);

// "sum", "sumInt32", "Int32": what it names of both. False: neither.
bool mlt_goal_function(const char *text, mlt_op *op, mlt_op_type *type) MLT_MUST_CHECK;

// True if actions and buffers may be called so: letters, digits and underscores, a letter first, no
// keyword of the dialect.
bool mlt_goal_is_identifier(mlt_goal_dialect dialect, const char *text, size_t length);

// One action as the paper's dialect writes it, without label and semicolon. Returns text.
char *mlt_goal_print_action(const mlt_goal_program *program, uint32_t rank,
                            const mlt_goal_action *action, char *text, size_t size);
