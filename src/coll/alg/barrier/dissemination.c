// SPDX-License-Identifier: BSD-3-Clause
// Barrier, n-way dissemination: in round k each tells the ranks w (n+1)^k further on, w = 1..n,
// once all that it was told before is in. With one way a send waits for the send before it, which
// waited for the receives before that: so two dependencies a round are enough. With more ways a
// no-op stands for what is in.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

static void one_way(const mlt_emit *e)
{
    uint32_t send = NONE, recv = NONE;
    for (uint32_t step = 1; step < e->ranks; step *= 2) {
        uint32_t next = mlt_emit_signal(e, mlt_emit_up(e, e->rank, step), recv);
        if (step > 2)
            mlt_emit_after(e, next, send);
        recv = mlt_emit_await(e, mlt_emit_down(e, e->rank, step), NONE);
        send = next;
    }
}

void mlt_alg_barrier_dissemination(const mlt_emit *e)
{
    if (e->shape->radix < 2) {
        one_way(e);
        return;
    }
    uint32_t in = NONE;
    for (uint64_t step = 1; step < e->ranks; step *= (uint64_t)e->shape->radix + 1) {
        bool more = step * ((uint64_t)e->shape->radix + 1) < e->ranks;
        uint32_t next = more ? mlt_emit_nop(e, in) : (uint32_t)NONE;
        for (uint64_t w = 1; w <= e->shape->radix && w * step < e->ranks; w++) {
            uint32_t far = (uint32_t)(w * step);
            mlt_emit_signal(e, mlt_emit_up(e, e->rank, far), in);
            mlt_emit_after(e, next, mlt_emit_await(e, mlt_emit_down(e, e->rank, far), NONE));
        }
        in = next;
    }
}
