// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "coll/choose.h"
#include "tools/coll/tune.h"

enum { WHY_BYTES = 1024 };

static int cost(mlt_tune_case *c, const mlt_tune_candidate *candidate, uint64_t bytes,
                const mlt_loggops *machine, double *ns)
{
    char why[WHY_BYTES];
    const char *reason;
    mlt_coll_question q = mlt_tune_question(c, bytes, MLT_REACH_HOST, false);
    mlt_coll_choice choice = {
        .alg = candidate->alg, .segment = candidate->segment, .radix = candidate->radix};
    *ns = -1;
    if (!mlt_coll_suits(candidate->alg, &q, &reason))
        return MLT_ARGS_GO;
    mlt_coll_shape shape = mlt_coll_choice_shape(&q, &choice);
    mlt_goal_program *program;
    mlt_sim_result *result = NULL;
    if (mlt_coll_program(candidate->alg, &shape, NULL, NULL, &program, why, sizeof why) != MLT_OK)
        return mlt_args_failed(c->command, "%s", why);
    mlt_sim_options options = {.machine = *machine};
    mlt_status status = mlt_goal_simulate(program, &options, &result, why, sizeof why);
    if (status == MLT_OK)
        *ns = (double)result->total_ps / 1000;
    mlt_sim_result_free(result);
    mlt_goal_program_free(program);
    return status == MLT_OK
               ? MLT_ARGS_GO
               : mlt_args_failed(c->command, "%s.%s: %s", mlt_collective_names[c->collective],
                                 candidate->alg->name, why);
}

int mlt_tune_simulate(mlt_tune_case *c, const mlt_loggops *machine)
{
    int code = MLT_ARGS_GO;
    for (uint32_t i = 0; i < c->count && code == MLT_ARGS_GO; i++)
        for (uint32_t s = 0; s < c->sizes && code == MLT_ARGS_GO; s++) {
            double part = ((double)i * c->sizes + s) / ((double)c->count * c->sizes);
            mlt_progress_step(c->progress, c->done + c->share * part);
            code = cost(c, &c->candidates[i], c->bytes[s], machine, &c->candidates[i].ns[s]);
        }
    return code;
}
