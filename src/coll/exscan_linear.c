// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan, linear: what comes from the rank before is the result; with one's own behind it,
// it is passed on.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n);
    uint32_t recv = NONE, next = rank + 1;
    if (rank)
        recv = mlt_emit_recv(&e, out, rank - 1, NONE);
    if (next == e.ranks)
        return;
    if (!rank) {
        mlt_emit_send(&e, in, next, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", e.n);
    uint32_t copy = mlt_emit_copy(&e, tmp, in, NONE); // while the message is under way
    uint32_t exec = mlt_emit_exec_reversed(&e, tmp, out, copy);
    mlt_emit_after(&e, exec, recv);
    mlt_emit_send(&e, tmp, next, exec);
}

const mlt_coll_alg mlt_exscan_linear = {
    .collective = MLT_COLL_EXSCAN,
    .name = "linear",
    .help = "from rank to rank: the fewest messages, P - 1",
    .in_order = true,
    .emit = emit,
};
