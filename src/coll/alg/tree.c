// SPDX-License-Identifier: BSD-3-Clause
#include "coll/alg/tree.h"

// Where v's children end: the weight of its lowest digit other than 0, or for 0 the first power of
// the radix that is not below P.
static uint64_t weight_of(uint32_t v, uint32_t ranks, uint32_t radix)
{
    uint64_t weight = 1;
    while (weight < ranks && v % (weight * radix) == 0)
        weight *= radix;
    return weight;
}

uint32_t mlt_tree_parent(uint32_t v, uint32_t radix)
{
    if (!v)
        return NONE;
    uint64_t weight = 1;
    while (v % (weight * radix) == 0)
        weight *= radix;
    return v - (uint32_t)(v % (weight * radix));
}

uint32_t mlt_tree_size(uint32_t v, uint32_t ranks, uint32_t radix)
{
    uint64_t weight = v ? weight_of(v, ranks, radix) : ranks;
    return weight < ranks - v ? (uint32_t)weight : ranks - v;
}

static bool child_at(mlt_tree_child *child)
{
    uint64_t v = child->of + (uint64_t)child->digit * child->step;
    if (v >= child->ranks)
        return false;
    child->v = (uint32_t)v;
    child->size = child->step < child->ranks - child->v ? child->step : child->ranks - child->v;
    return true;
}

mlt_tree_child mlt_tree_children(uint32_t v, uint32_t ranks, uint32_t radix)
{
    return (mlt_tree_child){.of = v, .ranks = ranks, .step = 1, .radix = radix};
}

bool mlt_tree_next(mlt_tree_child *child)
{
    if (++child->digit == child->radix) {
        uint64_t step = (uint64_t)child->step * child->radix;
        if (step >= child->ranks)
            return false;
        child->step = (uint32_t)step;
        child->digit = 1;
    }
    if (child->digit == 1 && child->of % ((uint64_t)child->step * child->radix))
        return false;
    return child_at(child);
}

mlt_tree_child mlt_tree_children_end(uint32_t v, uint32_t ranks, uint32_t radix)
{
    // `digit` digits of weight `step` are still to come; those beyond P are skipped at once.
    uint64_t weight = weight_of(v, ranks, radix) / radix;
    mlt_tree_child child = {.of = v, .ranks = ranks, .step = (uint32_t)weight, .radix = radix};
    if (weight) {
        uint64_t most = (ranks - 1 - v) / weight;
        child.digit = (uint32_t)(most < radix - 1 ? most : radix - 1) + 1;
    }
    return child;
}

bool mlt_tree_back(mlt_tree_child *child)
{
    if (!child->step)
        return false;
    while (child->digit <= 1) {
        child->step /= child->radix;
        if (!child->step)
            return false;
        uint32_t most = (child->ranks - 1 - child->of) / child->step;
        child->digit = (most < child->radix - 1 ? most : child->radix - 1) + 1;
    }
    child->digit--;
    return child_at(child);
}

uint32_t mlt_tree_radix(const mlt_coll_shape *shape)
{
    return shape->radix ? shape->radix : 4;
}

const char *mlt_tree_refuses(const mlt_coll_shape *shape)
{
    return shape->radix == 1 ? "the radix must be 2 or more" : NULL;
}

const char *mlt_fold_refuses(const mlt_coll_shape *shape)
{
    return shape->ranks & (shape->ranks - 1) ? "the number of ranks must be a power of two" : NULL;
}

// ---- trees as parameters

// Counted from the root, and back.
static uint32_t away(const mlt_tree *t, uint32_t rank)
{
    return rank >= t->root ? rank - t->root : rank + (t->ranks - t->root);
}

static uint32_t back(const mlt_tree *t, uint32_t v)
{
    return v < t->ranks - t->root ? v + t->root : v - (t->ranks - t->root);
}

static bool holds_root(const mlt_tree *t, uint32_t low, uint64_t size)
{
    return t->root >= low && t->root - low < size;
}

static uint32_t knomial_parent(const mlt_tree *t, uint32_t rank)
{
    if (rank == t->root)
        return NONE;
    for (uint64_t size = t->radix;; size *= t->radix) {
        uint32_t low = rank - (uint32_t)(rank % size);
        if (holds_root(t, low, size))
            return t->root;
        if (low != rank)
            return low;
    }
}

static uint32_t knomial_child(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    for (uint64_t step = 1; step < t->ranks; step *= t->radix) {
        uint64_t size = step * t->radix;
        uint32_t low = rank - (uint32_t)(rank % size);
        if (rank != t->root && (low != rank || holds_root(t, low, size)))
            return NONE; // this group's value is built elsewhere
        uint32_t parts = (uint32_t)((t->ranks - 1 - low) / step) + 1;
        if (parts > t->radix)
            parts = t->radix;
        uint32_t own = (uint32_t)((rank - low) / step);
        if (i < parts - 1) // those below, the nearest first, then those above
            return low + (uint32_t)((i < own ? own - 1 - i : i + 1) * step);
        i -= parts - 1;
    }
    return NONE;
}

const mlt_tree_shape mlt_tree_knomial = {"knomial", true, knomial_parent, knomial_child, NULL};

static uint32_t chain_parent(const mlt_tree *t, uint32_t rank)
{
    uint32_t v = away(t, rank);
    return v ? back(t, v - 1) : (uint32_t)NONE;
}

