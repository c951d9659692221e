// SPDX-License-Identifier: BSD-3-Clause
// Reduction, linear: the root receives from everybody and reduces from the left, in the order of
// ranks. Two blocks of memory let the next message come while the last is being reduced.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"

void mlt_alg_reduce_linear(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, rank == e->shape->root);
    if (rank != e->shape->root) {
        mlt_emit_send(e, o.in, e->shape->root, NONE);
        return;
    }
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    uint32_t free_after[2] = {NONE, NONE}, slot = 0, last = NONE;
    // In place the ranks before the root are reduced in memory of their own.
    mlt_goal_span acc = o.in_place && rank ? mlt_emit_buffer(e, "tmp_acc", e->n) : o.out;
    mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", 2 * e->n);
    bool empty = !(o.in_place && !rank); // acc
    for (uint32_t r = 0; r < e->ranks; r++) {
        if (r == rank) {
            if (o.in_place && rank)
                last = mlt_emit_exec_reversed(e, o.out, acc, last);
            else if (!empty && !o.in_place)
                last = mlt_emit_exec(e, o.out, o.in, last);
            acc = o.out;
            continue;
        }
        if (empty) { // straight into the result
            last = mlt_emit_recv(e, acc, r, NONE);
            if (!rank)
                last = mlt_emit_exec_reversed(e, acc, o.in, last);
            empty = false;
            continue;
        }
        mlt_goal_span at = mlt_emit_blocks(e, tmp, slot, 1);
        uint32_t recv = mlt_emit_recv(e, at, r, free_after[slot]);
        free_after[slot] = last = mlt_emit_after(e, mlt_emit_exec(e, acc, at, recv), last);
        slot ^= 1;
    }
}
