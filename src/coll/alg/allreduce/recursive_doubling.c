// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive doubling: in round k ranks at a distance of 2^k exchange what they have.
// Both reduce the lower one's before the upper one's, so all get the same bits, in the order of
// ranks.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

void mlt_alg_allreduce_recursive_doubling(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, true);
    if (mlt_operands_alone(e, &o))
        return;
    mlt_fold fold = mlt_fold_of(e->ranks);
    uint32_t me = mlt_fold_number(fold, rank), rounds = mlt_rounds(fold.power), last = NONE;
    if (me == NONE) {
        uint32_t send = mlt_emit_send(e, o.in, rank + 1, NONE);
        mlt_emit_recv(e, o.out, rank + 1, o.in_place ? send : (uint32_t)NONE);
        return;
    }
    // The first message goes straight into the result, unless something is there already.
    bool folded = mlt_fold_has(fold, me), empty = !o.in_place;
    uint64_t slots = rounds + folded - empty;
    mlt_goal_span tmp = mlt_emit_memory(e, slots * e->n);
    for (uint32_t k = !folded; k <= rounds; k++) { // 0: the folded rank
        uint32_t number = k ? me ^ 1u << (k - 1) : me;
        uint32_t other = k ? mlt_fold_rank(fold, number) : rank - 1;
        bool lower = other < rank;
        mlt_goal_span at = empty ? o.out : mlt_emit_part(tmp, 0, e->n);
        uint32_t recv = mlt_emit_recv(e, at, other, NONE), send = NONE;
        if (k)
            send = mlt_emit_send(e, empty ? o.in : o.out, other, last);
        // The result holds the other's if it was empty, one's own else.
        last = (lower == empty ? mlt_emit_exec : mlt_emit_exec_reversed)(e, o.out,
                                                                         empty ? o.in : at, recv);
        if (!empty) {
            mlt_emit_after(e, last, send);
            tmp.at += e->n;
        }
        empty = false;
    }
    if (folded)
        mlt_emit_send(e, o.out, rank - 1, last);
}
