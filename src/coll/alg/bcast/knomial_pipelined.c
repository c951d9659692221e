// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, pipelined k-nomial tree: segments are passed on to all children as they come.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), true);
    mlt_pipe_bcast(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_bcast_knomial_pipelined = {
    .collective = MLT_COLL_BCAST,
    .name = "knomial_pipelined",
    .help = "pipeline of segments down a tree with --radix k (4): medium messages",
    .uses_segment = true,
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
