// SPDX-License-Identifier: BSD-3-Clause
// Shapes that several algorithms share.
//
// k-nomial tree over 0..P-1: the parent of v is v with its lowest digit other than 0 (to the base
// k) set to 0. The subtree of a child is a range, so gathering and reducing keep the order:
//
//     k = 2, P = 8:    0 -> 1, 2, 4;   2 -> 3;   4 -> 5, 6;   6 -> 7
//
// Fold: P ranks become the largest power of two below or equal. The first 2 (P - power) ranks fold
// in pairs, the even one into the odd one above it; so the order is kept, too.
#ifndef MLT_COLL_TREE_H
#define MLT_COLL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/emit.h"

uint32_t mlt_tree_parent(uint32_t v, uint32_t radix); // NONE: v is 0

typedef struct mlt_tree_child {
    uint32_t v, size;         // the child and its subtree, [v, v + size)
    uint32_t of, ranks, step; // private
    uint32_t radix, digit;
} mlt_tree_child;

// Children, the smallest subtree first, or the largest. False: there are no more.
//
//     mlt_tree_child child = mlt_tree_children(v, ranks, radix);
//     while (mlt_tree_next(&child)) ...
mlt_tree_child mlt_tree_children(uint32_t v, uint32_t ranks, uint32_t radix);
bool mlt_tree_next(mlt_tree_child *child);
mlt_tree_child mlt_tree_children_end(uint32_t v, uint32_t ranks, uint32_t radix);
bool mlt_tree_back(mlt_tree_child *child);

// The size of v's subtree.
uint32_t mlt_tree_size(uint32_t v, uint32_t ranks, uint32_t radix);

// Receives from all children of the rank and reduces in order into `acc`: in op child op child ...
// Returns the last action (NONE: there are no children; acc is not touched).
uint32_t mlt_tree_reduce(const mlt_emit *e, uint32_t v, uint32_t radix, mlt_goal_span in,
                         mlt_goal_span acc);

// Receives from the parent, if there is one, and sends to the children, the largest subtree first.
// What overwrites `buf` or reads it comes after `ready`.
void mlt_tree_bcast(const mlt_emit *e, uint32_t v, uint32_t radix, mlt_goal_span buf,
                    uint32_t ready);

// The shape's radix, or 4; and mlt_coll_alg.refuses of whoever takes it.
uint32_t mlt_tree_radix(const mlt_coll_shape *shape);
const char *mlt_tree_refuses(const mlt_coll_shape *shape);

// The whole of a reduction over that tree, counted from the root.
void mlt_coll_reduce_tree(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                          uint32_t radix);

typedef struct mlt_fold {
    uint32_t power; // ranks that stay
    uint32_t rest;  // pairs
} mlt_fold;

mlt_fold mlt_fold_of(uint32_t ranks);

// The number of a rank among those that stay; NONE: it folds into the rank above.
static inline uint32_t mlt_fold_number(mlt_fold fold, uint32_t rank)
{
    if (rank >= 2 * fold.rest)
        return rank - fold.rest;
    return rank % 2 ? rank / 2 : (uint32_t)NONE;
}

static inline uint32_t mlt_fold_rank(mlt_fold fold, uint32_t number)
{
    return number < fold.rest ? 2 * number + 1 : number + fold.rest;
}

// True if the rank that stays has one folded into it.
static inline bool mlt_fold_has(mlt_fold fold, uint32_t number)
{
    return number < fold.rest;
}

// ceil(log2(ranks))
static inline uint32_t mlt_rounds(uint32_t ranks)
{
    return ranks < 2 ? 0 : 32 - (uint32_t)__builtin_clz(ranks - 1);
}

#endif
