// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter, recursive halving: partners at a distance of P/2, P/4, ... 1 exchange the halves
// that the other one is to have. If P is no power of two, ranks fold (tree.h): then a rank that
// stays reduces two blocks and sends the folded one its own.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/halving.h"
#include "coll/alg/tree.h"

// The first block of the ranks that a number stands for.
static uint32_t block_of(mlt_fold fold, uint32_t number)
{
    return number <= fold.rest ? 2 * number : number + fold.rest;
}

typedef struct side { // of the numbers of a group, and the blocks of its ranks
    uint32_t low, high;
} side;

static side recursive_halving_half(side group, uint32_t step, bool upper)
{
    uint32_t middle = group.low + step;
    return upper ? (side){middle, group.high} : (side){group.low, middle};
}

static mlt_goal_span recursive_halving_blocks(const mlt_emit *e, mlt_fold fold, mlt_goal_span whole,
                                              side s)
{
    uint32_t first = block_of(fold, s.low);
    return mlt_emit_blocks(e, whole, first, block_of(fold, s.high) - first);
}

// Bytes that come in all, without the first exchange if it goes straight into acc.
static uint64_t room_of(const mlt_emit *e, mlt_fold fold, uint32_t me, bool fresh)
{
    side group = {0, fold.power};
    uint64_t room = 0;
    for (uint32_t step = fold.power / 2; step; step /= 2) {
        group = recursive_halving_half(group, step, me & step);
        if (!fresh)
            room += recursive_halving_blocks(e, fold, (mlt_goal_span){0}, group).size;
        fresh = false;
    }
    return room;
}

// From `in` into acc: the blocks of number `me`. Returns the last action.
static uint32_t recursive_halving_halve(const mlt_emit *e, mlt_fold fold, uint32_t me,
                                        mlt_goal_span in, mlt_goal_span acc)
{
    side group = {0, fold.power};
    bool fresh = !mlt_fold_is_pair(fold, me);
    uint32_t last = NONE;
    mlt_goal_span tmp = {0};
    if (!fresh) {
        uint32_t recv = mlt_emit_recv(e, acc, e->rank - 1, NONE);
        last = mlt_emit_exec(e, acc, in, recv);
    }
    uint64_t room = room_of(e, fold, me, fresh);
    tmp = mlt_emit_memory(e, room);
    for (uint32_t step = fold.power / 2; step; step /= 2) {
        side keep = recursive_halving_half(group, step, me & step),
             give = recursive_halving_half(group, step, !(me & step));
        uint32_t other = mlt_fold_rank(fold, me ^ step);
        mlt_emit_send(e, recursive_halving_blocks(e, fold, fresh ? in : acc, give), other, last);
        mlt_goal_span mine = recursive_halving_blocks(e, fold, acc, keep);
        if (fresh) {
            uint32_t recv = mlt_emit_recv(e, mine, other, NONE);
            last = mlt_emit_exec(e, mine, recursive_halving_blocks(e, fold, in, keep), recv);
        } else {
            mlt_goal_span at = mlt_emit_part(tmp, 0, mine.size);
            uint32_t recv = mlt_emit_recv(e, at, other, NONE);
            uint32_t exec = mlt_emit_after(e, mlt_emit_exec(e, mine, at, recv), last);
            tmp.at += mine.size;
            last = exec;
        }
        fresh = false;
        group = keep;
    }
    return last;
}

void mlt_alg_reduce_scatter_recursive_halving(const mlt_emit *e)
{
    mlt_coll_reduce_scatter_folded(e, recursive_halving_halve);
}
