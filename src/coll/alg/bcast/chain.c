// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, chain: each rank passes segments on to the next as they come.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_chain, shape->root, 0, true);
    mlt_pipe_bcast(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_bcast_chain = {
    .collective = MLT_COLL_BCAST,
    .name = "chain",
    .help = "pipeline of segments from rank to rank: very long messages, few ranks",
    .uses_segment = true,
    .emit = emit,
};
