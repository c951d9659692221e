// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive doubling: in round k ranks at a distance of 2^k exchange what they have.
// Both reduce the lower one's before the upper one's, so all get the same bits, in the order of
// ranks.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/partial.h"
#include "coll/alg/tree.h"

void mlt_alg_allreduce_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_copy_if_alone(e, &o))
        return;
    mlt_fold fold = mlt_fold_of(e->ranks);
    uint32_t me = mlt_fold_number(fold, rank), rounds = mlt_rounds(fold.power);
    if (me == NONE) {
        uint32_t send = mlt_emit_send(e, o.in, rank + 1, NONE);
        mlt_emit_recv(e, o.out, rank + 1, o.in_place ? send : (uint32_t)NONE);
        return;
    }
    mlt_partial p = mlt_partial_begin(e, &o);
    bool folded = mlt_fold_is_pair(fold, me);
    uint64_t slots = rounds + folded - p.empty; // the first message goes straight into the result
    p.tmp = mlt_emit_memory(e, slots * e->n);
    if (folded)
        mlt_partial_take(&p, rank - 1, NONE);
    for (uint32_t k = 0; k < rounds; k++)
        mlt_partial_exchange(&p, mlt_fold_rank(fold, me ^ 1u << k));
    if (folded)
        mlt_partial_send(&p, rank - 1);
}
