// SPDX-License-Identifier: BSD-3-Clause
// Reduction, binomial tree: aligned groups of 2, 4, 8, ... ranks are joined, at the root if it is
// one of them; so the order of ranks is kept, and the brackets are the same whatever the root.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, 2, false);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_binomial = {
    .collective = MLT_COLL_REDUCE,
    .name = "binomial",
    .help = "binomial tree, ceil(log2 P) rounds: short messages",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .emit = emit,
};
