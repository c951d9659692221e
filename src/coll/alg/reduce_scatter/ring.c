// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, ring: block b sets out from rank b+1 and collects until it is at rank b. Two
// blocks of memory are used in turn; the last block comes straight into the result.
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"

void mlt_alg_reduce_scatter_ring(const mlt_emit *e)
{
    mlt_goal_span in, out;
    if (mlt_reduce_scatter_copy_if_alone(e, &in, &out))
        return;
    uint64_t most = e->ranks > 2 ? mlt_emit_largest(e) : 0;
    mlt_goal_span tmp = mlt_emit_buffer_if(e, e->ranks > 2, "tmp", 2 * most);
    uint32_t next = mlt_emit_up(e, e->rank, 1), before = mlt_emit_down(e, e->rank, 1);
    mlt_goal_span have = mlt_emit_blocks(e, in, before, 1);
    uint32_t last = NONE, sent[2] = {NONE, NONE}; // what was sent from each of the two
    for (uint32_t s = 0; s + 1 < e->ranks; s++) {
        uint32_t block = mlt_emit_down(e, before, s + 1);
        bool end = s + 2 == e->ranks;
        mlt_goal_span from = mlt_emit_blocks(e, in, block, 1);
        mlt_goal_span at = end ? out : mlt_emit_part(tmp, s % 2 * most, from.size);
        uint32_t send = mlt_emit_send(e, have, next, last);
        if (s && send != NONE) // what has no bytes leaves the memory as it is
            sent[(s - 1) % 2] = send;
        uint32_t recv = mlt_emit_recv(e, at, before, end ? (uint32_t)NONE : sent[s % 2]);
        last = mlt_emit_exec(e, at, from, recv);
        have = at;
    }
}
