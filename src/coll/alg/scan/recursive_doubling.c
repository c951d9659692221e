// SPDX-License-Identifier: BSD-3-Clause
// Scan, recursive doubling: in round k each tells the rank 2^k further on what it has, the
// reduction over the 2^k ranks up to itself, which that one puts before its own.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

void mlt_alg_scan_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    mlt_goal_span tmp = {0};
    uint32_t rounds = mlt_rounds(rank + 1), last = NONE; // in which something comes
    bool empty = !o.in_place;                            // the result: the first goes there
    if (rounds > empty)
        tmp = mlt_emit_buffer(e, "tmp", (rounds - empty) * e->n);
    if (!rank)
        mlt_operands_copy(e, &o);
    for (uint32_t k = 0; 1u << k < e->ranks; k++) {
        uint32_t step = 1u << k, send = NONE;
        if (step < e->ranks - rank)
            send = mlt_emit_send(e, empty ? o.in : o.out, rank + step, last);
        if (step > rank)
            continue;
        if (empty) {
            last = mlt_emit_exec(e, o.out, o.in, mlt_emit_recv(e, o.out, rank - step, NONE));
            empty = false;
            continue;
        }
        mlt_goal_span at = mlt_emit_next(&tmp, e->n);
        uint32_t recv = mlt_emit_recv(e, at, rank - step, NONE);
        uint32_t exec = mlt_emit_exec_reversed(e, o.out, at, recv);
        mlt_emit_after(e, exec, send != NONE ? send : last);
        last = exec;
    }
}
