// SPDX-License-Identifier: BSD-3-Clause
// Barrier, linear: all tell rank 0, which tells all.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void barrier_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                                uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    if (rank) {
        mlt_emit_signal(&e, 0, NONE);
        mlt_emit_await(&e, 0, NONE);
        return;
    }
    uint32_t all = e.ranks > 1 ? mlt_emit_nop(&e, NONE) : (uint32_t)NONE; // spares P^2 dependencies
    for (uint32_t r = 1; r < e.ranks; r++)
        mlt_emit_after(&e, all, mlt_emit_await(&e, r, NONE));
    for (uint32_t r = 1; r < e.ranks; r++)
        mlt_emit_signal(&e, r, all);
}

const mlt_coll_alg mlt_barrier_linear = {
    .collective = MLT_COLL_BARRIER,
    .name = "linear",
    .help = "all tell rank 0, which tells all: a handful of ranks",
    .emit = barrier_linear_emit,
};
