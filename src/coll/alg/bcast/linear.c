// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, linear: the root sends to everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void bcast_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span buf = mlt_emit_buffer(&e, "buf", e.n);
    if (rank != shape->root) {
        mlt_emit_recv(&e, buf, shape->root, NONE);
        return;
    }
    for (uint32_t v = 1; v < e.ranks; v++)
        mlt_emit_send(&e, buf, mlt_emit_real(&e, v), NONE);
}

const mlt_coll_alg mlt_bcast_linear = {
    .collective = MLT_COLL_BCAST,
    .name = "linear",
    .help = "the root sends to each: a handful of ranks",
    .emit = bcast_linear_emit,
};
