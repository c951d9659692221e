// SPDX-License-Identifier: BSD-3-Clause
// `millet flow`: .flow files, checked, drawn, placed, made programs, run. One file a command; each
// takes argv[0] as its own name and returns the exit code (args.h).
#pragma once

#include "tools/commands.h"

extern const mlt_commands mlt_flow_commands;

int mlt_flow_new_main(int argc, char **argv);
int mlt_flow_check_main(int argc, char **argv);
int mlt_flow_build_main(int argc, char **argv);
int mlt_flow_run_main(int argc, char **argv);
int mlt_flow_headers_main(int argc, char **argv);
int mlt_flow_place_main(int argc, char **argv);
int mlt_flow_draw_main(int argc, char **argv);
