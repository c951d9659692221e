// SPDX-License-Identifier: BSD-3-Clause
// Allgather, Bruck: ceil(log2 P) rounds for any P. Rank r collects blocks r, r+1, ... in a row; in
// round k it gets the next 2^k from the rank 2^k further on. Each lot is copied to its place in
// `out` as it comes.
#include "coll/coll_int.h"
#include "coll/emit.h"

// Blocks [first, first + count) of the row go to out, which may end in between.
static void place(const mlt_emit *e, mlt_goal_span out, mlt_goal_span row, uint32_t first,
                  uint32_t count, uint32_t recv)
{
    uint32_t at = mlt_emit_up(e, e->rank, first), fit = e->ranks - at;
    if (fit > count)
        fit = count;
    mlt_emit_copy(e, mlt_emit_blocks(e, out, at, fit), mlt_emit_blocks(e, row, first, fit), recv);
    mlt_emit_copy(e, mlt_emit_blocks(e, out, 0, count - fit),
                  mlt_emit_blocks(e, row, first + fit, count - fit), recv);
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n);
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.ranks * e.n), row = {0};
    uint32_t got[32], rounds = 0, own = NONE;
    mlt_emit_copy(&e, mlt_emit_blocks(&e, out, rank, 1), in, NONE);
    if (e.ranks > 1)
        row = mlt_emit_buffer(&e, "tmp", e.ranks * e.n);
    if (e.ranks > 2)
        own = mlt_emit_copy(&e, mlt_emit_blocks(&e, row, 0, 1), in, NONE);
    for (uint32_t have = 1; have < e.ranks; have *= 2) {
        uint32_t more = have < e.ranks - have ? have : e.ranks - have;
        uint32_t to = mlt_emit_down(&e, rank, have), from = mlt_emit_up(&e, rank, have);
        if (have == 1)
            mlt_emit_send(&e, in, to, NONE);
        else {
            uint32_t send = mlt_emit_send(&e, mlt_emit_blocks(&e, row, 0, more), to, own);
            for (uint32_t k = 0; k < rounds && 1u << k < more; k++)
                mlt_emit_after(&e, send, got[k]);
        }
        uint32_t recv = mlt_emit_recv(&e, mlt_emit_blocks(&e, row, have, more), from, NONE);
        place(&e, out, row, have, more, recv);
        got[rounds++] = recv;
    }
}

const mlt_coll_alg mlt_allgather_bruck = {
    .collective = MLT_COLL_ALLGATHER,
    .name = "bruck",
    .help = "ceil(log2 P) rounds for any P: short messages",
    .emit = emit,
};
