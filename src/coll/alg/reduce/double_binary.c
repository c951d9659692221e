// SPDX-License-Identifier: BSD-3-Clause
// Reduction, double binary tree: every other segment goes up either tree; inner ranks of one are
// leaves of the other.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_double(shape, shape->root);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_double_binary = {
    .collective = MLT_COLL_REDUCE,
    .name = "double_binary",
    .help = "segments up two trees, inner ranks of one are leaves of the other: long messages",
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
