// SPDX-License-Identifier: BSD-3-Clause
// Reduction, in-order binary tree, pipelined. The root of the tree is the root itself; the ranks
// below it are one subtree, those above it the other, and a subtree's root is its middle. A rank
// reduces left op own op right, so the order is that of the ranks, whatever the root.
#include "coll/coll_int.h"
#include "coll/emit.h"

typedef struct node {
    uint32_t parent, left, right; // NONE: there is none
} node;

static uint32_t middle(uint32_t low, uint32_t high) // of [low, high)
{
    return low < high ? low + (high - low) / 2 : (uint32_t)NONE;
}

static node find(uint32_t ranks, uint32_t root, uint32_t rank)
{
    uint32_t low = 0, high = ranks, at = root, parent = NONE;
    while (at != rank) {
        parent = at;
        if (rank < at)
            high = at;
        else
            low = at + 1;
        at = middle(low, high);
    }
    return (node){parent, middle(low, at), middle(at + 1, high)};
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    node at = find(e.ranks, shape->root, rank);
    bool leaf = at.left == NONE && at.right == NONE, both = at.left != NONE && at.right != NONE;
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), acc = in, tmp = {0};
    if (at.parent == NONE)
        acc = mlt_emit_buffer(&e, "out", e.n);
    else if (!leaf)
        acc = mlt_emit_buffer(&e, "tmp_acc", e.n);
    if (both)
        tmp = mlt_emit_buffer(&e, "tmp", e.n);
    if (e.ranks == 1) {
        mlt_emit_copy(&e, acc, in, NONE);
        return;
    }
    for (uint64_t s = 0; s < mlt_emit_segments(&e); s++) {
        mlt_goal_span segment = mlt_emit_segment(&e, acc, s);
        mlt_goal_span own = mlt_emit_segment(&e, in, s), right = segment;
        uint32_t last = NONE;
        if (at.left != NONE) {
            uint32_t recv = mlt_emit_recv(&e, segment, at.left, NONE);
            last = mlt_emit_exec(&e, segment, own, recv);
            right = mlt_emit_segment(&e, tmp, s);
        }
        if (at.right != NONE) {
            uint32_t recv = mlt_emit_recv(&e, right, at.right, NONE);
            uint32_t exec = both ? mlt_emit_exec(&e, segment, right, recv)
                                 : mlt_emit_exec_reversed(&e, segment, own, recv);
            mlt_emit_after(&e, exec, last);
            last = exec;
        }
        if (at.parent != NONE)
            mlt_emit_send(&e, segment, at.parent, last);
    }
}

const mlt_coll_alg mlt_reduce_in_order_binary = {
    .collective = MLT_COLL_REDUCE,
    .name = "in_order_binary",
    .help = "pipelined binary tree that keeps the order of ranks: operations that do not commute",
    .in_order = true,
    .uses_segment = true,
    .emit = emit,
};
