// SPDX-License-Identifier: BSD-3-Clause
// `millet goal`: programs of group operations, read, proven, drawn, changed, run and priced. One
// file a command; each takes argv[0] as its own name and returns the exit code (args.h).
#pragma once

#include "tools/commands.h"

extern const mlt_commands mlt_goal_commands;

int mlt_goal_check_main(int argc, char **argv);
int mlt_goal_fmt_main(int argc, char **argv);
int mlt_goal_asm_main(int argc, char **argv);
int mlt_goal_dis_main(int argc, char **argv);
int mlt_goal_opt_main(int argc, char **argv);
int mlt_goal_run_main(int argc, char **argv);
int mlt_goal_sim_main(int argc, char **argv);
int mlt_goal_draw_main(int argc, char **argv);
int mlt_goal_measure_main(int argc, char **argv);
int mlt_goal_gen_main(int argc, char **argv);
int mlt_goal_extrapolate_main(int argc, char **argv);
