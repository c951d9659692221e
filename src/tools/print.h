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

void mlt_print_args(mlt_print_options *options, mlt_arg out[MLT_PRINT_ARGS]);

// MLT_EXIT_FINE, or a message and the exit code; then no file is left.
int mlt_print_program(const mlt_arg_command *command, const mlt_print_options *options,
                      const mlt_source *source) MLT_MUST_CHECK;
