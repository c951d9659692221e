// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan, recursive doubling: as coll/alg/scan/recursive_doubling.c, with two results. The
// one that is passed on includes the rank's own, `out` does not.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

void mlt_alg_exscan_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    mlt_goal_span in = o.in, out = o.out, with = in;
    uint32_t rounds = mlt_rounds(rank + 1), last = NONE, last_with = NONE;
    bool passes = rank && e->ranks - rank > 2; // on more than `in`
    mlt_goal_span tmp = mlt_emit_buffer_if(e, rounds > 1, "tmp", (rounds - 1) * e->n);
    if (passes)
        with = mlt_emit_buffer(e, "tmp_with", e->n);
    uint32_t copy = passes ? mlt_emit_copy(e, with, in, NONE) : (uint32_t)NONE;
    for (uint32_t k = 0; 1u << k < e->ranks; k++) {
        uint32_t step = 1u << k, send = NONE;
        if (step < e->ranks - rank)
            send = mlt_emit_send(e, k ? with : in, rank + step, last_with);
        if (step > rank)
            continue;
        bool more = 2 * step < e->ranks - rank; // something is passed on after this round
        if (!k) {                               // in place one's own must have gone before
            last = mlt_emit_recv(e, out, rank - step, o.in_place ? send : (uint32_t)NONE);
            if (o.in_place)
                mlt_emit_after(e, last, copy);
            if (more) {
                last_with = mlt_emit_exec_reversed(e, with, out, last);
                if (!o.in_place)
                    mlt_emit_after(e, last_with, copy);
            }
            continue;
        }
        mlt_goal_span at = mlt_emit_blocks(e, tmp, k - 1, 1);
        uint32_t recv = mlt_emit_recv(e, at, rank - step, NONE);
        uint32_t exec = mlt_emit_exec_reversed(e, out, at, recv);
        if (k == 1 && passes) // it read `out` before
            mlt_emit_after(e, exec, last_with);
        else
            mlt_emit_after(e, exec, last);
        last = exec;
        if (more) {
            last_with = mlt_emit_after(e, mlt_emit_exec_reversed(e, with, at, recv), send);
        }
    }
}
