// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, recursive doubling: partners at a distance of 1, 2, 4, ... exchange all blocks as
// far as they are reduced; in the last round only those that the other one is to have. Groups that
// are joined are neighbours, so the order is kept. More bytes than by halving, but nothing is
// packed.
//
// If P is no power of two, ranks fold (tree.h): the one that stays sends the folded one its block.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/halving.h"
#include "coll/alg/tree.h"

// From `in` into acc, of which only the group of `me` is whole in the end. Returns the last action.
static uint32_t reduce_scatter_recursive_doubling_exchange(const mlt_emit *e, mlt_fold fold,
                                                           uint32_t me, mlt_goal_span in,
                                                           mlt_goal_span acc)
{
    bool fresh = !mlt_fold_is_pair(fold, me); // acc is still to be written
    uint32_t last = NONE, rounds = mlt_rounds(fold.power), further = rounds - 1 - fresh;
    mlt_goal_span none = {0};
    if (!fresh)
        last = mlt_emit_exec(e, acc, in, mlt_emit_recv(e, acc, e->rank - 1, NONE));
    uint64_t room = (rounds > 1 ? further * acc.size : 0) +
                    (rounds > 1 || !fresh ? mlt_fold_blocks(e, fold, none, me).size : 0);
    mlt_goal_span tmp = mlt_emit_memory(e, room);
    for (uint32_t k = 0; k < rounds; k++) {
        bool upper = me >> k & 1, end = k + 1 == rounds;
        uint32_t other = me ^ 1u << k, partner = mlt_fold_rank(fold, other);
        mlt_goal_span from = fresh ? in : acc, keep = end ? mlt_fold_blocks(e, fold, acc, me) : acc;
        mlt_goal_span give = end ? mlt_fold_blocks(e, fold, from, other) : from;
        uint32_t send = mlt_emit_send(e, give, partner, last), exec;
        if (fresh) {
            uint32_t recv = mlt_emit_recv(e, keep, partner, NONE);
            mlt_goal_span own = end ? mlt_fold_blocks(e, fold, in, me) : in;
            exec = mlt_emit_combine(e, !upper, keep, own, recv);
        } else {
            mlt_goal_span at = mlt_emit_next(&tmp, keep.size);
            uint32_t recv = mlt_emit_recv(e, at, partner, NONE);
            exec = mlt_emit_combine(e, upper, keep, at, recv);
            mlt_emit_after(e, exec, end ? last : send); // the send has waited for the last one
        }
        fresh = false;
        last = exec;
    }
    return last;
}

void mlt_alg_reduce_scatter_recursive_doubling(const mlt_emit *e)
{
    mlt_coll_reduce_scatter_folded(e, reduce_scatter_recursive_doubling_exchange);
}
