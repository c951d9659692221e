// SPDX-License-Identifier: BSD-3-Clause
#include "tools/commands.h"

static const mlt_command *const flow_commands[] = {
    &mlt_flow_new_command,  &mlt_flow_check_command,   &mlt_flow_build_command,
    &mlt_flow_run_command,  &mlt_flow_draw_command,    &mlt_flow_place_command,
    &mlt_flow_goal_command, &mlt_flow_headers_command, NULL};

const mlt_command mlt_flow_commands = {
    .name = "millet flow",
    .help = "check, build, run and draw programs of modules and wires",
    .words = "[options] FILE.flow ...",
    .purpose = "Works on flow programs: modules in C that know only their queues, and a .flow file "
               "that says how they are wired.",
    .codes = "0: all is well; 1: the file, a module or the machine is at fault; 2: wrong usage; "
             "70: memory is exhausted; of run: the program's",
    .more = "Make a first program and run it:\n\n"
            "  millet flow new squares\n"
            "  millet flow run squares/squares.flow squares/*.c\n\n"
            "Check a program, see it, and run it as four processes:\n\n"
            "  millet flow check heat.flow\n"
            "  millet flow draw heat.flow -o heat.svg\n"
            "  millet flow run heat.flow heat.c -n 4",
    .all = flow_commands,
};
