// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/halving.h"

mlt_halving mlt_halving_begin(const mlt_emit *e, uint32_t base)
{
    mlt_halving h = {.fold = mlt_fold_of(e->ranks), .base = base, .last = NONE};
    h.v = mlt_emit_down(e, e->rank, base);
    h.me = mlt_fold_number(h.fold, h.v);
    h.rounds = mlt_rounds(h.fold.power);
    mlt_halving_range range = {0, h.fold.power};
    for (uint32_t k = 0; k < h.rounds && h.me != NONE; k++) {
        uint32_t half = (range.low + range.high) / 2;
        mlt_halving_range lower = {range.low, half}, upper = {half, range.high};
        bool up = h.me >> k & 1;
        h.keep[k] = range = up ? upper : lower;
        h.give[k] = up ? lower : upper;
        h.sent[k] = NONE;
    }
    return h;
}

uint32_t mlt_halving_partner(const mlt_emit *e, const mlt_halving *h, uint32_t k)
{
    return mlt_emit_up(e, mlt_fold_rank(h->fold, h->me ^ 1u << k), h->base);
}

// The first round's halves go straight into acc unless something is there already, the others' into
// memory of their own.
static mlt_goal_span halving_memory(const mlt_emit *e, const mlt_halving *h, uint32_t first,
                                    bool whole)
{
    uint64_t bytes = whole ? e->n : 0;
    for (uint32_t k = first; k < h->rounds; k++)
        bytes += mlt_halving_part(e, h, h->acc, h->keep[k]).size;
    return mlt_emit_memory(e, bytes);
}

void mlt_halving_reduce(const mlt_emit *e, mlt_halving *h, mlt_goal_span in, mlt_goal_span acc)
{
    h->in = in;
    h->acc = acc;
    bool folded = mlt_fold_is_pair(h->fold, h->me), in_place = in.buf == acc.buf;
    mlt_goal_span tmp = halving_memory(e, h, !folded && !in_place, folded && in_place);
    if (folded) {
        mlt_goal_span at = in_place ? mlt_emit_part(tmp, 0, e->n) : acc;
        uint32_t recv = mlt_emit_recv(e, at, mlt_emit_up(e, h->v - 1, h->base), NONE);
        h->last =
            in_place ? mlt_emit_exec_reversed(e, acc, at, recv) : mlt_emit_exec(e, acc, in, recv);
        tmp.at += in_place ? e->n : 0;
    }
    for (uint32_t k = 0; k < h->rounds; k++) {
        uint32_t partner = mlt_halving_partner(e, h, k);
        bool upper = h->me >> k & 1, first = !k && !folded && !in_place;
        mlt_goal_span keep = mlt_halving_part(e, h, acc, h->keep[k]);
        mlt_goal_span give = mlt_halving_part(e, h, first ? in : acc, h->give[k]);
        uint32_t send = mlt_emit_send(e, give, partner, h->last), exec;
        if (first) {
            uint32_t recv = mlt_emit_recv(e, keep, partner, NONE);
            mlt_goal_span own = mlt_halving_part(e, h, in, h->keep[k]);
            exec = mlt_emit_combine(e, !upper, keep, own, recv);
        } else {
            h->sent[k] = send;
            mlt_goal_span at = mlt_emit_next(&tmp, keep.size);
            uint32_t recv = mlt_emit_recv(e, at, partner, NONE);
            exec = mlt_emit_combine(e, upper, keep, at, recv);
            mlt_emit_after(e, exec, h->last);
        }
        h->last = exec;
    }
}

bool mlt_reduce_scatter_copy_if_alone(const mlt_emit *e, mlt_goal_span *in, mlt_goal_span *out)
{
    *in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    *out = mlt_emit_buffer(e, "out", mlt_emit_bytes(e, e->rank));
    if (e->ranks == 1)
        mlt_emit_copy(e, *out, *in, NONE);
    return e->ranks == 1;
}

void mlt_coll_reduce_scatter_folded(const mlt_emit *e, mlt_folded_reduce *reduce)
{
    uint32_t rank = e->rank;
    mlt_goal_span in, out;
    if (mlt_reduce_scatter_copy_if_alone(e, &in, &out))
        return;
    mlt_fold fold = mlt_fold_of(e->ranks);
    uint32_t me = mlt_fold_number(fold, rank);
    if (me == NONE) {
        mlt_emit_send(e, in, rank + 1, NONE);
        mlt_emit_recv(e, out, rank + 1, NONE);
        return;
    }
    mlt_goal_span acc = mlt_emit_buffer(e, "tmp_acc", mlt_emit_all(e));
    uint32_t last = reduce(e, fold, me, in, acc);
    mlt_emit_copy(e, out, mlt_emit_blocks(e, acc, rank, 1), last);
    if (mlt_fold_is_pair(fold, me))
        mlt_emit_send(e, mlt_emit_blocks(e, acc, rank - 1, 1), rank - 1, last);
}
