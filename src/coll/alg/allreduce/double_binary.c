// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, double binary tree: every other segment goes up and down either tree; inner ranks of
// one are leaves of the other, so sending and receiving are shared evenly.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_double(shape, 0);
    mlt_pipe_allreduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_allreduce_double_binary = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "double_binary",
    .help = "segments up and down two trees, work shared evenly: long messages, many ranks",
    .in_order = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
