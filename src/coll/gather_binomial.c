// SPDX-License-Identifier: BSD-3-Clause
// Gather, binomial tree: a rank collects its subtree's blocks, which lie side by side, and sends
// them to its parent in one message. Ranks are counted from the root, so one subtree's blocks may
// go over the end of `out`; that one comes by way of other memory.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void at_root(const mlt_emit *e, mlt_goal_span in)
{
    mlt_goal_span out = mlt_emit_buffer(e, "out", e->ranks * e->n);
    mlt_emit_copy(e, mlt_emit_blocks(e, out, e->rank, 1), in, NONE);
    mlt_tree_child child = mlt_tree_children(0, e->ranks, 2);
    while (mlt_tree_next(&child)) {
        uint32_t from = mlt_emit_real(e, child.v), fit = e->ranks - from;
        if (child.size <= fit) {
            mlt_emit_recv(e, mlt_emit_blocks(e, out, from, child.size), from, NONE);
            continue;
        }
        mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", child.size * e->n);
        uint32_t recv = mlt_emit_recv(e, tmp, from, NONE), rest = child.size - fit;
        mlt_emit_copy(e, mlt_emit_blocks(e, out, from, fit), mlt_emit_blocks(e, tmp, 0, fit), recv);
        mlt_emit_copy(e, mlt_emit_blocks(e, out, 0, rest), mlt_emit_blocks(e, tmp, fit, rest),
                      recv);
    }
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n);
    uint32_t v = mlt_emit_virtual(&e), size = mlt_tree_size(v, e.ranks, 2);
    if (!v) {
        at_root(&e, in);
        return;
    }
    uint32_t parent = mlt_emit_real(&e, mlt_tree_parent(v, 2));
    if (size == 1) {
        mlt_emit_send(&e, in, parent, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", size * e.n);
    uint32_t copy = mlt_emit_copy(&e, mlt_emit_blocks(&e, tmp, 0, 1), in, NONE);
    uint32_t send = mlt_emit_send(&e, tmp, parent, copy);
    mlt_tree_child child = mlt_tree_children(v, e.ranks, 2);
    while (mlt_tree_next(&child))
        mlt_emit_after(&e, send,
                       mlt_emit_recv(&e, mlt_emit_blocks(&e, tmp, child.v - v, child.size),
                                     mlt_emit_real(&e, child.v), NONE));
}

const mlt_coll_alg mlt_gather_binomial = {
    .collective = MLT_COLL_GATHER,
    .name = "binomial",
    .help = "binomial tree, ceil(log2 P) rounds: short messages",
    .emit = emit,
};
