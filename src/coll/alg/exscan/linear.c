// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan, linear: what comes from the rank before is the result. A rank appends its own and
// passes it on.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

static void exscan_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program,
                               uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    uint32_t next = rank + 1;
    if (!rank) {
        if (next < e.ranks)
            mlt_emit_send(&e, o.in, next, NONE);
        return;
    }
    if (next == e.ranks) {
        mlt_emit_recv(&e, o.out, rank - 1, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", e.n);
    uint32_t copy = mlt_emit_copy(&e, tmp, o.in, NONE); // while the message is under way
    uint32_t recv = mlt_emit_recv(&e, o.out, rank - 1, o.in_place ? copy : (uint32_t)NONE);
    uint32_t exec = mlt_emit_exec_reversed(&e, tmp, o.out, recv);
    if (!o.in_place)
        mlt_emit_after(&e, exec, copy);
    mlt_emit_send(&e, tmp, next, exec);
}

const mlt_coll_alg mlt_exscan_linear = {
    .collective = MLT_COLL_EXSCAN,
    .name = "linear",
    .help = "from rank to rank: the fewest messages, P - 1",
    .in_order = true,
    .in_place = true,
    .emit = exscan_linear_emit,
};
