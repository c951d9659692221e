// SPDX-License-Identifier: BSD-3-Clause
// Shapes that several algorithms share.
//
// k-nomial tree over 0..P-1, for moving the blocks of subtrees: the parent of v is v with
// its lowest digit other than 0 (to the base k) set to 0. The subtree of a child is a range, so
// gathering and reducing keep the order:
//
//     k = 2, P = 8:    0 -> 1, 2, 4;   2 -> 3;   4 -> 5, 6;   6 -> 7
//
// Fold: P ranks become the largest power of two below or equal. The first 2 (P - power) ranks fold
// in pairs, the even one into the odd one above it; so the order is kept, too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/emit.h"

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

// The shape's radix, or 4; and mlt_coll_alg.refuses of algorithms with a radix: it must not be 1.
uint32_t mlt_tree_radix(const mlt_coll_shape *shape);
const char *mlt_tree_refuses(const mlt_coll_shape *shape);

// ---- trees as parameters: what is done over them is in pipe.h

typedef struct mlt_tree mlt_tree;

// Ranks are those of the program. NONE: there is none.
typedef struct mlt_tree_shape {
    const char *name;
    // A rank and its subtree are neighbours: what comes from a child of a lower rank goes before
    // the rank's own, what comes from one of a higher rank after it. So reductions keep the order.
    bool sides;
    uint32_t (*parent)(const mlt_tree *tree, uint32_t rank);
    // The i-th child; those whose turn is late come last.
    uint32_t (*child)(const mlt_tree *tree, uint32_t rank, uint32_t i);
    const struct mlt_tree_shape *other; // that takes every other segment; NULL: there is one tree
} mlt_tree_shape;

struct mlt_tree {
    const mlt_tree_shape *shape;
    uint32_t ranks, root, radix;
};

// k-nomial with any root that keeps the order: ranks form aligned groups of radix, radix^2, ...
// ranks; a group's value is built at the root if it is one of them, else at the lowest. With radix
// 2 (binomial) the brackets are mlt_canonical_split's.
extern const mlt_tree_shape mlt_tree_knomial;
extern const mlt_tree_shape mlt_tree_chain;  // from the root upwards, around; in order from root 0
extern const mlt_tree_shape mlt_tree_binary; // v, counted from the root, has 2v+1 and 2v+2
// Binary; the ranks below the root are one subtree, those above it the other, and a subtree's root
// is its middle.
extern const mlt_tree_shape mlt_tree_in_order;
// Two binary trees below the root: a rank that passes something on in one is a leaf in the other.
// So if each tree takes half of a block, no rank sends more than a block. In order from root 0.
extern const mlt_tree_shape mlt_tree_double[2];

// ---- brackets

// THE brackets of reproducible reductions: those over ranks [low, high) are (those over [low,
// split)) op (those over [split, high)), where split is low and the largest power of two below
// high - low. So they depend on the number of ranks only. An allreduce, reduce or reduce_scatter
// has those over [0, P); a scan's result on rank r those over [0, r + 1), an exscan's [0, r).
//
//     P = 6:   ((0 1)(2 3))(4 5)        P = 7:   ((0 1)(2 3))((4 5) 6)
static inline uint32_t mlt_canonical_split(uint32_t low, uint32_t high)
{
    return low + (1u << (31 - __builtin_clz(high - low - 1)));
}

// ---- folding

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
static inline bool mlt_fold_is_pair(mlt_fold fold, uint32_t number)
{
    return number < fold.rest;
}

// mlt_coll_alg.refuses of algorithms that do not fold: the ranks must be a power of two.
const char *mlt_fold_refuses(const mlt_coll_shape *shape);

// ceil(log2(ranks))
static inline uint32_t mlt_rounds(uint32_t ranks)
{
    return ranks < 2 ? 0 : 32 - (uint32_t)__builtin_clz(ranks - 1);
}
