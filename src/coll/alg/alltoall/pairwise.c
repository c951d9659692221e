// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, pairwise: P - 1 steps; in step s each sends to the rank s further on and receives from
// the one s further back, and ends that before the next step. So no end point is crowded.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_alltoall_pairwise(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_all(e));
    mlt_emit_copy(e, mlt_emit_blocks(e, out, rank, 1), mlt_emit_blocks(e, in, rank, 1), NONE);
    uint32_t sent = NONE, got = NONE;
    for (uint32_t s = 1; s < e->ranks; s++) {
        uint32_t to = mlt_emit_up(e, rank, s), from = mlt_emit_down(e, rank, s);
        uint32_t recv = mlt_emit_recv(e, mlt_emit_blocks(e, out, from, 1), from, got);
        uint32_t send = mlt_emit_send(e, mlt_emit_blocks(e, in, to, 1), to, got);
        mlt_emit_after(e, recv, sent);
        mlt_emit_after(e, send, sent);
        sent = send == NONE ? sent : send; // what has no bytes is not waited for
        got = recv == NONE ? got : recv;
    }
}
