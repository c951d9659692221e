// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving, the first half of Rabenseifner's algorithms: in round k partners at a distance
// of 2^k exchange halves of what they still reduce, so that each ends with one piece of the whole
// reduction. As the distance doubles, always neighbouring groups are joined: the order is kept.
//
//     pieces of rank   0: |........|....    |..      |.        |     then back the other way
//     after round             -      0        1         2
#pragma once

#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

typedef struct mlt_halving_range { // of pieces
    uint32_t low, high;
} mlt_halving_range;

typedef struct mlt_halving {
    mlt_fold fold;
    uint32_t base;         // the rank that counts as 0
    uint32_t me;           // number among those that stay; NONE: this rank folds
    uint32_t v;            // the rank counted from base
    uint32_t rounds, last; // the last action that wrote acc
    mlt_goal_span in, acc;
    mlt_halving_range keep[32], give[32]; // by round
    uint32_t sent[32];                    // the send of `give` if it went from acc
} mlt_halving;

mlt_halving mlt_halving_begin(const mlt_emit *e, uint32_t base);

// Emits it, for ranks that stay: from `in` into `acc`, the piece of the last `keep`. Both may be
// the same.
void mlt_halving_reduce(const mlt_emit *e, mlt_halving *h, mlt_goal_span in, mlt_goal_span acc);

// The rank that this one meets in round k.
uint32_t mlt_halving_partner(const mlt_emit *e, const mlt_halving *h, uint32_t k);

static inline mlt_goal_span mlt_halving_part(const mlt_emit *e, const mlt_halving *h,
                                             mlt_goal_span whole, mlt_halving_range range)
{
    return mlt_emit_pieces(e, whole, h->fold.power, range.low, range.high);
}

// Reduce-scatter: the buffers. True if there is only one rank; then the result is made.
bool mlt_reduce_scatter_copy_if_alone(const mlt_emit *e, mlt_goal_span *in, mlt_goal_span *out);

// The blocks of the ranks that a number stands for.
static inline mlt_goal_span mlt_fold_blocks(const mlt_emit *e, mlt_fold fold, mlt_goal_span whole,
                                            uint32_t number)
{
    uint32_t last = mlt_fold_rank(fold, number), two = mlt_fold_is_pair(fold, number);
    return mlt_emit_blocks(e, whole, last - two, 1 + two);
}

// Reduce-scatter of ranks that are folded to a power of two: the folded ones give all they have and
// get their block. `reduce` emits, for number `me` of those that stay, from `in` into `acc` (all
// blocks; at least those of `me` are whole in the end), and returns the last action.
typedef uint32_t mlt_folded_reduce(const mlt_emit *e, mlt_fold fold, uint32_t me, mlt_goal_span in,
                                   mlt_goal_span acc);
void mlt_coll_reduce_scatter_folded(const mlt_emit *e, mlt_folded_reduce *reduce);
