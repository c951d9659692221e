// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter over k-nomial trees (tree.h), counted from the root. The blocks of a subtree
// lie side by side and go in one message. The subtree of one child of the root may wrap around the
// end of the root's buffer; its blocks go by way of temporary memory.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

// Binomial trees have fewer messages at the root, k-nomial ones fewer levels.
static uint32_t gather_tree_radix(const mlt_emit *e)
{
    return e->alg->uses_radix ? mlt_tree_radix(e->shape) : 2;
}

static void gather_root(const mlt_emit *e, uint32_t radix)
{
    mlt_goal_span out;
    uint32_t copy;
    mlt_emit_gathered(e, &out, &copy);
    mlt_tree_child child = mlt_tree_children(0, e->ranks, radix);
    while (mlt_tree_next(&child)) {
        uint32_t from = mlt_emit_real(e, child.v), fit = e->ranks - from;
        if (child.size <= fit) {
            mlt_emit_recv(e, mlt_emit_blocks(e, out, from, child.size), from, NONE);
            continue;
        }
        mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", mlt_emit_round(e, from, child.size));
        uint32_t recv = mlt_emit_recv(e, tmp, from, NONE), rest = child.size - fit;
        mlt_emit_copy(e, mlt_emit_blocks(e, out, from, fit), mlt_emit_row(e, tmp, from, 0, fit),
                      recv);
        mlt_emit_copy(e, mlt_emit_blocks(e, out, 0, rest), mlt_emit_row(e, tmp, from, fit, rest),
                      recv);
    }
}

void mlt_alg_gather_tree(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    uint32_t radix = gather_tree_radix(e);
    uint32_t v = mlt_emit_virtual(e), size = mlt_tree_size(v, e->ranks, radix);
    if (!v) {
        gather_root(e, radix);
        return;
    }
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_bytes(e, rank));
    uint32_t parent = mlt_emit_real(e, mlt_tree_parent(v, radix));
    if (size == 1) {
        mlt_emit_send(e, in, parent, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", mlt_emit_round(e, rank, size));
    uint32_t copy = mlt_emit_copy(e, mlt_emit_row(e, tmp, rank, 0, 1), in, NONE);
    uint32_t send = mlt_emit_send(e, tmp, parent, copy);
    mlt_tree_child child = mlt_tree_children(v, e->ranks, radix);
    while (mlt_tree_next(&child))
        mlt_emit_after(e, send,
                       mlt_emit_recv(e, mlt_emit_row(e, tmp, rank, child.v - v, child.size),
                                     mlt_emit_real(e, child.v), NONE));
}

static void scatter_root(const mlt_emit *e, uint32_t radix)
{
    mlt_goal_span out =
        mlt_emit_buffer_if(e, !e->shape->in_place, "out", mlt_emit_bytes(e, e->rank));
    mlt_goal_span in = mlt_emit_buffer(e, "in", mlt_emit_all(e));
    if (!e->shape->in_place)
        mlt_emit_copy(e, out, mlt_emit_blocks(e, in, e->rank, 1), NONE);
    mlt_tree_child child = mlt_tree_children_end(0, e->ranks, radix);
    while (mlt_tree_back(&child)) {
        uint32_t to = mlt_emit_real(e, child.v), fit = e->ranks - to;
        if (child.size <= fit) {
            mlt_emit_send(e, mlt_emit_blocks(e, in, to, child.size), to, NONE);
            continue;
        }
        mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", mlt_emit_round(e, to, child.size));
        uint32_t rest = child.size - fit;
        uint32_t copy = mlt_emit_copy(e, mlt_emit_row(e, tmp, to, 0, fit),
                                      mlt_emit_blocks(e, in, to, fit), NONE);
        uint32_t send = mlt_emit_send(e, tmp, to, copy);
        mlt_emit_after(e, send,
                       mlt_emit_copy(e, mlt_emit_row(e, tmp, to, fit, rest),
                                     mlt_emit_blocks(e, in, 0, rest), NONE));
    }
}

void mlt_alg_scatter_tree(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    uint32_t radix = gather_tree_radix(e);
    uint32_t v = mlt_emit_virtual(e), size = mlt_tree_size(v, e->ranks, radix);
    if (!v) {
        scatter_root(e, radix);
        return;
    }
    mlt_goal_span out = mlt_emit_buffer(e, "out", mlt_emit_bytes(e, rank));
    uint32_t parent = mlt_emit_real(e, mlt_tree_parent(v, radix));
    if (size == 1) {
        mlt_emit_recv(e, out, parent, NONE);
        return;
    }
    mlt_goal_span tmp = mlt_emit_buffer(e, "tmp", mlt_emit_round(e, rank, size));
    uint32_t recv = mlt_emit_recv(e, tmp, parent, NONE);
    mlt_tree_child child = mlt_tree_children_end(v, e->ranks, radix);
    while (mlt_tree_back(&child)) // the largest subtree first
        mlt_emit_send(e, mlt_emit_row(e, tmp, rank, child.v - v, child.size),
                      mlt_emit_real(e, child.v), recv);
    mlt_emit_copy(e, out, mlt_emit_row(e, tmp, rank, 0, 1), recv);
}
