// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, pipelined binary tree: v passes segments on to 2v+1 and 2v+2 as they come.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_binary, shape->root, 0, true);
    mlt_pipe_bcast(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_bcast_binary = {
    .collective = MLT_COLL_BCAST,
    .name = "binary",
    .help = "pipeline of segments down a binary tree: long messages, many ranks",
    .uses_segment = true,
    .emit = emit,
};
