// SPDX-License-Identifier: BSD-3-Clause
#include "tools/print.h"

#include "tools/goal/sink.h"

mlt_print_options mlt_print_asked = {.dialect = -1, .exec_ns = -1};
mlt_arg mlt_print_args[MLT_PRINT_ARGS] = {
    {"output", 'o', MLT_ARG_TEXT, &mlt_print_asked.out, "OUT",
     .help = "write to OUT (standard output)"},
    {"dialect", 0, MLT_ARG_CHOICE, &mlt_print_asked.dialect, "DIALECT",
     .choices = "paper|loggopsim",
     .help = "language to write: paper or loggopsim (the one that was read)"},
    {"exec", 0, MLT_ARG_REAL, &mlt_print_asked.exec_ns, "NS",
     .help = "loggopsim has no exec: write it as a calc of NS a byte (0)"},
};

// LogGOPSim's files stay in LogGOPSim's words.
static mlt_goal_dialect dialect_of(const mlt_source *source)
{
    if (mlt_print_asked.dialect >= 0)
        return (mlt_goal_dialect)mlt_print_asked.dialect;
    if (source->form == MLT_SOURCE_LOGGOPSIM)
        return MLT_GOAL_LOGGOPSIM;
    return source->form == MLT_SOURCE_TEXT ? source->dialect : MLT_GOAL_PAPER;
}

void mlt_print_program(const mlt_source *source)
{
    mlt_goal_dialect dialect = dialect_of(source);
    double exec_ns = mlt_print_asked.exec_ns;
    if (exec_ns >= 0 && dialect != MLT_GOAL_LOGGOPSIM)
        mlt_args_wrong("--exec is for --dialect loggopsim; the paper's has exec");
    mlt_sink sink = mlt_sink_open(mlt_print_asked.out);
    // That writing failed is told by the stream, at the end.
    (void)mlt_goal_print(source->program, dialect, exec_ns >= 0 ? exec_ns : 0, sink.to);
    mlt_sink_close(&sink);
}
