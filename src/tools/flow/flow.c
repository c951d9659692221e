// SPDX-License-Identifier: BSD-3-Clause
#include "tools/flow/flow.h"

#include "tools/commands.h"

static const mlt_command commands[] = {
    {"check", mlt_flow_check_main, "read a file, tell what is wrong with it"},
    {"build", mlt_flow_build_main, "make a program of a file and its modules in C"},
    {"run", mlt_flow_run_main, "build, and run it, alone or with mpirun"},
    {"draw", mlt_flow_draw_main, "draw it as SVG, as written or as placed"},
    {"place", mlt_flow_place_main, "tell what would run where"},
    {"headers", mlt_flow_headers_main, "write the headers that modules include"},
};

int mlt_flow_main(int argc, char **argv)
{
    static const mlt_commands family = {
        .name = "millet flow",
        .usage = "[options] FILE.flow ...",
        .purpose = "Programs whose modules know only their queues; a .flow file says how they are "
                   "wired.\n",
        .codes = "0 fine; 1 the file, a module or the machine is at fault; 2 wrong usage;\n  70 no "
                 "memory; of run: the program's",
        .all = commands,
        .count = sizeof commands / sizeof *commands,
    };
    return mlt_commands_run(&family, argc, argv);
}
