// SPDX-License-Identifier: BSD-3-Clause
// Barrier, dissemination: in round k each tells the rank 2^k further on, once all that it was told
// before is in. A send waits for the send before it, which waited for the receives before that: so
// two dependencies a round are enough.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    uint32_t send = NONE, recv = NONE;
    for (uint32_t step = 1; step < e.ranks; step *= 2) {
        uint32_t next = mlt_emit_signal(&e, mlt_emit_up(&e, rank, step), recv);
        if (step > 2)
            mlt_emit_after(&e, next, send);
        recv = mlt_emit_await(&e, mlt_emit_down(&e, rank, step), NONE);
        send = next;
    }
}

const mlt_coll_alg mlt_barrier_dissemination = {
    .collective = MLT_COLL_BARRIER,
    .name = "dissemination",
    .help = "ceil(log2 P) rounds, any P",
    .emit = emit,
};
