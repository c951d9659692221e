// SPDX-License-Identifier: BSD-3-Clause
// Reduction, k-nomial tree. The order is that of the ranks counted from the root.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_reduce_tree(shape, program, rank, mlt_tree_radix(shape));
}

const mlt_coll_alg mlt_reduce_knomial = {
    .collective = MLT_COLL_REDUCE,
    .name = "knomial",
    .help = "tree with --radix k (4): short messages where receiving costs less than waiting",
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
