// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, ring: the block is cut into P pieces; each goes round once and collects, and round
// once more and tells. What comes is received straight into the result and one's own is added to
// it, so no other memory is needed.
#include <stdlib.h>

#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n);
    uint32_t p = e.ranks, last = NONE;
    if (p == 1) {
        mlt_emit_copy(&e, out, in, NONE);
        return;
    }
    uint32_t next = mlt_emit_up(&e, rank, 1), before = mlt_emit_down(&e, rank, 1);
    mlt_goal_span have = mlt_emit_pieces(&e, in, p, rank, rank + 1);
    uint32_t *sent = mlt_emit_actions(p);
    for (uint32_t s = 0; s + 1 < p; s++) {
        uint32_t piece = mlt_emit_down(&e, before, s);
        mlt_goal_span at = mlt_emit_pieces(&e, out, p, piece, piece + 1);
        sent[s] = mlt_emit_send(&e, have, next, last);
        uint32_t recv = mlt_emit_recv(&e, at, before, NONE);
        last = mlt_emit_exec(&e, at, mlt_emit_pieces(&e, in, p, piece, piece + 1), recv);
        have = at;
    }
    for (uint32_t s = 0; s + 1 < p; s++) {
        uint32_t piece = mlt_emit_down(&e, rank, s);
        mlt_emit_send(&e, have, next, last);
        have = mlt_emit_pieces(&e, out, p, piece, piece + 1);
        // The first piece to come back was sent from `in`; the others must have left the result.
        last = mlt_emit_recv(&e, have, before, s ? sent[s] : (uint32_t)NONE);
    }
    free(sent);
}

const mlt_coll_alg mlt_allreduce_ring = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "ring",
    .help = "2(P-1) steps between neighbours, the fewest bytes: long messages, not many ranks",
    .emit = emit,
};
