// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive doubling: in round k ranks at a distance of 2^k exchange what they have.
// Both reduce the lower one's before the upper one's, so all get the same bits, in the order of
// ranks.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n);
    if (e.ranks == 1) {
        mlt_emit_copy(&e, out, in, NONE);
        return;
    }
    mlt_fold fold = mlt_fold_of(e.ranks);
    uint32_t me = mlt_fold_number(fold, rank), rounds = mlt_rounds(fold.power);
    if (me == NONE) {
        mlt_emit_send(&e, in, rank + 1, NONE);
        mlt_emit_recv(&e, out, rank + 1, NONE);
        return;
    }
    mlt_goal_span have = in, tmp = mlt_emit_buffer(&e, "tmp", rounds * e.n);
    uint32_t last = NONE;
    if (mlt_fold_has(fold, me)) {
        uint32_t recv = mlt_emit_recv(&e, out, rank - 1, NONE);
        last = mlt_emit_exec(&e, out, in, recv);
        have = out;
    }
    for (uint32_t k = 0; k < rounds; k++) {
        uint32_t number = me ^ 1u << k, other = mlt_fold_rank(fold, number);
        bool first = have.buf == in.buf; // then what comes goes straight into the result
        mlt_goal_span with = first ? in : mlt_emit_blocks(&e, tmp, k, 1);
        uint32_t recv = mlt_emit_recv(&e, first ? out : with, other, NONE);
        uint32_t send = mlt_emit_send(&e, have, other, last);
        // The result holds the other's in the first round, one's own later.
        bool in_order = (number < me) == first;
        last = (in_order ? mlt_emit_exec : mlt_emit_exec_reversed)(&e, out, with, recv);
        if (!first)
            mlt_emit_after(&e, last, send);
        have = out;
    }
    if (mlt_fold_has(fold, me))
        mlt_emit_send(&e, out, rank - 1, last);
}

const mlt_coll_alg mlt_allreduce_recursive_doubling = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "recursive_doubling",
    .help = "log2 P exchanges of the whole block: short messages",
    .in_order = true,
    .emit = emit,
};
