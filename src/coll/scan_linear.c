// SPDX-License-Identifier: BSD-3-Clause
// Scan, linear: each adds its own to what the rank before has, and passes it on.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n);
    uint32_t last = NONE;
    if (rank)
        last = mlt_emit_exec(&e, out, in, mlt_emit_recv(&e, out, rank - 1, NONE));
    else
        mlt_emit_copy(&e, out, in, NONE);
    if (rank + 1 < e.ranks)
        mlt_emit_send(&e, rank ? out : in, rank + 1, last);
}

const mlt_coll_alg mlt_scan_linear = {
    .collective = MLT_COLL_SCAN,
    .name = "linear",
    .help = "from rank to rank: the fewest messages, P - 1",
    .in_order = true,
    .emit = emit,
};
