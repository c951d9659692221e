// SPDX-License-Identifier: BSD-3-Clause
// Reduction, in-order binary tree, pipelined. The root of the tree is the root itself; the ranks
// below it are one subtree, those above it the other, and a subtree's root is its middle. A rank
// reduces left op own op right, so the order is that of the ranks, whatever the root.
#include "coll/alg/coll_int.h"
#include "coll/alg/pipe.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_pipe pipe = mlt_pipe_of(shape, &mlt_tree_in_order, shape->root, 0, true);
    mlt_pipe_reduce(shape, program, rank, &pipe);
}

const mlt_coll_alg mlt_reduce_in_order_binary = {
    .collective = MLT_COLL_REDUCE,
    .name = "in_order_binary",
    .help = "pipelined binary tree that keeps the order of ranks: operations that do not commute",
    .in_order = true,
    .in_place = true,
    .uses_segment = true,
    .emit = emit,
};
