// SPDX-License-Identifier: BSD-3-Clause
// Allgather, ring: P - 1 steps, in each a rank passes on the block that it got in the step before.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void allgather_ring_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                                uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span out;
    uint32_t copy;
    mlt_goal_span in = mlt_emit_gathered(&e, &out, &copy);
    mlt_goal_span have = in;
    uint32_t recv = NONE;
    for (uint32_t s = 1; s < e.ranks; s++) {
        mlt_emit_send(&e, have, mlt_emit_up(&e, rank, 1), recv);
        have = mlt_emit_blocks(&e, out, mlt_emit_down(&e, rank, s), 1);
        recv = mlt_emit_recv(&e, have, mlt_emit_down(&e, rank, 1), NONE);
    }
}

const mlt_coll_alg mlt_allgather_ring = {
    .collective = MLT_COLL_ALLGATHER,
    .name = "ring",
    .help = "P - 1 steps between neighbours: long messages",
    .in_place = true,
    .uneven = true,
    .emit = allgather_ring_emit,
};
