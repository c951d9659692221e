// SPDX-License-Identifier: BSD-3-Clause
// Reduction, gather: the root receives everything at once, then reduces in the order of ranks. Two
// operands are combined as soon as both are there, however late others are.
#include "coll/alg/alg_int.h"
#include "coll/alg/canonical.h"

static void gather_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, rank == shape->root);
    if (rank != shape->root)
        mlt_emit_send(&e, o.in, shape->root, NONE);
    else if (e.ranks == 1)
        mlt_operands_copy(&e, &o);
    else
        mlt_canonical_gather(&e, &o, false);
}

const mlt_coll_alg mlt_reduce_gather = {
    .collective = MLT_COLL_REDUCE,
    .name = "gather",
    .help = "the root receives all at once, then reduces: a handful of ranks, reproducible",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .emit = gather_emit,
};
