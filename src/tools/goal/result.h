// SPDX-License-Identifier: BSD-3-Clause
// What a program's result should be, as options: --is allreduce --op sumInt32 and the rest. An
// algorithm's result is known without them.
#pragma once

#include "goal/spec.h"
#include "tools/args.h"
#include "tools/goal/source.h"

enum { MLT_RESULT_ARGS = 6 };
extern mlt_arg mlt_result_args[MLT_RESULT_ARGS];

// The result to prove; NULL: there is none.
const mlt_goal_spec *mlt_result_read(const mlt_source *source);
