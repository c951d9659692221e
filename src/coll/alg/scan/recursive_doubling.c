// SPDX-License-Identifier: BSD-3-Clause
// Scan, recursive doubling: in round k each tells the rank 2^k further on what it has, the
// reduction over the 2^k ranks up to itself, which that one puts before its own.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/partial.h"
#include "coll/alg/tree.h"

void mlt_alg_scan_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    mlt_partial p = mlt_partial_begin(e, &o);
    uint32_t rounds =
        mlt_rounds(rank + 1); // in which something comes; the first goes to the result
    p.tmp = mlt_emit_memory(e, rounds > p.empty ? (rounds - p.empty) * e->n : 0);
    if (!rank)
        mlt_operands_copy(e, &o);
    for (uint32_t step = 1; step < e->ranks; step *= 2) {
        uint32_t send = step < e->ranks - rank ? mlt_partial_send(&p, rank + step) : (uint32_t)NONE;
        if (step <= rank)
            mlt_partial_take(&p, rank - step, send);
    }
}
