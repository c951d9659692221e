// SPDX-License-Identifier: BSD-3-Clause
// Commands by their names: `millet goal COMMAND ...`.
#pragma once

#include "tools/args.h"

// Millet's own, one file each. Families: `millet goal` has programs of group operations, read, proven,
// drawn, changed, run and priced; `millet flow` .flow files, checked, drawn, placed, made programs, run;
// `millet names` the name server of a user's programs; `millet paths` the rule books of a running job;
// `millet papers` the experiments that its ideas come from.
extern const mlt_command mlt_info_command, mlt_goal_commands, mlt_flow_commands, mlt_names_commands,
    mlt_papers_command, mlt_paths_commands, mlt_paths_draw_command, mlt_top_command,
    mlt_trace_command, mlt_tune_command, mlt_view_command;
extern const mlt_command mlt_goal_check_command, mlt_goal_fmt_command, mlt_goal_asm_command,
    mlt_goal_dis_command, mlt_goal_opt_command, mlt_goal_run_command, mlt_goal_sim_command,
    mlt_goal_draw_command, mlt_goal_measure_command, mlt_goal_gen_command,
    mlt_goal_extrapolate_command, mlt_goal_table_command;
extern const mlt_command mlt_flow_new_command, mlt_flow_check_command, mlt_flow_build_command,
    mlt_flow_run_command, mlt_flow_draw_command, mlt_flow_place_command, mlt_flow_goal_command,
    mlt_flow_headers_command;

// Runs the command, or the one of the family that argv[1] names, or tells what there is. Returns the
// exit code.
int mlt_command_run(const mlt_command *command, char **argv);

// The family's page in the manual, from SYNOPSIS to the names of its commands in SEE ALSO.
void mlt_command_man(const mlt_command *family);
