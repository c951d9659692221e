// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, k-nomial tree: flatter than the binomial one, with more children a rank. The largest
// subtree is served first.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span buf = mlt_emit_buffer(&e, "buf", e.n);
    mlt_tree_bcast(&e, mlt_emit_virtual(&e), mlt_tree_radix(shape), buf, NONE);
}

const mlt_coll_alg mlt_bcast_knomial = {
    .collective = MLT_COLL_BCAST,
    .name = "knomial",
    .help = "tree with --radix k (4): short messages where sending costs less than waiting",
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
