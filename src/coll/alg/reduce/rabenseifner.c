// SPDX-License-Identifier: BSD-3-Clause
// Reduction, Rabenseifner: recursive halving, then the pieces are gathered at the root up a
// binomial tree. The root counts as 0, or if ranks fold as 1, so that it stays.
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"
#include "coll/alg/operands.h"

static void reduce_rabenseifner_gather(const mlt_emit *e, const mlt_halving *h)
{
    uint32_t got[32], count = 0, k = h->rounds;
    mlt_halving_range have = h->keep[h->rounds - 1];
    while (k-- > 0 && !(h->me >> k & 1)) {
        uint32_t from = mlt_halving_partner(e, h, k);
        got[count++] =
            mlt_emit_recv(e, mlt_halving_part(e, h, h->acc, h->give[k]), from, h->sent[k]);
        have = k ? h->keep[k - 1] : (mlt_halving_range){0, h->fold.power};
    }
    if (!h->me)
        return;
    uint32_t send = mlt_emit_send(e, mlt_halving_part(e, h, h->acc, have),
                                  mlt_halving_partner(e, h, k), h->last);
    while (count)
        mlt_emit_after(e, send, got[--count]);
}

void mlt_alg_reduce_rabenseifner(const mlt_emit *e)
{
    mlt_operands o = mlt_operands_begin(e, e->rank == e->shape->root);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    bool folds = mlt_fold_of(e->ranks).rest > 0;
    mlt_halving h = mlt_halving_begin(e, mlt_emit_down(e, e->shape->root, folds));
    if (h.me == NONE) {
        mlt_emit_send(e, o.in, mlt_emit_up(e, e->rank, 1), NONE);
        return;
    }
    mlt_goal_span acc = h.me ? mlt_emit_buffer(e, "tmp_acc", e->n) : o.out;
    mlt_halving_reduce(e, &h, o.in, acc);
    reduce_rabenseifner_gather(e, &h);
}
