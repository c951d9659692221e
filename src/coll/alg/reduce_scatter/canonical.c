// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter in canonical brackets: everything is reduced at rank 0 over a binomial tree, then
// scattered down the same tree. Blocks may differ.
#include "coll/alg/alg_int.h"
#include "coll/alg/halving.h"
#include "coll/alg/pipe.h"
#include "coll/alg/tree.h"

void mlt_alg_reduce_scatter_canonical(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    uint64_t all = mlt_emit_all(e);
    mlt_goal_span in, out;
    if (mlt_reduce_scatter_copy_if_alone(e, &in, &out))
        return;
    uint32_t size = mlt_tree_size(rank, e->ranks, 2), parent = mlt_tree_parent(rank, 2);
    if (size == 1) { // a leaf
        mlt_emit_send(e, in, parent, NONE);
        mlt_emit_recv(e, out, parent, NONE);
        return;
    }
    mlt_tree tree = {&mlt_tree_knomial, e->ranks, 0, 2};
    uint32_t slots = mlt_pipe_slots(&tree, rank, false);
    mlt_goal_span acc = mlt_emit_buffer(e, "tmp_acc", all);
    mlt_goal_span tmp = mlt_emit_memory(e, slots * all);
    uint32_t last = mlt_pipe_combine(e, &tree, in, acc, tmp, all);
    if (rank) {
        last = mlt_emit_send(e, acc, parent, last);
        last = mlt_emit_recv(e, mlt_emit_blocks(e, acc, rank, size), parent, last);
    }
    mlt_tree_child child = mlt_tree_children_end(rank, e->ranks, 2);
    while (mlt_tree_back(&child))
        mlt_emit_send(e, mlt_emit_blocks(e, acc, child.v, child.size), child.v, last);
    mlt_emit_copy(e, out, mlt_emit_blocks(e, acc, rank, 1), last);
}
