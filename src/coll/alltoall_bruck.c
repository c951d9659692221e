// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, Bruck: ceil(log2 P) rounds. The block for the rank i further on travels by the powers
// of two in i: in round k all blocks whose i has bit k go 2^k further in one message.
//
// A block is packed from where it lies: in `in`, or where the round that brought it put it. So
// nothing is unpacked but into `out`.
#include <stdio.h>

#include "coll/coll_int.h"
#include "coll/emit.h"

// A copy that grows while what follows lies side by side on both ends.
typedef struct run {
    mlt_goal_span to, from;
    uint32_t after;
} run;

static uint32_t run_end(const mlt_emit *e, run *r, uint32_t before)
{
    uint32_t copy = mlt_emit_copy(e, r->to, r->from, r->after);
    mlt_emit_after(e, before, copy);
    r->to.size = r->from.size = 0;
    return copy;
}

static void run_add(const mlt_emit *e, run *r, mlt_goal_span to, mlt_goal_span from, uint32_t after,
                    uint32_t before)
{
    if (r->to.size && r->to.buf == to.buf && r->from.buf == from.buf && r->after == after &&
        r->to.at + r->to.size == to.at && r->from.at + r->from.size == from.at) {
        r->to.size += to.size;
        r->from.size += from.size;
        return;
    }
    run_end(e, r, before);
    *r = (run){to, from, after};
}

// Where block i lies after rounds 0..k-1, and what brought it there.
static mlt_goal_span block_at(const mlt_emit *e, mlt_goal_span in, const mlt_goal_span *came,
                              const uint32_t *got, uint32_t i, uint32_t k, uint32_t *after)
{
    uint32_t low = k ? i & ((1u << k) - 1) : 0;
    if (!low) {
        *after = NONE;
        return mlt_emit_blocks(e, in, mlt_emit_up(e, e->rank, i), 1);
    }
    uint32_t last = 31 - (uint32_t)__builtin_clz(low); // the round that brought it
    *after = got[last];
    // Its place among the numbers below it that have this bit.
    uint32_t place = (i >> (last + 1) << last) + (i & ((1u << last) - 1));
    return mlt_emit_blocks(e, came[last], place, 1);
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.ranks * e.n);
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.ranks * e.n);
    mlt_goal_span came[32];
    uint32_t got[32], k = 0, after;
    for (uint32_t step = 1; step < e.ranks; step *= 2, k++) {
        uint32_t full = e.ranks / (2 * step) * step, over = e.ranks % (2 * step);
        uint32_t blocks = full + (over > step ? over - step : 0);
        char name[2][16];
        snprintf(name[0], sizeof name[0], "tmp_send%u", k);
        snprintf(name[1], sizeof name[1], "tmp_recv%u", k);
        mlt_goal_span pack = mlt_emit_buffer(&e, name[0], blocks * e.n);
        came[k] = mlt_emit_buffer(&e, name[1], blocks * e.n);
        uint32_t send = mlt_emit_send(&e, pack, mlt_emit_up(&e, rank, step), NONE), at = 0;
        got[k] = mlt_emit_recv(&e, came[k], mlt_emit_down(&e, rank, step), NONE);
        run r = {0};
        for (uint32_t i = step; i < e.ranks; i = (i + 1) | step, at++) {
            mlt_goal_span from = block_at(&e, in, came, got, i, k, &after);
            run_add(&e, &r, mlt_emit_blocks(&e, pack, at, 1), from, after, send);
        }
        run_end(&e, &r, send);
    }
    // Blocks for me come from the rank i further back: `out` is filled from its end.
    run r = {0};
    for (uint32_t i = e.ranks; i-- > 0;) {
        mlt_goal_span from = block_at(&e, in, came, got, i, k, &after);
        run_add(&e, &r, mlt_emit_blocks(&e, out, mlt_emit_down(&e, rank, i), 1), from, after, NONE);
    }
    run_end(&e, &r, NONE);
}

const mlt_coll_alg mlt_alltoall_bruck = {
    .collective = MLT_COLL_ALLTOALL,
    .name = "bruck",
    .help = "ceil(log2 P) rounds, half of the blocks in each: very short messages",
    .emit = emit,
};
