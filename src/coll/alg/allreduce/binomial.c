// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, reduction and broadcast over a binomial tree in segments, rank 0 on top: the brackets
// do not depend on the count.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_knomial, 0, 2, true);
    mlt_pipe_allreduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_allreduce_binomial = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "binomial",
    .help = "segments up and down a binomial tree: few messages, reproducible",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
