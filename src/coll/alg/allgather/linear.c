// SPDX-License-Identifier: BSD-3-Clause
// Allgather, linear: each sends its block to everybody, beginning with its next.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void allgather_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                                  uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span out;
    uint32_t copy;
    mlt_goal_span in = mlt_emit_gathered(&e, &out, &copy);
    for (uint32_t s = 1; s < e.ranks; s++) {
        uint32_t from = mlt_emit_down(&e, rank, s);
        mlt_emit_recv(&e, mlt_emit_blocks(&e, out, from, 1), from, NONE);
        mlt_emit_send(&e, in, mlt_emit_up(&e, rank, s), NONE);
    }
}

const mlt_coll_alg mlt_allgather_linear = {
    .collective = MLT_COLL_ALLGATHER,
    .name = "linear",
    .help = "each sends to each at once: a handful of ranks",
    .in_place = true,
    .uneven = true,
    .emit = allgather_linear_emit,
};
