// SPDX-License-Identifier: BSD-3-Clause
// Allgather, recursive doubling: in round k ranks at a distance of 2^k exchange all they have. A
// send waits for the one before it, which waited for what that one sent: so two dependencies a
// round are enough.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_recursive_doubling(const mlt_emit *e)
{
    mlt_goal_span out;
    uint32_t sent, got = NONE; // at first the copy is what is waited for
    mlt_goal_span in = mlt_emit_gathered(e, &out, &sent);
    for (uint32_t step = 1; step < e->ranks; step *= 2) {
        uint32_t other = e->rank ^ step, mine = e->rank & ~(step - 1), theirs = other & ~(step - 1);
        if (step == 1) // the copy need not be waited for
            mlt_emit_send(e, in, other, NONE);
        else
            sent = mlt_emit_after(
                e, mlt_emit_send(e, mlt_emit_blocks(e, out, mine, step), other, got), sent);
        got = mlt_emit_recv(e, mlt_emit_blocks(e, out, theirs, step), other, NONE);
    }
}

const char *mlt_alg_allgather_recursive_doubling_refuses(const mlt_coll_shape *shape)
{
    return shape->ranks & (shape->ranks - 1)
               ? "the number of ranks must be a power of two; allgather.bruck takes any"
               : NULL;
}
