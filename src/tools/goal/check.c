// SPDX-License-Identifier: BSD-3-Clause
// `millet goal check`: what the checker proves, and what it finds.
#include <stdio.h>

#include "judge/check/check.h"
#include "tools/commands.h"
#include "tools/goal/result.h"
#include "tools/goal/source.h"
#include "tools/progress.h"

static struct {
    uint64_t window, limit;
    bool buffered, all;
} check_asked = {.limit = 5};

static int check_run(const mlt_arg_texts *words)
{
    mlt_source_asked.files_have_op = true;
    const mlt_source *source = mlt_source_read_one(words);
    mlt_progress progress;
    mlt_goal_check_options options = {.is = mlt_result_read(source),
                                      .assume_buffered = check_asked.buffered,
                                      .window = (uint32_t)check_asked.window,
                                      .limit = check_asked.all ? 0 : (uint32_t)check_asked.limit,
                                      .progress = mlt_progress_step,
                                      .user = &progress};
    mlt_progress_begin(&progress, "checking");
    mlt_goal_verdict *verdict = mlt_goal_check(source->program, &options);
    mlt_progress_end(&progress);
    mlt_goal_verdict_print(verdict, stdout);
    return mlt_goal_verdict_ok(verdict) ? MLT_EXIT_FINE : MLT_EXIT_FOUND;
}

static mlt_arg check_args[] = {
    {"buffered", 0, MLT_ARG_FLAG, &check_asked.buffered, NULL,
     .help = "assume that sends are buffered: do not look for deadlocks of synchronous sends"},
    {"window", 0, MLT_ARG_NUMBER, &check_asked.window, "N", .most = UINT32_MAX,
     .help = "also look for deadlocks if at most N actions run at a time"},
    {"limit", 0, MLT_ARG_NUMBER, &check_asked.limit, "N", .least = 1, .most = UINT32_MAX,
     .help = "report at most N findings of each kind (5)"},
    {"all", 0, MLT_ARG_FLAG, &check_asked.all, NULL, .help = "report all findings"},
};

const mlt_command mlt_goal_check_command = {
    .name = "millet goal check",
    .help = "prove a program: messages, deadlocks, races, its result",
    .words = "FILE",
    .most = 1,
    .purpose =
        "Proves a program for all ranks together: it has no cycles, every send meets a receive "
        "of its size, nothing deadlocks, accesses to the same bytes are ordered and in bounds, "
        "and the result is right. Each finding names actions, ranks and bytes.",
    .groups = {{NULL, MLT_ARG_LIST(check_args)},
               {"The result to prove (that of --alg is known)", MLT_ARG_LIST(mlt_result_args)},
               {"Programs without a file", MLT_ARG_LIST(mlt_source_args)}},
    .run = check_run};
