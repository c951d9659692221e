// SPDX-License-Identifier: BSD-3-Clause
// Scatter, linear: the root sends to everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_scatter_linear(const mlt_emit *e)
{
    bool root = e->rank == e->shape->root;
    mlt_goal_span out =
        mlt_emit_buffer_if(e, !root || !e->shape->in_place, "out", mlt_emit_bytes(e, e->rank));
    if (!root) {
        mlt_emit_recv(e, out, e->shape->root, NONE);
        return;
    }
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    if (!e->shape->in_place)
        mlt_emit_copy(e, out, mlt_emit_blocks(e, in, e->rank, 1), NONE);
    for (uint32_t v = 1; v < e->ranks; v++) {
        uint32_t to = mlt_emit_real(e, v);
        mlt_emit_send(e, mlt_emit_blocks(e, in, to, 1), to, NONE);
    }
}
