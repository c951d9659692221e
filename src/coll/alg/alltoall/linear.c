// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, linear: all messages at once, each rank beginning with its next.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin_alltoall(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", mlt_emit_all(&e));
    mlt_goal_span out = mlt_emit_buffer(&e, "out", mlt_emit_all(&e));
    mlt_emit_copy(&e, mlt_emit_blocks(&e, out, rank, 1), mlt_emit_blocks(&e, in, rank, 1), NONE);
    for (uint32_t s = 1; s < e.ranks; s++) {
        uint32_t to = mlt_emit_up(&e, rank, s), from = mlt_emit_down(&e, rank, s);
        mlt_emit_recv(&e, mlt_emit_blocks(&e, out, from, 1), from, NONE);
        mlt_emit_send(&e, mlt_emit_blocks(&e, in, to, 1), to, NONE);
    }
}

const mlt_coll_alg mlt_alltoall_linear = {
    .collective = MLT_COLL_ALLTOALL,
    .name = "linear",
    .help = "all messages at once: middling messages, few ranks",
    .uneven = true,
    .emit = emit,
};
