// SPDX-License-Identifier: BSD-3-Clause
// Reduction, pipelined binomial tree: as reduce_binomial.c, in segments.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, 2, true);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_binomial_pipelined = {
    .collective = MLT_COLL_REDUCE,
    .name = "binomial_pipelined",
    .help = "pipeline of segments up a binomial tree: medium messages, reproducible",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
