// SPDX-License-Identifier: BSD-3-Clause
// Scatter, linear: the root sends to everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void scatter_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                                uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    bool root = rank == shape->root;
    mlt_goal_span out = {0};
    if (!root || !shape->in_place)
        out = mlt_emit_buffer(&e, "out", mlt_emit_bytes(&e, rank));
    if (!root) {
        mlt_emit_recv(&e, out, shape->root, NONE);
        return;
    }
    mlt_goal_span in = mlt_emit_buffer(&e, "in", mlt_emit_all(&e));
    if (!shape->in_place)
        mlt_emit_copy(&e, out, mlt_emit_blocks(&e, in, rank, 1), NONE);
    for (uint32_t v = 1; v < e.ranks; v++) {
        uint32_t to = mlt_emit_real(&e, v);
        mlt_emit_send(&e, mlt_emit_blocks(&e, in, to, 1), to, NONE);
    }
}

const mlt_coll_alg mlt_scatter_linear = {
    .collective = MLT_COLL_SCATTER,
    .name = "linear",
    .help = "the root sends to each: long messages",
    .in_place = true,
    .uneven = true,
    .emit = scatter_linear_emit,
};
