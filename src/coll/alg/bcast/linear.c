// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, linear: the root sends to everybody.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_bcast_linear(const mlt_emit *e)
{
    mlt_goal_span buf = mlt_emit_buffer(e, "buf", e->n);
    if (e->rank != e->shape->root) {
        mlt_emit_recv(e, buf, e->shape->root, NONE);
        return;
    }
    for (uint32_t v = 1; v < e->ranks; v++)
        mlt_emit_send(e, buf, mlt_emit_real(e, v), NONE);
}
