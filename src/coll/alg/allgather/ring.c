// SPDX-License-Identifier: BSD-3-Clause
// Allgather, ring: P - 1 steps, in each a rank passes on the block that it got in the step before.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_ring(const mlt_emit *e)
{
    mlt_goal_span out;
    uint32_t copy;
    mlt_goal_span in = mlt_emit_gathered(e, &out, &copy);
    mlt_goal_span have = in;
    uint32_t recv = NONE;
    for (uint32_t s = 1; s < e->ranks; s++) {
        mlt_emit_send(e, have, mlt_emit_up(e, e->rank, 1), recv);
        have = mlt_emit_blocks(e, out, mlt_emit_down(e, e->rank, s), 1);
        recv = mlt_emit_recv(e, have, mlt_emit_down(e, e->rank, 1), NONE);
    }
}
