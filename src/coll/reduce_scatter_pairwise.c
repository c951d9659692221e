// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, pairwise: in step s each sends the rank s further on its block, and reduces what
// comes from the one s further back. Two blocks of memory are used in turn.
#include "coll/coll_int.h"
#include "coll/emit.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.ranks * e.n);
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.n), own = mlt_emit_blocks(&e, in, rank, 1);
    if (e.ranks == 1) {
        mlt_emit_copy(&e, out, own, NONE);
        return;
    }
    mlt_goal_span tmp = {0};
    if (e.ranks > 2)
        tmp = mlt_emit_buffer(&e, "tmp", 2 * e.n);
    uint32_t sent = NONE, got = NONE, last = NONE, free_after[2] = {NONE, NONE};
    for (uint32_t s = 1; s < e.ranks; s++) {
        uint32_t to = mlt_emit_up(&e, rank, s), from = mlt_emit_down(&e, rank, s);
        uint32_t send = mlt_emit_send(&e, mlt_emit_blocks(&e, in, to, 1), to, sent);
        mlt_emit_after(&e, send, got);
        mlt_goal_span at = s == 1 ? out : mlt_emit_blocks(&e, tmp, s % 2, 1);
        got = mlt_emit_recv(&e, at, from, free_after[s % 2]);
        uint32_t exec = mlt_emit_exec(&e, out, s == 1 ? own : at, got);
        mlt_emit_after(&e, exec, last);
        if (s > 1)
            free_after[s % 2] = exec;
        last = exec;
        sent = send;
    }
}

const mlt_coll_alg mlt_reduce_scatter_pairwise = {
    .collective = MLT_COLL_REDUCE_SCATTER,
    .name = "pairwise",
    .help = "P - 1 steps, one partner each way at a time: long messages",
    .emit = emit,
};
