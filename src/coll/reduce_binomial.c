// SPDX-License-Identifier: BSD-3-Clause
// Reduction, binomial tree. The order is that of the ranks counted from the root.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_reduce_tree(shape, program, rank, 2);
}

const mlt_coll_alg mlt_reduce_binomial = {
    .collective = MLT_COLL_REDUCE,
    .name = "binomial",
    .help = "binomial tree, ceil(log2 P) rounds: short messages",
    .emit = emit,
};
