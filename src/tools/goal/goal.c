// SPDX-License-Identifier: BSD-3-Clause
#include "tools/goal/goal.h"

#include "tools/commands.h"

static const mlt_command commands[] = {
    {"check", mlt_goal_check_main, "prove a program: messages, deadlocks, races, its result"},
    {"fmt", mlt_goal_fmt_main, "print a program as text, in either dialect"},
    {"asm", mlt_goal_asm_main, "assemble a program into a binary file"},
    {"dis", mlt_goal_dis_main, "print a binary file as text"},
    {"opt", mlt_goal_opt_main, "improve a program by passes"},
    {"run", mlt_goal_run_main, "run a program for real, on ranks of this machine"},
    {"sim", mlt_goal_sim_main, "price a program under LogGOPS, for up to millions of ranks"},
    {"draw", mlt_goal_draw_main, "draw a program, or its simulated timeline, as SVG"},
    {"measure", mlt_goal_measure_main, "measure LogGOPS's parameters on this machine"},
    {"gen", mlt_goal_gen_main, "write a program: from an algorithm or a Lua script"},
};

int mlt_goal_main(int argc, char **argv)
{
    static const mlt_commands family = {
        .name = "millet goal",
        .usage = "[options]",
        .purpose =
            "Group operations as programs of send, receive and local work with dependencies.\n"
            "A program is a file, text or binary, or an algorithm: --alg bcast.binomial --ranks "
            "8.\n",
        .codes = "0 fine; 1 something was found, or the input is at fault; 2 wrong usage;\n  70 no "
                 "memory",
        .all = commands,
        .count = sizeof commands / sizeof *commands,
    };
    return mlt_commands_run(&family, argc, argv);
}
