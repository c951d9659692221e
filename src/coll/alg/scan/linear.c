// SPDX-License-Identifier: BSD-3-Clause
// Scan, linear: each adds its own to what the rank before has, and passes it on.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

void mlt_alg_scan_linear(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    uint32_t last = NONE;
    if (!rank) {
        mlt_operands_copy(e, &o);
    } else if (o.in_place) {
        mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", e->n);
        last = mlt_emit_exec_reversed(e, o.out, tmp, mlt_emit_recv(e, tmp, rank - 1, NONE));
    } else {
        last = mlt_emit_exec(e, o.out, o.in, mlt_emit_recv(e, o.out, rank - 1, NONE));
    }
    if (rank + 1 < e->ranks)
        mlt_emit_send(e, rank ? o.out : o.in, rank + 1, last);
}
