// SPDX-License-Identifier: BSD-3-Clause
// Reduction, pipelined k-nomial tree, in the order of ranks, whatever the root.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), true);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_knomial_pipelined = {
    .collective = MLT_COLL_REDUCE,
    .name = "knomial_pipelined",
    .help = "pipeline of segments up a tree with --radix k (4): medium messages",
    .in_order = true,
    .in_place = true,
    .uses_segment = true,
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
