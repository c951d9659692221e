// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, ring: block b sets out from rank b+1 and collects until it is at rank b. Two
// blocks of memory are used in turn; the last block comes straight into the result.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.ranks * e.n);
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.n), tmp = {0};
    if (e.ranks == 1) {
        mlt_emit_copy(&e, out, in, NONE);
        return;
    }
    if (e.ranks > 2)
        tmp = mlt_emit_buffer(&e, "tmp", 2 * e.n);
    uint32_t next = mlt_emit_up(&e, rank, 1), before = mlt_emit_down(&e, rank, 1);
    mlt_goal_span have = mlt_emit_blocks(&e, in, before, 1);
    uint32_t last = NONE, sent[2] = {NONE, NONE}; // what was sent from each of the two
    for (uint32_t s = 0; s + 1 < e.ranks; s++) {
        uint32_t block = mlt_emit_down(&e, before, s + 1);
        bool end = s + 2 == e.ranks;
        mlt_goal_span at = end ? out : mlt_emit_blocks(&e, tmp, s % 2, 1);
        uint32_t send = mlt_emit_send(&e, have, next, last);
        if (s)
            sent[(s - 1) % 2] = send;
        uint32_t recv = mlt_emit_recv(&e, at, before, end ? (uint32_t)NONE : sent[s % 2]);
        last = mlt_emit_exec(&e, at, mlt_emit_blocks(&e, in, block, 1), recv);
        have = at;
    }
}

const mlt_coll_alg mlt_reduce_scatter_ring = {
    .collective = MLT_COLL_REDUCE_SCATTER,
    .name = "ring",
    .help = "P - 1 steps between neighbours: long messages",
    .emit = emit,
};
