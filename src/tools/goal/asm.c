// SPDX-License-Identifier: BSD-3-Clause
// `millet goal asm`: a program as a binary file, Millet's image of all ranks' schedules or
// LogGOPSim's.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/numbers.h"
#include "goal/sched.h"
#include "goal/text/loggopsim.h"
#include "tools/args.h"
#include "tools/goal/goal.h"
#include "tools/goal/sink.h"
#include "tools/goal/source.h"

enum { ASM_WHY_BYTES = 1024, MILLET = 0, LOGGOPSIM = 1 };

typedef struct asm_asked {
    mlt_source_options source;
    int format;
    uint64_t window;
    double exec_ns;
    const char *out;
} asm_asked;

static void asm_summary(const asm_asked *a, const mlt_source *source, uint64_t bytes)
{
    char ranks[MLT_NUMBER_BYTES], actions[MLT_NUMBER_BYTES], size[MLT_NUMBER_BYTES];
    uint64_t count = 0;
    for (uint32_t r = 0; r < source->program->ranks; r++)
        count += source->program->rank[r].count;
    printf("%s: %s rank%s, %s action%s, %s\n", a->out, mlt_number(ranks, source->program->ranks),
           source->program->ranks == 1 ? "" : "s", mlt_number(actions, count),
           count == 1 ? "" : "s", mlt_bytes(size, bytes));
}

static int assemble(const mlt_arg_command *command, const asm_asked *a, const mlt_source *source)
{
    char why[ASM_WHY_BYTES];
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (a->format == MILLET) {
        mlt_goal_sched_options options = {.window = (uint32_t)a->window,
                                          .plain = mlt_goal_has_wildcards(source->program)};
        if (mlt_goal_image_write(source->program, &options, &bytes, &size, why, sizeof why) !=
            MLT_OK)
            return mlt_args_failed(command, "%s", why);
    }
    mlt_sink sink;
    int code = mlt_sink_open(&sink, command, a->out);
    if (code == MLT_ARGS_GO) {
        if (a->format == MILLET)
            (void)!fwrite(bytes, 1, size, sink.to);
        else
            (void)mlt_goal_loggopsim_write(source->program, a->exec_ns > 0 ? a->exec_ns : 0,
                                           sink.to);
        long end = ftell(sink.to); // -1 for a pipe, which has no summary
        bool file = sink.path != NULL;
        code = mlt_sink_close(&sink, command, true);
        if (code == MLT_EXIT_FINE && file && end >= 0)
            asm_summary(a, source, (uint64_t)end);
    }
    free(bytes);
    return code;
}

static int wrong_combination(const mlt_arg_command *command, const asm_asked *a)
{
    if (!a->out)
        return mlt_args_wrong(command, "it needs -o OUT, the file to write");
    if (strcmp(a->out, "-") == 0 && isatty(STDOUT_FILENO))
        return mlt_args_wrong(command, "a binary file is nothing for a terminal; give -o a name");
    if (a->format == LOGGOPSIM && a->window)
        return mlt_args_wrong(command, "--window is for Millet's format; LogGOPSim's has none");
    if (a->format == MILLET && a->exec_ns >= 0)
        return mlt_args_wrong(command, "--exec is for --format loggopsim; Millet's has exec");
    return MLT_ARGS_GO;
}

int mlt_goal_asm_main(int argc, char **argv)
{
    asm_asked a = {.format = MILLET, .exec_ns = -1};
    mlt_arg from[MLT_SOURCE_ARGS];
    mlt_source_args(&a.source, from);
    const mlt_arg args[] = {
        {"output", 'o', MLT_ARG_TEXT, &a.out, "OUT", .help = "the file to write"},
        {"format", 0, MLT_ARG_CHOICE, &a.format, "FORMAT", .choices = "millet|loggopsim",
         .help = "millet or loggopsim (millet)"},
        {"window", 0, MLT_ARG_NUMBER, &a.window, "N", .most = UINT32_MAX,
         .help = "let schedules look at no more than N actions at a time (no limit)"},
        {"exec", 0, MLT_ARG_REAL, &a.exec_ns, "NS",
         .help = "loggopsim has no exec: write it as a calc of NS a byte (0)"},
    };
    const mlt_arg_group groups[] = {{NULL, args, sizeof args / sizeof *args},
                                    {"Programs without a file", from, MLT_SOURCE_ARGS}};
    const mlt_arg_command command = {
        .name = "millet goal asm",
        .words = "FILE",
        .most = 1,
        .purpose = "Assembles a program: a header with version and checksum, then a schedule for "
                   "each rank in the paper's binary layout. GOAL_Sched_load loads it.",
        .groups = groups,
        .count = 2};
    mlt_arg_texts words = {NULL, 0};
    int code = mlt_args_read(&command, argc, argv, &words, NULL);
    if (code != MLT_ARGS_GO)
        return code;
    mlt_source source = {.program = NULL};
    code = wrong_combination(&command, &a);
    if (code == MLT_ARGS_GO)
        code = mlt_source_read_one(&command, &a.source, &words, &source);
    if (code == MLT_ARGS_GO)
        code = assemble(&command, &a, &source);
    mlt_source_free(&source);
    mlt_arg_texts_free(&a.source.set);
    mlt_arg_texts_free(&words);
    return code;
}
