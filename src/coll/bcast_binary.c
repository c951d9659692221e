// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, pipelined binary tree: v passes segments on to 2v+1 and 2v+2 as they come.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span buf = mlt_emit_buffer(&e, "buf", e.n);
    uint32_t v = mlt_emit_virtual(&e);
    for (uint64_t s = 0; s < mlt_emit_segments(&e); s++) {
        mlt_goal_span segment = mlt_emit_segment(&e, buf, s);
        uint32_t recv = NONE;
        if (v)
            recv = mlt_emit_recv(&e, segment, mlt_emit_real(&e, (v - 1) / 2), NONE);
        for (uint32_t child = 2 * v + 1; child <= 2 * v + 2 && child < e.ranks; child++)
            mlt_emit_send(&e, segment, mlt_emit_real(&e, child), recv);
    }
}

const mlt_coll_alg mlt_bcast_binary = {
    .collective = MLT_COLL_BCAST,
    .name = "binary",
    .help = "pipeline of segments down a binary tree: long messages, many ranks",
    .uses_segment = true,
    .emit = emit,
};
