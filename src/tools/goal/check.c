// SPDX-License-Identifier: BSD-3-Clause
// `millet goal check`: what the checker proves, and what it finds.
#include <stdio.h>

#include "judge/check/check.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/result.h"
#include "tools/goal/source.h"
#include "tools/progress.h"

enum { INITIAL_LIMIT = 5 };

typedef struct goal_check_asked {
    mlt_source_options source;
    mlt_result_options result;
    uint64_t window, limit;
    bool buffered, all;
} goal_check_asked;

static int check(const mlt_arg_command *command, const goal_check_asked *a,
                 const mlt_source *source)
{
    mlt_goal_spec spec;
    bool known;
    int code = mlt_result_read(command, &a->result, &a->source, source, &spec, &known);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_progress progress;
    mlt_goal_check_options options = {.is = known ? &spec : NULL,
                                      .assume_buffered = a->buffered,
                                      .window = (uint32_t)a->window,
                                      .limit = a->all ? 0 : (uint32_t)a->limit,
                                      .progress = mlt_progress_step,
                                      .user = &progress};
    mlt_progress_begin(&progress, "checking");
    mlt_goal_verdict *verdict = mlt_goal_check(source->program, &options);
    mlt_progress_end(&progress);
    mlt_goal_verdict_print(verdict, stdout);
    code = mlt_goal_verdict_ok(verdict) ? MLT_EXIT_FINE : MLT_EXIT_FOUND;
    mlt_goal_verdict_free(verdict);
    return code;
}

int mlt_goal_check_main(int argc, char **argv)
{
    goal_check_asked a = {.limit = INITIAL_LIMIT};
    mlt_arg from[MLT_SOURCE_ARGS], result[MLT_RESULT_ARGS];
    mlt_source_args(&a.source, from);
    a.source.files_have_op = true;
    mlt_result_args(&a.result, result);
    const mlt_arg args[] = {
        {"buffered", 0, MLT_ARG_FLAG, &a.buffered, NULL,
         .help = "assume that sends are buffered: do not look for deadlocks of synchronous sends"},
        {"window", 0, MLT_ARG_NUMBER, &a.window, "N", .most = UINT32_MAX,
         .help = "also look for deadlocks if at most N actions run at a time"},
        {"limit", 0, MLT_ARG_NUMBER, &a.limit, "N", .least = 1, .most = UINT32_MAX,
         .help = "report at most N findings of each kind (5)"},
        {"all", 0, MLT_ARG_FLAG, &a.all, NULL, .help = "report all findings"},
    };
    const mlt_arg_group groups[] = {
        {NULL, args, sizeof args / sizeof *args},
        {"The result to prove (that of --alg is known)", result, MLT_RESULT_ARGS},
        {"Programs without a file", from, MLT_SOURCE_ARGS},
    };
    const mlt_arg_command command = {
        .name = "millet goal check",
        .words = "FILE",
        .most = 1,
        .purpose =
            "Proves a program for all ranks together: it has no cycles, every send meets a receive "
            "of its size, nothing deadlocks, accesses to the same bytes are ordered and in bounds, "
            "and the result is right. Each finding names actions, ranks and bytes.",
        .groups = groups,
        .count = sizeof groups / sizeof *groups};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source source;
    code = mlt_source_read_one(&command, &a.source, &words, &source);
    if (code == MLT_ARGS_GO)
        code = check(&command, &a, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&words);
    return code;
}
