// SPDX-License-Identifier: BSD-3-Clause
// `millet goal`: programs of group operations, read, proven, drawn, changed, run and priced. One
// file a command (args.h).
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_goal_commands, mlt_goal_check_command, mlt_goal_fmt_command,
    mlt_goal_asm_command, mlt_goal_dis_command, mlt_goal_opt_command, mlt_goal_run_command,
    mlt_goal_sim_command, mlt_goal_draw_command, mlt_goal_measure_command, mlt_goal_gen_command,
    mlt_goal_extrapolate_command;
