// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, reduction and broadcast: up a k-nomial tree to rank 0, and down again. `out` is where
// partial results are built on the way up.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe =
        mlt_pipe_of(shape, &mlt_tree_knomial, 0, shape->radix ? shape->radix : 2, false);
    mlt_pipe_allreduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_allreduce_reduce_bcast = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "reduce_bcast",
    .help = "up and down a tree with --radix k (2): the fewest messages, 2(P-1)",
    .in_order = true,
    .in_place = true,
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
