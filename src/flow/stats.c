// SPDX-License-Identifier: BSD-3-Clause
#include "flow/stats.h"

#include "flow/run.h"

void mlt_flow_stats_tell(mlt_flow_program *program)
{
    (void)program;
}
