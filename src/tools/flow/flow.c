// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/flow.h"

static const mlt_command flow_commands[] = {
    {"new", mlt_flow_new_main, .help = "make a folder with a first program"},
    {"check", mlt_flow_check_main, .help = "report what is wrong with a file"},
    {"build", mlt_flow_build_main, .help = "make a program from a file and its modules in C"},
    {"run", mlt_flow_run_main, .help = "build a program and run it, alone or with mpirun"},
    {"draw", mlt_flow_draw_main, .help = "draw a file as SVG, as written or as placed"},
    {"place", mlt_flow_place_main, .help = "show what would run where"},
    {"headers", mlt_flow_headers_main, .help = "write the headers that modules include"},
};

const mlt_commands mlt_flow_commands = {
    .name = "millet flow",
    .usage = "[options] FILE.flow ...",
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
    .count = sizeof flow_commands / sizeof *flow_commands,
};
