// SPDX-License-Identifier: BSD-3-Clause
// Allgather, neighbour exchange: P/2 steps. Ranks 2i and 2i+1 exchange blocks; then each turns to
// its other neighbour, and to and fro, and hands on the pair of blocks that it got last.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_allgather_neighbour_exchange(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_goal_span out;
    uint32_t copy;
    mlt_goal_span in = mlt_emit_gathered(e, &out, &copy);
    if (e->ranks == 1)
        return;
    bool odd = rank % 2;
    uint32_t up = mlt_emit_up(e, rank, 1), down = mlt_emit_down(e, rank, 1);
    uint32_t neighbour[2] = {odd ? down : up, odd ? up : down};
    mlt_emit_send(e, in, neighbour[0], NONE);
    uint32_t got = mlt_emit_recv(e, mlt_emit_blocks(e, out, neighbour[0], 1), neighbour[0], NONE);
    // Pairs begin at even ranks. Those from a side come from ever further that way.
    uint32_t pair = rank - odd, from[2] = {pair, pair};
    for (uint32_t s = 1; s < e->ranks / 2; s++) {
        uint32_t side = s % 2;
        bool downwards = neighbour[side] == down;
        uint32_t send = mlt_emit_send(e, mlt_emit_blocks(e, out, pair, 2), neighbour[side], got);
        if (s == 1)
            mlt_emit_after(e, send, copy);
        pair = from[side] =
            downwards ? mlt_emit_down(e, from[side], 2) : mlt_emit_up(e, from[side], 2);
        got = mlt_emit_recv(e, mlt_emit_blocks(e, out, pair, 2), neighbour[side], NONE);
    }
}

const char *mlt_alg_neighbour_exchange_refuses(const mlt_coll_shape *shape)
{
    return shape->ranks > 1 && shape->ranks % 2
               ? "the number of ranks must be even; allgather.ring takes any"
               : NULL;
}
