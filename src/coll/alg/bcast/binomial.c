// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, binomial tree: Listing 2 of the paper, from any root. In round r each of the
// first 2^r ranks, which have the data, sends it 2^r further on.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

void mlt_alg_bcast_binomial(const mlt_emit *e)
{
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    uint32_t v = mlt_emit_virtual(e), recv = NONE, r = 0;
    if (v) {
        r = 31 - (uint32_t)__builtin_clz(v); // the round in which it comes
        recv = mlt_emit_recv(e, buf, mlt_emit_real(e, v - (1u << r)), NONE);
        r++;
    }
    for (; r < mlt_rounds(e->ranks) && v + (1u << r) < e->ranks; r++)
        mlt_emit_send(e, buf, mlt_emit_real(e, v + (1u << r)), recv);
}
