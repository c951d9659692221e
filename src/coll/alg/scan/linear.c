// SPDX-License-Identifier: BSD-3-Clause
// Scan, linear: each adds its own to what the rank before has, and passes it on.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

static void scan_linear_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    uint32_t last = NONE;
    if (!rank) {
        mlt_operands_copy(&e, &o);
    } else if (o.in_place) {
        mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", e.n);
        last = mlt_emit_exec_reversed(&e, o.out, tmp, mlt_emit_recv(&e, tmp, rank - 1, NONE));
    } else {
        last = mlt_emit_exec(&e, o.out, o.in, mlt_emit_recv(&e, o.out, rank - 1, NONE));
    }
    if (rank + 1 < e.ranks)
        mlt_emit_send(&e, rank ? o.out : o.in, rank + 1, last);
}

const mlt_coll_alg mlt_scan_linear = {
    .collective = MLT_COLL_SCAN,
    .name = "linear",
    .help = "from rank to rank: the fewest messages, P - 1",
    .in_order = true,
    .in_place = true,
    .emit = scan_linear_emit,
};
