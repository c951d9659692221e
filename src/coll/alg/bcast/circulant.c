// SPDX-License-Identifier: BSD-3-Clause
// Broadcast over a circulant graph: S segments in S - 1 + ceil(log2 P) rounds, the fewest there can
// be. See circulant.h.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/circulant.h"
#include "coll/alg/emit.h"

void mlt_alg_bcast_circulant(const mlt_emit *e)
{
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    uint64_t blocks = mlt_emit_segments(e);
    uint32_t v = mlt_emit_virtual(e);
    mlt_circulant c = mlt_circulant_of(e->ranks, v);
    if (!c.skip_count || !blocks)
        return;
    uint32_t *got = mlt_emit_actions((uint32_t)blocks);
    for (uint64_t i = 0; i < blocks - 1 + c.skip_count; i++) {
        mlt_circulant_round r = mlt_circulant_at(&c, e->ranks, v, blocks, i);
        if (r.send_block != UINT64_MAX)
            mlt_emit_send(e, mlt_emit_segment(e, buf, r.send_block), mlt_emit_real(e, r.to),
                          got[r.send_block]);
        if (r.recv_block != UINT64_MAX)
            got[r.recv_block] = mlt_emit_recv(e, mlt_emit_segment(e, buf, r.recv_block),
                                              mlt_emit_real(e, r.from), NONE);
    }
    free(got);
}
