// SPDX-License-Identifier: BSD-3-Clause
// Scatter, binomial tree: gather_binomial.c the other way round. The largest subtree is served
// first.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void at_root(const mlt_emit *e, mlt_goal_span out)
{
    mlt_goal_span in = mlt_emit_buffer(e, "in", e->ranks * e->n);
    mlt_emit_copy(e, out, mlt_emit_blocks(e, in, e->rank, 1), NONE);
    mlt_tree_child child = mlt_tree_children_end(0, e->ranks, 2);
    while (mlt_tree_back(&child)) {
        uint32_t to = mlt_emit_real(e, child.v), fit = e->ranks - to;
        if (child.size <= fit) {
            mlt_emit_send(e, mlt_emit_blocks(e, in, to, child.size), to, NONE);
            continue;
        }
        mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", child.size * e->n);
        uint32_t rest = child.size - fit;
        uint32_t copy = mlt_emit_copy(e, mlt_emit_blocks(e, tmp, 0, fit),
                                      mlt_emit_blocks(e, in, to, fit), NONE);
        uint32_t send = mlt_emit_send(e, tmp, to, copy);
        mlt_emit_after(e, send,
                       mlt_emit_copy(e, mlt_emit_blocks(e, tmp, fit, rest),
                                     mlt_emit_blocks(e, in, 0, rest), NONE));
    }
}

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span out = mlt_emit_buffer(&e, "out", e.n);
    uint32_t v = mlt_emit_virtual(&e), size = mlt_tree_size(v, e.ranks, 2);
    if (!v) {
        at_root(&e, out);
        return;
    }
    uint32_t parent = mlt_emit_real(&e, mlt_tree_parent(v, 2));
    if (size == 1) {
        mlt_emit_recv(&e, out, parent, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(&e, "tmp", size * e.n);
    uint32_t recv = mlt_emit_recv(&e, tmp, parent, NONE);
    mlt_tree_child child = mlt_tree_children_end(v, e.ranks, 2);
    while (mlt_tree_back(&child))
        mlt_emit_send(&e, mlt_emit_blocks(&e, tmp, child.v - v, child.size),
                      mlt_emit_real(&e, child.v), recv);
    mlt_emit_copy(&e, out, mlt_emit_blocks(&e, tmp, 0, 1), recv);
}

const mlt_coll_alg mlt_scatter_binomial = {
    .collective = MLT_COLL_SCATTER,
    .name = "binomial",
    .help = "binomial tree, ceil(log2 P) rounds: short messages",
    .emit = emit,
};
