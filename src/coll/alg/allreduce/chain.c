// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, reduction and broadcast along a chain in segments, rank 0 at its end.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_chain, 0, 0, true);
    mlt_pipe_allreduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_allreduce_chain = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "chain",
    .help = "segments along a chain and back: very long messages, few ranks",
    .in_order = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
