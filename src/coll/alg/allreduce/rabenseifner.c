// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, Rabenseifner: recursive halving, then the same way back with the results. On the way
// back a send waits for the receive and the send of the round before. That send has waited for all
// earlier receives, so these two dependencies are enough.
//
// If the number of ranks is a power of two, its brackets (mlt_canonical_split, tree.h) are the
// canonical ones for every piece. That case has its own name, halving_doubling.
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"
#include "coll/alg/operands.h"

void mlt_alg_allreduce_rabenseifner(const mlt_emit *e)
{
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    mlt_halving h = mlt_halving_begin(e, 0);
    if (h.me == NONE) {
        uint32_t send = mlt_emit_send(e, o.in, e->rank + 1, NONE);
        mlt_emit_recv(e, o.out, e->rank + 1, o.in_place ? send : (uint32_t)NONE);
        return;
    }
    mlt_halving_reduce(e, &h, o.in, o.out);
    uint32_t sent = NONE, got = h.last;
    for (uint32_t k = h.rounds; k-- > 0;) {
        uint32_t partner = mlt_halving_partner(e, &h, k);
        uint32_t send = mlt_emit_send(e, mlt_halving_part(e, &h, o.out, h.keep[k]), partner, got);
        mlt_emit_after(e, send, sent);
        got = mlt_emit_recv(e, mlt_halving_part(e, &h, o.out, h.give[k]), partner, h.sent[k]);
        sent = send;
    }
    if (mlt_fold_is_pair(h.fold, h.me))
        mlt_emit_after(e, mlt_emit_send(e, o.out, e->rank - 1, got), sent);
}
