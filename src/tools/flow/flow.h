// SPDX-License-Identifier: BSD-3-Clause
// `millet flow`: .flow files, checked, drawn, placed, made programs, run. One file a command
// (args.h).
#pragma once

#include "tools/args.h"

extern const mlt_command mlt_flow_commands, mlt_flow_new_command, mlt_flow_check_command,
    mlt_flow_build_command, mlt_flow_run_command, mlt_flow_draw_command, mlt_flow_place_command,
    mlt_flow_headers_command;
