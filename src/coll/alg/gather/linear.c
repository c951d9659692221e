// SPDX-License-Identifier: BSD-3-Clause
// Gather, linear: the root receives from everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_gather_linear(const mlt_emit *e)
{
    if (e->rank != e->shape->root) {
        mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_bytes(e, e->rank));
        mlt_emit_send(e, in, e->shape->root, NONE);
        return;
    }
    mlt_goal_span out;
    uint32_t copy;
    mlt_emit_gathered(e, &out, &copy);
    for (uint32_t v = 1; v < e->ranks; v++) {
        uint32_t from = mlt_emit_real(e, v);
        mlt_emit_recv(e, mlt_emit_blocks(e, out, from, 1), from, NONE);
    }
}
