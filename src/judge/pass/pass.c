// SPDX-License-Identifier: BSD-3-Clause
// The table of passes, and running some of them.
#include "judge/pass/pass.h"

#include <stdio.h>

#include "judge/pass/pass_int.h"

const mlt_pass mlt_passes[] = {
    {"dead", "remove actions whose effect nobody sees", true, true, true, true, mlt_pass_dead},
    {"copies", "receive in place; read the source instead of its copy", true, false, false, true,
     mlt_pass_copies},
    {"fuse", "make a receive and the operation on it one action", true, false, false, false,
     mlt_pass_fuse},
    {"segment", "cut large messages into pieces that form a pipeline", false, true, true, false,
     mlt_pass_segment},
    {"spread", "order sends so that they end at different ranks (edge colouring)", true, true, true,
     false, mlt_pass_spread},
    {"order", "order sends by the time left after them (critical path)", true, true, true, false,
     mlt_pass_order},
    {"transitive", "remove dependencies that others imply", true, false, false, false,
     mlt_pass_transitive},
    {"window", "insert no-ops so that a window of actions is enough", false, true, true, false,
     mlt_pass_window},
};
const int mlt_passes_count = sizeof mlt_passes / sizeof mlt_passes[0];

mlt_status mlt_pass_run(const mlt_pass *pass, mlt_goal_program *program,
                        const mlt_pass_options *options, mlt_pass_report *report, char *why,
                        size_t why_size)
{
    mlt_goal_pairs *pairs = NULL;
    *report = (mlt_pass_report){0};
    mlt_status status = mlt_pass_want(program, pass->matched ? &pairs : NULL, why, why_size);
    if (status == MLT_OK && pass->keeps)
        status = mlt_pass_keep_valid(program, options->keep, why, why_size);
    if (status == MLT_OK)
        status = pass->run(program, pairs, options, report, why, why_size);
    mlt_goal_pairs_free(pairs);
    return status;
}
