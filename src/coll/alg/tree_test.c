// SPDX-License-Identifier: BSD-3-Clause
// Shapes: every tree reaches every rank once, and parents and children agree; the double tree
// shares the work; circulant schedules are right round by round; somebody keeps the canonical
// brackets.
#include "coll/alg/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit_test.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/circulant.h"

static uint32_t children_of(const mlt_tree *t, uint32_t rank)
{
    uint32_t count = 0;
    while (t->shape->child(t, rank, count) != NONE)
        count++;
    return count;
}

// Ranks below and including this one, and how deep it goes.
static uint32_t walk(const mlt_tree *t, uint32_t rank, uint32_t depth, uint32_t *deepest)
{
    uint32_t sum = 1;
    CHECK(depth < t->ranks);
    *deepest = depth > *deepest ? depth : *deepest;
    for (uint32_t i = 0; i < children_of(t, rank); i++) {
        uint32_t child = t->shape->child(t, rank, i);
        CHECK(child < t->ranks && t->shape->parent(t, child) == rank);
        sum += walk(t, child, depth + 1, deepest);
    }
    CHECK(t->shape->child(t, rank, children_of(t, rank) + 1) == NONE);
    return sum;
}

// With sides, a rank and all below it are neighbours: [low, high).
static void check_sides(const mlt_tree *t, uint32_t rank, uint32_t *low, uint32_t *high)
{
    *low = rank;
    *high = rank + 1;
    for (uint32_t i = 0; i < children_of(t, rank); i++) {
        uint32_t child = t->shape->child(t, rank, i), from, to;
        check_sides(t, child, &from, &to);
        CHECK(child < rank ? to == *low : from == *high);
        if (child < rank)
            *low = from;
        else
            *high = to;
    }
}

static uint32_t check_tree(const mlt_tree_shape *shape, uint32_t ranks, uint32_t root,
                           uint32_t radix)
{
    mlt_tree t = {shape, ranks, root, radix};
    uint32_t deepest = 0, low, high;
    CHECK(shape->parent(&t, root) == NONE);
    CHECK(walk(&t, root, 0, &deepest) == ranks);
    bool any_root = shape == &mlt_tree_knomial || shape == &mlt_tree_in_order;
    if (shape->sides && (any_root || !root)) {
        check_sides(&t, root, &low, &high);
        CHECK(low == 0 && high == ranks);
    }
    return deepest;
}

static void test_trees(void)
{
    for (uint32_t p = 1; p <= 70; p++)
        for (uint32_t root = 0; root < p; root += 1 + p / 9) {
            CHECK(check_tree(&mlt_tree_knomial, p, root, 2) <= mlt_rounds(p));
            check_tree(&mlt_tree_knomial, p, root, 3);
            check_tree(&mlt_tree_knomial, p, root, 7);
            CHECK(check_tree(&mlt_tree_knomial, p, root, 1000) <= 1);
            CHECK(check_tree(&mlt_tree_chain, p, root, 0) == p - 1);
            CHECK(check_tree(&mlt_tree_binary, p, root, 0) <= mlt_rounds(p));
            CHECK(check_tree(&mlt_tree_in_order, p, root, 0) <= mlt_rounds(p) + 1);
            for (int i = 0; i < 2; i++)
                CHECK(check_tree(&mlt_tree_double[i], p, root, 0) <= mlt_rounds(p) + 2);
            mlt_tree one = {&mlt_tree_double[0], p, root, 0};
            mlt_tree two = {&mlt_tree_double[1], p, root, 0};
            for (uint32_t r = 0; r < p; r++) // two halves of a block at most
                CHECK(children_of(&one, r) + children_of(&two, r) <= 2);
        }
    // Large ones: no step is forgotten where 32 bits end.
    mlt_tree big = {&mlt_tree_knomial, MLT_GOAL_MAX_RANKS, MLT_GOAL_MAX_RANKS - 1, 3};
    CHECK(big.shape->parent(&big, 0) == big.root && children_of(&big, big.root) >= 17);
    big.shape = &mlt_tree_double[1];
    CHECK(big.shape->parent(&big, big.root - 1) != NONE);
}

// ---- circulant graphs

static void check_rounds(uint32_t ranks, uint64_t blocks)
{
    mlt_circulant *c = calloc(ranks, sizeof *c);
    bool *has = calloc(ranks * blocks, sizeof *has);
    CHECK(c && has);
    for (uint32_t v = 0; v < ranks; v++)
        c[v] = mlt_circulant_of(ranks, v);
    memset(has, true, blocks); // the root
    CHECK(c[0].skip_count == mlt_rounds(ranks) && c[0].skip[0] == 1);
    for (uint64_t i = 0; i < blocks - 1 + c[0].skip_count; i++) {
        bool *now = malloc(ranks * blocks);
        CHECK(now);
        memcpy(now, has, ranks * blocks);
        for (uint32_t v = 0; v < ranks; v++) {
            mlt_circulant_round r = mlt_circulant_at(&c[v], ranks, v, blocks, i);
            mlt_circulant_round next = mlt_circulant_at(&c[r.to], ranks, r.to, blocks, i);
            CHECK(next.from == v && next.recv_block == r.send_block);
            CHECK(r.send_block == UINT64_MAX || now[v * blocks + r.send_block]);
            if (r.recv_block == UINT64_MAX)
                continue;
            CHECK(!has[v * blocks + r.recv_block]); // nothing comes twice
            has[v * blocks + r.recv_block] = true;
        }
        free(now);
    }
    for (uint64_t i = 0; i < ranks * blocks; i++)
        CHECK(has[i]);
    free(has);
    free(c);
}

static void test_circulant(void)
{
    for (uint32_t p = 2; p <= 140; p++)
        for (uint64_t blocks = 1; blocks <= 12; blocks += p < 40 ? 1 : 5)
            check_rounds(p, blocks);
    check_rounds(1000, 3);
    check_rounds(1025, 4);
    CHECK(mlt_circulant_of(1, 0).skip_count == 0);
    CHECK(mlt_circulant_of(MLT_GOAL_MAX_RANKS, MLT_GOAL_MAX_RANKS - 1).skip_count == 28);
}

// ---- brackets

static void test_canonical(void)
{
    CHECK(mlt_canonical_split(0, 2) == 1 && mlt_canonical_split(0, 6) == 4);
    CHECK(mlt_canonical_split(4, 7) == 6 && mlt_canonical_split(0, 8) == 4);
    CHECK(mlt_canonical_split(0, 9) == 8);
    // For every reduction with an order of ranks somebody keeps them whatever P; that they are kept
    // alg_test.c proves of all that say so.
    for (int c = 0; c < MLT_COLLECTIVES; c++) {
        uint32_t keep = 0, in_place = 0;
        for (int i = 0; mlt_coll_algs[i]; i++) {
            const mlt_coll_alg *alg = mlt_coll_algs[i];
            if ((int)alg->collective != c || !alg->canonical)
                continue;
            CHECK(alg->in_order && mlt_collective_reduces((mlt_collective)c));
            keep += !alg->refuses;
            in_place += !alg->refuses && alg->in_place;
        }
        bool sets = c == MLT_COLL_REDUCE_TO || !mlt_collective_reduces((mlt_collective)c);
        CHECK(sets || keep >= 1);
        CHECK(sets || c == MLT_COLL_REDUCE_SCATTER || in_place >= 1);
    }
}

int main(void)
{
    test_trees();
    test_circulant();
    test_canonical();
    return 0;
}
