// SPDX-License-Identifier: BSD-3-Clause
// Barrier, double ring: a token goes round from rank 0: when it is back, all are there. It goes
// round once more to tell them.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void double_ring_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    if (e.ranks == 1)
        return;
    uint32_t next = mlt_emit_up(&e, rank, 1), before = mlt_emit_down(&e, rank, 1), got = NONE;
    for (int round = 0; round < 2; round++) {
        if (rank)
            got = mlt_emit_await(&e, before, NONE);
        if (!round || next) // nobody waits for the end of the second round
            mlt_emit_signal(&e, next, got);
        if (!rank && !round)
            got = mlt_emit_await(&e, before, NONE);
    }
}

const mlt_coll_alg mlt_barrier_double_ring = {
    .collective = MLT_COLL_BARRIER,
    .name = "double_ring",
    .help = "a token goes round twice: one message at a time, between neighbours only",
    .emit = double_ring_emit,
};
