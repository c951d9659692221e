// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, chain: each rank passes segments on to the next as they come.
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
            recv = mlt_emit_recv(&e, segment, mlt_emit_real(&e, v - 1), NONE);
        if (v + 1 < e.ranks)
            mlt_emit_send(&e, segment, mlt_emit_real(&e, v + 1), recv);
    }
}

const mlt_coll_alg mlt_bcast_chain = {
    .collective = MLT_COLL_BCAST,
    .name = "chain",
    .help = "pipeline of segments from rank to rank: very long messages, few ranks",
    .uses_segment = true,
    .emit = emit,
};
