// SPDX-License-Identifier: BSD-3-Clause
// What a program's result should be, as options: --is allreduce --op sumInt32 and the rest. An
// algorithm's result is known without them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "goal/spec.h"
#include "tools/args.h"
#include "tools/goal/source.h"

enum { MLT_RESULT_ARGS = 6 };

typedef struct mlt_result_options {
    int is; // mlt_collective; -1: not given
    const char *in, *out;
    uint64_t size, user; // MLT_NOT_GIVEN: not given
    int commutes;        // 0 no, 1 yes; -1: not given
} mlt_result_options;

void mlt_result_args(mlt_result_options *options, mlt_arg out[MLT_RESULT_ARGS]);

// Fills in *spec and *known: whether there is a result to prove. MLT_ARGS_GO, or a message and the
// exit code.
int mlt_result_read(const mlt_arg_command *command, const mlt_result_options *options,
                    const mlt_source_options *from, const mlt_source *source, mlt_goal_spec *spec,
                    bool *known) MLT_MUST_CHECK;
