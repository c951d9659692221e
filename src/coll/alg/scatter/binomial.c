// SPDX-License-Identifier: BSD-3-Clause
// Scatter, binomial tree.
#include "coll/alg/coll_int.h"
#include "coll/alg/gather_tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_scatter_tree(shape, program, rank, 2);
}

const mlt_coll_alg mlt_scatter_binomial = {
    .collective = MLT_COLL_SCATTER,
    .name = "binomial",
    .help = "binomial tree, ceil(log2 P) rounds: short messages",
    .in_place = true,
    .uneven = true,
    .emit = emit,
};
