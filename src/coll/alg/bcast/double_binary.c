// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, double binary tree: every other segment goes down either tree. As the leaves of one
// pass on in the other, every rank sends about as much as it gets.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_double(shape, shape->root);
    mlt_pipe_bcast(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_bcast_double_binary = {
    .collective = MLT_COLL_BCAST,
    .name = "double_binary",
    .help = "segments down two trees, inner ranks of one are leaves of the other: long messages",
    .uses_segment = true,
    .emit = emit,
};
