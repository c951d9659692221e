// SPDX-License-Identifier: BSD-3-Clause
// Reduction from any ranks to any others: Aspen's algorithm, see reduce_to.h. What is combined
// depends on the load, so the operation must commute; all receivers get the same bits.
#include "coll/alg/alg_int.h"
#include "coll/alg/reduce_to.h"

static void aspen_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_reduce_to_plan plan =
        mlt_reduce_to_plan_new(shape->ranks, shape->contributes, shape->receives, shape->user);
    mlt_reduce_to_plan_emit(&plan, shape, program, rank);
    mlt_reduce_to_plan_free(&plan);
}

const mlt_coll_alg mlt_reduce_to_aspen = {
    .collective = MLT_COLL_REDUCE_TO,
    .name = "aspen",
    .help = "halving, doubling, telling: any contributors and receivers, several at once balanced",
    .refuses = mlt_reduce_to_refuses,
    .emit = aspen_emit,
};
