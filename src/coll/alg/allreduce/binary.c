// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, reduction and broadcast over an in-order binary tree in segments. The middle rank is
// on top.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_in_order, shape->ranks / 2, 0, true);
    mlt_pipe_allreduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_allreduce_binary = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "binary",
    .help = "segments up and down a binary tree: long messages, many ranks",
    .in_order = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
