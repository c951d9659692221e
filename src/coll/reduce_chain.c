// SPDX-License-Identifier: BSD-3-Clause
// Reduction, chain: segments come from the rank behind, are reduced and passed on towards the root.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    uint32_t v = mlt_emit_virtual(&e);
    bool last = v + 1 == e.ranks;
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), acc = in;
    if (!v)
        acc = mlt_emit_buffer(&e, "out", e.n);
    else if (!last)
        acc = mlt_emit_buffer(&e, "tmp", e.n);
    if (e.ranks == 1) {
        mlt_emit_copy(&e, acc, in, NONE);
        return;
    }
    for (uint64_t s = 0; s < mlt_emit_segments(&e); s++) {
        mlt_goal_span segment = mlt_emit_segment(&e, acc, s);
        uint32_t done = NONE;
        if (!last) {
            uint32_t recv = mlt_emit_recv(&e, segment, mlt_emit_real(&e, v + 1), NONE);
            done = mlt_emit_exec_reversed(&e, segment, mlt_emit_segment(&e, in, s), recv);
        }
        if (v)
            mlt_emit_send(&e, segment, mlt_emit_real(&e, v - 1), done);
    }
}

const mlt_coll_alg mlt_reduce_chain = {
    .collective = MLT_COLL_REDUCE,
    .name = "chain",
    .help = "pipeline of segments from rank to rank: very long messages, few ranks",
    .uses_segment = true,
    .emit = emit,
};
