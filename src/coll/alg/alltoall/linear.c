// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, linear: all messages at once; each rank begins with the next one. Scattered: the same
// with a limited number of messages under way each way.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_alltoall_linear(const mlt_emit *e)
{
    uint32_t window = e->alg->uses_window ? mlt_emit_window(e->shape) : UINT32_MAX;
    uint32_t rank = e->rank;
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_all(e));
    mlt_emit_copy(e, mlt_emit_blocks(e, out, rank, 1), mlt_emit_blocks(e, in, rank, 1), NONE);
    uint32_t *sent = mlt_emit_actions(e->ranks), *got = mlt_emit_actions(e->ranks);
    uint32_t sends = 0, recvs = 0;
    for (uint32_t s = 1; s < e->ranks; s++) {
        uint32_t to = mlt_emit_up(e, rank, s), from = mlt_emit_down(e, rank, s);
        uint32_t recv = mlt_emit_recv(e, mlt_emit_blocks(e, out, from, 1), from,
                                      recvs >= window ? got[recvs - window] : (uint32_t)NONE);
        uint32_t send = mlt_emit_send(e, mlt_emit_blocks(e, in, to, 1), to,
                                      sends >= window ? sent[sends - window] : (uint32_t)NONE);
        if (recv != NONE)
            got[recvs++] = recv;
        if (send != NONE)
            sent[sends++] = send;
    }
    free(sent);
    free(got);
}
