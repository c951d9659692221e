// SPDX-License-Identifier: BSD-3-Clause
// Allgather, linear: each sends its block to everybody, beginning with its next.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_linear(const mlt_emit *e)
{
    mlt_goal_span out;
    uint32_t copy;
    mlt_goal_span in = mlt_emit_gathered(e, &out, &copy);
    for (uint32_t s = 1; s < e->ranks; s++) {
        uint32_t from = mlt_emit_down(e, e->rank, s);
        mlt_emit_recv(e, mlt_emit_blocks(e, out, from, 1), from, NONE);
        mlt_emit_send(e, in, mlt_emit_up(e, e->rank, s), NONE);
    }
}
