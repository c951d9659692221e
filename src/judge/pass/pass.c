// SPDX-License-Identifier: BSD-3-Clause
// The table of passes, and running some of them.
#include "judge/pass/pass.h"

#include <stdio.h>
#include <string.h>

#include "judge/pass/pass_int.h"

const mlt_pass mlt_passes[] = {
    {"dead", "remove actions whose effect nobody sees", true, true, mlt_pass_dead},
    {"copies", "receive in place; read the source instead of its copy", true, false,
     mlt_pass_copies},
    {"fuse", "make a receive and the operation on it one action", true, false, mlt_pass_fuse},
    {"segment", "cut large messages into pieces that form a pipeline", false, true,
     mlt_pass_segment},
    {"spread", "order sends so that they end at different ranks (edge colouring)", true, true,
     mlt_pass_spread},
    {"order", "order sends by the time left after them (critical path)", true, true,
     mlt_pass_order},
    {"transitive", "remove dependencies that others imply", true, false, mlt_pass_transitive},
    {"window", "insert no-ops so that a window of actions is enough", false, true, mlt_pass_window},
};
const int mlt_passes_count = sizeof mlt_passes / sizeof mlt_passes[0];

mlt_status mlt_pass_run(const mlt_pass *pass, mlt_goal_program *program,
                        const mlt_pass_options *options, mlt_pass_report *report, char *why,
                        size_t why_size)
{
    *report = (mlt_pass_report){0};
    return pass->run(program, options, report, why, why_size);
}
