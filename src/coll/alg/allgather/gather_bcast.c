// SPDX-License-Identifier: BSD-3-Clause
// Gather and broadcast: all blocks go to rank 0, which sends all of them to each rank.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_gather_bcast(const mlt_emit *e)
{
    mlt_goal_span in = mlt_emit_buffer_if(e, !e->shape->in_place, "in", mlt_emit_bytes(e, e->rank));
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_all(e));
    mlt_goal_span block = mlt_emit_blocks(e, out, e->rank, 1);
    if (e->rank) {
        uint32_t sent = mlt_emit_send(e, e->shape->in_place ? block : in, 0, NONE);
        mlt_emit_recv(e, out, 0, e->shape->in_place ? sent : (uint32_t)NONE);
        return;
    }
    uint32_t *came = mlt_emit_actions(e->ranks);
    if (!e->shape->in_place)
        came[0] = mlt_emit_copy(e, block, in, NONE);
    for (uint32_t r = 1; r < e->ranks; r++)
        came[r] = mlt_emit_recv(e, mlt_emit_blocks(e, out, r, 1), r, NONE);
    for (uint32_t r = 1; r < e->ranks; r++) {
        uint32_t send = mlt_emit_send(e, out, r, NONE);
        for (uint32_t i = 0; i < e->ranks; i++)
            mlt_emit_after(e, send, came[i]);
    }
    free(came);
}
