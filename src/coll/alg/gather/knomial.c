// SPDX-License-Identifier: BSD-3-Clause
// Gather, k-nomial tree: fewer levels than the binomial one, more messages at the root.
#include "coll/alg/coll_int.h"
#include "coll/alg/gather_tree.h"
#include "coll/alg/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_gather_tree(shape, program, rank, mlt_tree_radix(shape));
}

const mlt_coll_alg mlt_gather_knomial = {
    .collective = MLT_COLL_GATHER,
    .name = "knomial",
    .help = "k-nomial tree: short messages, many ranks",
    .in_place = true,
    .uneven = true,
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
