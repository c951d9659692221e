// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/goal.h"

static const mlt_command goal_commands[] = {
    {"check", mlt_goal_check_main,
     .help = "prove a program: messages, deadlocks, races, its result"},
    {"fmt", mlt_goal_fmt_main, .help = "print a program as text, in either dialect"},
    {"asm", mlt_goal_asm_main, .help = "assemble a program into a binary file"},
    {"dis", mlt_goal_dis_main, .help = "print a binary file as text"},
    {"opt", mlt_goal_opt_main, .help = "improve a program by passes"},
    {"run", mlt_goal_run_main, .help = "run a program for real, on ranks of this machine"},
    {"sim", mlt_goal_sim_main,
     .help = "price a program under LogGOPS, for up to millions of ranks"},
    {"draw", mlt_goal_draw_main, .help = "draw a program, or its simulated timeline, as SVG"},
    {"measure", mlt_goal_measure_main, .help = "measure LogGOPS's parameters on this machine"},
    {"gen", mlt_goal_gen_main, .help = "write a program: from an algorithm or a Lua script"},
    {"extrapolate", mlt_goal_extrapolate_main, .help = "write a program of few ranks for many"},
};

const mlt_commands mlt_goal_commands = {
    .name = "millet goal",
    .usage = "[options]",
    .purpose = "Works on collective operations that are programs in GOAL: sends, receives and "
               "local operations with dependencies. A program comes from a file, text or binary, "
               "or from an algorithm: --alg bcast.binomial --ranks 8.",
    .codes = "0: all is well; 1: something was found, or the input is at fault; 2: wrong usage; "
             "70: memory is exhausted",
    .more = "Prove a broadcast, and see what it costs for a thousand ranks:\n\n"
            "  millet goal check --alg bcast.binomial --ranks 8\n"
            "  millet goal sim --alg bcast.binomial --ranks 1000\n\n"
            "Write it as text, draw it, and run it on ranks of this machine:\n\n"
            "  millet goal gen --alg bcast.binomial --ranks 8 -o bcast.goal\n"
            "  millet goal draw bcast.goal -o bcast.svg\n"
            "  millet goal run bcast.goal",
    .all = goal_commands,
    .count = sizeof goal_commands / sizeof *goal_commands,
};
