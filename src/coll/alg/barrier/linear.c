// SPDX-License-Identifier: BSD-3-Clause
// Barrier, linear: all tell rank 0, which tells all.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_barrier_linear(const mlt_emit *e)
{
    if (e->rank) {
        mlt_emit_signal(e, 0, NONE);
        mlt_emit_await(e, 0, NONE);
        return;
    }
    uint32_t all = e->ranks > 1 ? mlt_emit_nop(e, NONE) : (uint32_t)NONE; // spares P^2 dependencies
    for (uint32_t r = 1; r < e->ranks; r++)
        mlt_emit_after(e, all, mlt_emit_await(e, r, NONE));
    for (uint32_t r = 1; r < e->ranks; r++)
        mlt_emit_signal(e, r, all);
}
