// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, butterfly: in round k partners at a distance of 2^k exchange the blocks that the
// other one's half is to have: those whose number differs from one's own in bit k. The groups that
// are joined are neighbours, so the order is kept, and no byte is sent twice.
//
// Blocks stay in the order of their numbers' bits reversed; there what is kept in a round is always
// one half of what was kept before:
//
//     P = 8:   0 4 2 6 1 5 3 7    rank 1 keeps    1 5 3 7    then    1 5    then    1
//
// The first round brings them into that order: what is sent is packed, what comes is reduced block
// by block. If P is no power of two, ranks fold (tree.h): the blocks of both have one number.
#include <stdlib.h>

#include "base/memory.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"
#include "coll/alg/tree.h"

typedef struct wing {
    const mlt_emit *e;
    mlt_fold fold;
    uint32_t me, rounds;
    uint64_t *at; // [power + 1] bytes before each place
} wing;

static uint32_t reversed(uint32_t number, uint32_t bits)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < bits; i++)
        result |= (number >> i & 1) << (bits - 1 - i);
    return result;
}

static void wing_init(wing *w, const mlt_emit *e, mlt_fold fold, uint32_t me)
{
    *w = (wing){e, fold, me, mlt_rounds(fold.power), mlt_xcalloc(fold.power + 1ull, sizeof *w->at)};
    w->at[0] = 0;
    for (uint32_t i = 0; i < fold.power; i++)
        w->at[i + 1] =
            w->at[i] +
            mlt_fold_blocks(w->e, w->fold, (mlt_goal_span){0}, reversed(i, w->rounds)).size;
}

// Places [low, high) of memory that begins with place `first`.
static mlt_goal_span places(const wing *w, mlt_goal_span whole, uint32_t first, uint32_t low,
                            uint32_t high)
{
    return mlt_emit_part(whole, w->at[low] - w->at[first], w->at[high] - w->at[low]);
}

// The first round, from memory in the order of ranks that is there after `ready`, into acc, which
// begins with place `low`. Returns the last of its actions; a nop if there are several.
static uint32_t bring_into_order(const wing *w, mlt_goal_span from, uint32_t ready,
                                 mlt_goal_span acc, uint32_t low)
{
    const mlt_emit *e = w->e;
    uint32_t half = w->fold.power / 2, give = low ? 0 : half, partner;
    partner = mlt_fold_rank(w->fold, w->me ^ 1);
    mlt_goal_span pack = mlt_emit_buffer(e, "tmp_pack", w->at[give + half] - w->at[give]);
    uint32_t send = mlt_emit_send(e, pack, partner, NONE);
    uint32_t recv = mlt_emit_recv(e, acc, partner, NONE), last = NONE, join = NONE;
    for (uint32_t i = give; i < give + half; i++)
        mlt_emit_after(e, send,
                       mlt_emit_copy(e, places(w, pack, give, i, i + 1),
                                     mlt_fold_blocks(w->e, w->fold, from, reversed(i, w->rounds)),
                                     ready));
    if (half > 1 && acc.size)
        join = mlt_emit_nop(e, NONE);
    for (uint32_t i = low; i < low + half; i++) {
        mlt_goal_span own = mlt_fold_blocks(w->e, w->fold, from, reversed(i, w->rounds)), to;
        to = places(w, acc, low, i, i + 1);
        last = mlt_emit_after(e, mlt_emit_combine(e, !(w->me & 1), to, own, recv), ready);
        mlt_emit_after(e, join, last);
    }
    return join == NONE ? last : join;
}

// The rounds after the first. Returns the last action.
static uint32_t reduce_scatter_butterfly_halve(const wing *w, mlt_goal_span acc, uint32_t first,
                                               uint32_t last)
{
    const mlt_emit *e = w->e;
    uint32_t low = first, high = first + w->fold.power / 2;
    uint64_t room = 0;
    for (uint32_t k = 1, from = low, to = high; k < w->rounds; k++) {
        uint32_t middle = (from + to) / 2;
        *(w->me >> k & 1 ? &from : &to) = middle;
        room += w->at[to] - w->at[from];
    }
    mlt_goal_span tmp = mlt_emit_memory(e, room);
    for (uint32_t k = 1; k < w->rounds; k++) {
        uint32_t middle = (low + high) / 2, partner = mlt_fold_rank(w->fold, w->me ^ 1u << k);
        bool upper = w->me >> k & 1;
        mlt_goal_span lower_half = places(w, acc, first, low, middle);
        mlt_goal_span upper_half = places(w, acc, first, middle, high);
        mlt_goal_span keep = upper ? upper_half : lower_half;
        mlt_emit_send(e, upper ? lower_half : upper_half, partner, last);
        mlt_goal_span at = mlt_emit_next(&tmp, keep.size);
        uint32_t recv = mlt_emit_recv(e, at, partner, NONE);
        last = mlt_emit_after(e, mlt_emit_combine(e, upper, keep, at, recv), last);
        *(upper ? &low : &high) = middle;
    }
    return last;
}

void mlt_alg_reduce_scatter_butterfly(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_goal_span in, out;
    if (mlt_reduce_scatter_copy_if_alone(e, &in, &out))
        return;
    mlt_goal_span from = in;
    mlt_fold fold = mlt_fold_of(e->ranks);
    uint32_t me = mlt_fold_number(fold, rank), ready = NONE;
    if (me == NONE) {
        mlt_emit_send(e, in, rank + 1, NONE);
        mlt_emit_recv(e, out, rank + 1, NONE);
        return;
    }
    bool two = mlt_fold_is_pair(fold, me);
    if (two) {
        from = mlt_emit_buffer(e, "tmp_both", mlt_emit_all(e));
        ready = mlt_emit_exec(e, from, in, mlt_emit_recv(e, from, rank - 1, NONE));
    }
    wing w;
    wing_init(&w, e, fold, me);
    uint32_t low = me & 1 ? fold.power / 2 : 0, place = reversed(me, w.rounds);
    mlt_goal_span acc = mlt_emit_buffer(e, "tmp_acc", w.at[low + fold.power / 2] - w.at[low]);
    uint32_t last = bring_into_order(&w, from, ready, acc, low);
    last = reduce_scatter_butterfly_halve(&w, acc, low, last);
    mlt_goal_span mine = places(&w, acc, low, place, place + 1);
    uint64_t before = mine.size - out.size; // the folded rank's block
    mlt_emit_copy(e, out, mlt_emit_part(mine, before, out.size), last);
    if (two)
        mlt_emit_send(e, mlt_emit_part(mine, 0, before), rank - 1, last);
    free(w.at);
}
