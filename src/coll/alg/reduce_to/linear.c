// SPDX-License-Identifier: BSD-3-Clause
// Reduction from any ranks to any others without a step between: each contributor tells each
// receiver, which combines in the order of ranks. The most messages, but no rank waits for another
// one's work.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/reduce_to.h"

// The first operand comes straight into the result; later ones have memory of their own.
static void reduce_to_linear_combine(const mlt_emit *e, mlt_goal_span in, mlt_goal_span out)
{
    const uint8_t *contributes = e->shape->contributes;
    uint32_t others = 0, first = 0, last = NONE;
    while (!mlt_reduce_to_has(contributes, first))
        first++;
    for (uint32_t r = first + 1; r < e->ranks; r++)
        others += mlt_reduce_to_has(contributes, r) && r != e->rank;
    mlt_goal_span tmp = mlt_emit_memory(e, others * e->n);
    last = first == e->rank ? mlt_emit_copy(e, out, in, NONE) : mlt_emit_recv(e, out, first, NONE);
    for (uint32_t r = first + 1, k = 0; r < e->ranks; r++) {
        if (!mlt_reduce_to_has(contributes, r))
            continue;
        mlt_goal_span operand = in;
        uint32_t recv = NONE;
        if (r != e->rank) {
            operand = mlt_emit_part(tmp, k++ * e->n, e->n);
            recv = mlt_emit_recv(e, operand, r, NONE);
        }
        last = mlt_emit_after(e, mlt_emit_exec(e, out, operand, last), recv);
    }
}

void mlt_alg_reduce_to_linear(const mlt_emit *e)
{
    mlt_goal_span in = {0};
    if (mlt_reduce_to_has(e->shape->contributes, e->rank)) {
        in = mlt_emit_buffer(e, "in", e->n);
        for (uint32_t by = 1; by < e->ranks; by++) {
            uint32_t to = mlt_emit_up(e, e->rank, by);
            if (mlt_reduce_to_has(e->shape->receives, to))
                mlt_emit_send(e, in, to, NONE);
        }
    }
    if (mlt_reduce_to_has(e->shape->receives, e->rank))
        reduce_to_linear_combine(e, in, mlt_emit_buffer(e, "out", e->n));
}
