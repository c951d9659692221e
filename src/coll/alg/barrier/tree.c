// SPDX-License-Identifier: BSD-3-Clause
// Barrier, tree: up a k-nomial tree, and down again.
#include "coll/alg/tree.h"
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"

void mlt_alg_barrier_tree(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    uint32_t radix = mlt_tree_radix(e->shape);
    if (e->ranks == 1)
        return;
    // The root's no-op spares a dependency from each child to each child.
    uint32_t up =
        rank ? mlt_emit_signal(e, mlt_tree_parent(rank, radix), NONE) : mlt_emit_nop(e, NONE);
    mlt_tree_child child = mlt_tree_children(rank, e->ranks, radix);
    while (mlt_tree_next(&child))
        mlt_emit_after(e, up, mlt_emit_await(e, child.v, NONE));
    if (rank)
        up = mlt_emit_await(e, mlt_tree_parent(rank, radix), NONE);
    child = mlt_tree_children_end(rank, e->ranks, radix);
    while (mlt_tree_back(&child))
        mlt_emit_signal(e, child.v, up);
}
