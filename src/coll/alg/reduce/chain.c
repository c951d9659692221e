// SPDX-License-Identifier: BSD-3-Clause
// Reduction, chain: segments come from the rank behind, are reduced and passed on towards the root.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_chain, shape->root, 0, true);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_chain = {
    .collective = MLT_COLL_REDUCE,
    .name = "chain",
    .help = "pipeline of segments from rank to rank: very long messages, few ranks",
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
