// SPDX-License-Identifier: BSD-3-Clause
// A program as text, where and how the user wants it: --dialect, --exec, -o.
#pragma once

#include "tools/args.h"
#include "tools/goal/source.h"

enum { MLT_PRINT_ARGS = 3 };

typedef struct mlt_print_options {
    int dialect;     // mlt_goal_dialect; -1: as the source is
    double exec_ns;  // -1: not given
    const char *out; // NULL: standard output
} mlt_print_options;

extern mlt_print_options mlt_print_asked;
extern mlt_arg mlt_print_args[MLT_PRINT_ARGS];

void mlt_print_program(const mlt_source *source);
