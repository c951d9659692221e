// SPDX-License-Identifier: BSD-3-Clause
// Gather, linear: the root receives from everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void gather_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                               uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    if (rank != shape->root) {
        mlt_goal_span in = mlt_emit_buffer(&e, "in", mlt_emit_bytes(&e, rank));
        mlt_emit_send(&e, in, shape->root, NONE);
        return;
    }
    mlt_goal_span out;
    uint32_t copy;
    mlt_emit_gathered(&e, &out, &copy);
    for (uint32_t v = 1; v < e.ranks; v++) {
        uint32_t from = mlt_emit_real(&e, v);
        mlt_emit_recv(&e, mlt_emit_blocks(&e, out, from, 1), from, NONE);
    }
}

const mlt_coll_alg mlt_gather_linear = {
    .collective = MLT_COLL_GATHER,
    .name = "linear",
    .help = "the root receives from each: long messages",
    .in_place = true,
    .uneven = true,
    .emit = gather_linear_emit,
};
