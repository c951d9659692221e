// SPDX-License-Identifier: BSD-3-Clause
#include "tools/print.h"

#include <string.h>

#include "tools/goal/sink.h"

void mlt_print_args(mlt_print_options *options, mlt_arg out[MLT_PRINT_ARGS])
{
    *options = (mlt_print_options){.dialect = -1, .exec_ns = -1};
    const mlt_arg lines[MLT_PRINT_ARGS] = {
        {"output", 'o', MLT_ARG_TEXT, &options->out, "OUT",
         .help = "write to OUT (standard output)"},
        {"dialect", 0, MLT_ARG_CHOICE, &options->dialect, "DIALECT", .choices = "paper|loggopsim",
         .help = "language to write: paper or loggopsim (the one that was read)"},
        {"exec", 0, MLT_ARG_REAL, &options->exec_ns, "NS",
         .help = "loggopsim has no exec: write it as a calc of NS a byte (0)"},
    };
    memcpy(out, lines, sizeof lines);
}

// LogGOPSim's files stay in LogGOPSim's words.
static mlt_goal_dialect dialect_of(const mlt_print_options *options, const mlt_source *source)
{
    if (options->dialect >= 0)
        return (mlt_goal_dialect)options->dialect;
    if (source->form == MLT_SOURCE_LOGGOPSIM)
        return MLT_GOAL_LOGGOPSIM;
    return source->form == MLT_SOURCE_TEXT ? source->dialect : MLT_GOAL_PAPER;
}

int mlt_print_program(const mlt_arg_command *command, const mlt_print_options *options,
                      const mlt_source *source)
{
    mlt_goal_dialect dialect = dialect_of(options, source);
    if (options->exec_ns >= 0 && dialect != MLT_GOAL_LOGGOPSIM)
        return mlt_args_wrong(command, "--exec is for --dialect loggopsim; the paper's has exec");
    mlt_sink sink;
    int code = mlt_sink_open(&sink, command, options->out);
    if (code != MLT_ARGS_GO)
        return code;
    // That writing failed is told by the stream, at the end.
    double exec_ns = options->exec_ns >= 0 ? options->exec_ns : 0;
    (void)mlt_goal_print(source->program, dialect, exec_ns, sink.to);
    return mlt_sink_close(&sink, command, true);
}
