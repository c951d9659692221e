// SPDX-License-Identifier: BSD-3-Clause
// transitive: drops dependencies that others imply.
#include "judge/pass/pass_int.h"

#include <inttypes.h>
#include <stdio.h>

#include "goal/reduce.h"

mlt_status mlt_pass_transitive(mlt_goal_program *program, const mlt_goal_pairs *pairs,
                               const mlt_pass_options *options, mlt_pass_report *report, char *why,
                               size_t why_size)
{
    uint64_t had = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        had += program->rank[r].deps_count;
        report->changed += mlt_goal_reduce(&program->rank[r], false);
    }
    snprintf(report->text, sizeof report->text, "removed %" PRIu64 " of %" PRIu64 " dependencies",
             report->changed, had);
    return MLT_OK;
}
