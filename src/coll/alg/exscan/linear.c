// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan, linear: what comes from the rank before is the result. A rank appends its own and
// passes it on.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

void mlt_alg_exscan_linear(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    uint32_t next = rank + 1;
    if (!rank) {
        if (next < e->ranks)
            mlt_emit_send(e, o.in, next, NONE);
        return;
    }
    if (next == e->ranks) {
        mlt_emit_recv(e, o.out, rank - 1, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", e->n);
    uint32_t copy = mlt_emit_copy(e, tmp, o.in, NONE); // while the message is under way
    uint32_t recv = mlt_emit_recv(e, o.out, rank - 1, o.in_place ? copy : (uint32_t)NONE);
    uint32_t exec = mlt_emit_exec_reversed(e, tmp, o.out, recv);
    if (!o.in_place)
        mlt_emit_after(e, exec, copy);
    mlt_emit_send(e, tmp, next, exec);
}
