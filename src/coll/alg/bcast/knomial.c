// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, k-nomial tree: flatter than the binomial one, with more children a rank. The largest
// subtree is served first.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe =
        mlt_pipe_of(shape, &mlt_tree_knomial, shape->root, mlt_tree_radix(shape), false);
    mlt_pipe_bcast(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_bcast_knomial = {
    .collective = MLT_COLL_BCAST,
    .name = "knomial",
    .help = "tree with --radix k (4): short messages where sending costs less than waiting",
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
