// SPDX-License-Identifier: BSD-3-Clause
// Reduction, linear: the root receives from everybody and reduces from the left, in the order of
// ranks. Two blocks of memory let the next message come while the last is being reduced.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n);
    if (rank != shape->root) {
        mlt_emit_send(&e, in, shape->root, NONE);
        return;
    }
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.n);
    if (e.ranks == 1) {
        mlt_emit_copy(&e, out, in, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", 2 * e.n);
    uint32_t first = !rank, free_after[2] = {NONE, NONE}, slot = 0; // the first that is received
    uint32_t last = mlt_emit_recv(&e, out, first, NONE);
    if (!rank)
        last = mlt_emit_exec_reversed(&e, out, in, last);
    for (uint32_t r = first + 1; r < e.ranks; r++) {
        if (r == rank) {
            last = mlt_emit_exec(&e, out, in, last);
            continue;
        }
        mlt_goal_span at = mlt_emit_blocks(&e, tmp, slot, 1);
        uint32_t recv = mlt_emit_recv(&e, at, r, free_after[slot]);
        uint32_t exec = mlt_emit_exec(&e, out, at, recv);
        mlt_emit_after(&e, exec, last);
        free_after[slot] = last = exec;
        slot ^= 1;
    }
}

const mlt_coll_alg mlt_reduce_linear = {
    .collective = MLT_COLL_REDUCE,
    .name = "linear",
    .help = "the root receives from each, in order: a handful of ranks",
    .in_order = true,
    .emit = emit,
};
