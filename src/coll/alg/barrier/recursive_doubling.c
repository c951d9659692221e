// SPDX-License-Identifier: BSD-3-Clause
// Barrier, recursive doubling: in round k ranks at a distance of 2^k tell each other. The order is
// kept as in dissemination.c.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

void mlt_alg_barrier_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_fold fold = mlt_fold_of(e->ranks);
    uint32_t me = mlt_fold_number(fold, rank), send = NONE, recv = NONE;
    if (me == NONE) {
        mlt_emit_signal(e, rank + 1, NONE);
        mlt_emit_await(e, rank + 1, NONE);
        return;
    }
    bool folded = mlt_fold_is_pair(fold, me);
    if (folded)
        recv = mlt_emit_await(e, rank - 1, NONE);
    for (uint32_t step = 1; step < fold.power; step *= 2) {
        uint32_t other = mlt_fold_rank(fold, me ^ step);
        uint32_t next = mlt_emit_signal(e, other, recv);
        if (step > 2 || (step > 1 && folded))
            mlt_emit_after(e, next, send);
        recv = mlt_emit_await(e, other, NONE);
        send = next;
    }
    if (folded)
        mlt_emit_after(e, mlt_emit_signal(e, rank - 1, recv), send);
}
