// SPDX-License-Identifier: BSD-3-Clause
#include "tools/commands.h"

static const mlt_command *const goal_commands[] = {&mlt_goal_check_command,
                                                   &mlt_goal_fmt_command,
                                                   &mlt_goal_asm_command,
                                                   &mlt_goal_dis_command,
                                                   &mlt_goal_opt_command,
                                                   &mlt_goal_run_command,
                                                   &mlt_goal_sim_command,
                                                   &mlt_goal_draw_command,
                                                   &mlt_goal_measure_command,
                                                   &mlt_goal_gen_command,
                                                   &mlt_goal_extrapolate_command,
                                                   &mlt_goal_table_command,
                                                   NULL};

const mlt_command mlt_goal_commands = {
    .name = "millet goal",
    .help = "check, run, simulate and draw collective operations",
    .words = "[options]",
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
};
