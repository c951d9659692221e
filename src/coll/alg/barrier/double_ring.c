// SPDX-License-Identifier: BSD-3-Clause
// Barrier, double ring: a token goes round from rank 0: when it is back, all are there. It goes
// round once more to tell them.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_barrier_double_ring(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    if (e->ranks == 1)
        return;
    uint32_t next = mlt_emit_up(e, rank, 1), before = mlt_emit_down(e, rank, 1), got = NONE;
    for (int round = 0; round < 2; round++) {
        if (rank)
            got = mlt_emit_await(e, before, NONE);
        if (!round || next) // nobody waits for the end of the second round
            mlt_emit_signal(e, next, got);
        if (!rank && !round)
            got = mlt_emit_await(e, before, NONE);
    }
}
