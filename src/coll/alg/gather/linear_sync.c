// SPDX-License-Identifier: BSD-3-Clause
// Gather, linear with signals: a rank sends when the root asks for it, and the root asks a few at a
// time, whose blocks then come straight to their place. So long messages do not wait in the root's
// memory, nor on its network, for their turn.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_gather_linear_sync(const mlt_emit *e)
{
    if (e->rank != e->shape->root) {
        mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_bytes(e, e->rank));
        if (in.size)
            mlt_emit_send(e, in, e->shape->root, mlt_emit_await(e, e->shape->root, NONE));
        return;
    }
    mlt_goal_span out;
    uint32_t copy, *recv = mlt_emit_actions(e->ranks), asked = 0,
                   window = mlt_emit_window(e->shape);
    mlt_emit_gathered(e, &out, &copy);
    for (uint32_t v = 1; v < e->ranks; v++) {
        uint32_t from = mlt_emit_real(e, v);
        if (!mlt_emit_bytes(e, from))
            continue;
        uint32_t after = asked >= window ? recv[asked - window] : (uint32_t)NONE;
        recv[asked++] = mlt_emit_recv(e, mlt_emit_blocks(e, out, from, 1), from, after);
        mlt_emit_signal(e, from, after);
    }
    free(recv);
}