static uint32_t chain_child(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    uint32_t v = away(t, rank);
    return i || v + 1 == t->ranks ? (uint32_t)NONE : back(t, v + 1);
}

const mlt_tree_shape mlt_tree_chain = {"chain", false, chain_parent, chain_child, NULL};

static uint32_t binary_parent(const mlt_tree *t, uint32_t rank)
{
    uint32_t v = away(t, rank);
    return v ? back(t, (v - 1) / 2) : (uint32_t)NONE;
}

static uint32_t binary_child(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    uint32_t child = 2 * away(t, rank) + 1 + i;
    return i < 2 && child < t->ranks ? back(t, child) : (uint32_t)NONE;
}

const mlt_tree_shape mlt_tree_binary = {"binary", false, binary_parent, binary_child, NULL};

typedef struct alg_tree_node {
    uint32_t parent, child[2]; // NONE: there is none
} alg_tree_node;

static uint32_t middle(uint32_t low, uint32_t high) // of [low, high)
{
    return low < high ? low + (high - low) / 2 : (uint32_t)NONE;
}

static alg_tree_node in_order_node(const mlt_tree *t, uint32_t rank)
{
    uint32_t low = 0, high = t->ranks, at = t->root, parent = NONE;
    while (at != rank) {
        parent = at;
        if (rank < at)
            high = at;
        else
            low = at + 1;
        at = middle(low, high);
    }
    return (alg_tree_node){parent, {middle(low, at), middle(at + 1, high)}};
}

static uint32_t in_order_parent(const mlt_tree *t, uint32_t rank)
{
    return in_order_node(t, rank).parent;
}

// The i-th of two that are there or not.
static uint32_t pick(const uint32_t child[2], uint32_t i)
{
    if (i > 1)
        return NONE;
    uint32_t first = child[0] != NONE ? child[0] : child[1];
    return i ? (child[0] != NONE ? child[1] : (uint32_t)NONE) : first;
}

static uint32_t in_order_child(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    return pick(in_order_node(t, rank).child, i);
}

const mlt_tree_shape mlt_tree_in_order = {"in_order", true, in_order_parent, in_order_child, NULL};

// The double tree. Positions 1..m have the tree in which x is the higher the more zeros it ends
// with: odd ones are leaves, the root is the largest power of two. The first tree has v = 1..P-1 at
// position v. In the second, odd and even change places: P odd: v is at P - v. P even: v = 1 stands
// alone on top of it, and v = 2.. is at v - 1.
typedef struct alg_tree_half {
    uint32_t nodes, above; // positions; from what the tree's root hangs
    uint32_t mirror;       // not 0: x and v give this together
    uint32_t shift;        // else v = x + shift
} alg_tree_half;

static alg_tree_half half_of(const mlt_tree *t)
{
    uint32_t m = t->ranks - 1;
    if (t->shape == &mlt_tree_double[0])
        return (alg_tree_half){m, 0, 0, 0};
    if (m % 2)
        return (alg_tree_half){m - 1, 1, 0, 1};
    return (alg_tree_half){m, 0, m + 1, 0};
}

static uint32_t half_swap(alg_tree_half h, uint32_t x, bool to_v)
{
    if (h.mirror)
        return h.mirror - x;
    return to_v ? x + h.shift : x - h.shift;
}

static alg_tree_node half_node(const mlt_tree *t, uint32_t v)
{
    alg_tree_half h = half_of(t);
    alg_tree_node n = {NONE, {NONE, NONE}};
    uint32_t top = h.nodes ? 1u << (31 - __builtin_clz(h.nodes)) : 0;
    if (v <= h.above) { // the root, or v = 1 below it
        n.parent = v ? 0 : (uint32_t)NONE;
        if (v < h.above)
            n.child[0] = 1;
        else if (top)
            n.child[0] = half_swap(h, top, true);
        return n;
    }
    uint32_t x = half_swap(h, v, false), bit = x & -x, up = (x ^ bit) | bit << 1;
    if (up > h.nodes)
        up = x ^ bit;
    n.parent = up ? half_swap(h, up, true) : h.above;
    if (bit == 1)
        return n;
    n.child[0] = half_swap(h, x - bit / 2, true);
    for (bit /= 2; bit && x + bit > h.nodes;)
        bit /= 2;
    if (bit)
        n.child[1] = half_swap(h, x + bit, true);
    return n;
}

static uint32_t double_parent(const mlt_tree *t, uint32_t rank)
{
    uint32_t v = half_node(t, away(t, rank)).parent;
    return v == NONE ? v : back(t, v);
}

static uint32_t double_child(const mlt_tree *t, uint32_t rank, uint32_t i)
{
    uint32_t v = pick(half_node(t, away(t, rank)).child, i);
    return v == NONE ? v : back(t, v);
}

const mlt_tree_shape mlt_tree_double[2] = {
    {"first of two", true, double_parent, double_child, &mlt_tree_double[1]},
    {"second of two", true, double_parent, double_child, NULL},
};

// ---- folding

mlt_fold mlt_fold_of(uint32_t ranks)
{
    uint32_t power = 1u << (31 - __builtin_clz(ranks));
    return (mlt_fold){power, ranks - power};
}
