// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, scatter and allgather: the block is cut into P pieces, scattered down a binomial tree,
// and gathered by all around a ring. A rank whose subtree's pieces came with its own is not sent
// them again.
#include "coll/alg/alg_int.h"
#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_goal_span buf = mlt_emit_buffer(&e, "buf", e.n);
    uint32_t v = mlt_emit_virtual(&e), size = mlt_tree_size(v, e.ranks, 2), scattered = NONE;
    if (v)
        scattered = mlt_emit_recv(&e, mlt_emit_pieces(&e, buf, e.ranks, v, v + size),
                                  mlt_emit_real(&e, mlt_tree_parent(v, 2)), NONE);
    mlt_tree_child child = mlt_tree_children_end(v, e.ranks, 2);
    while (mlt_tree_back(&child))
        mlt_emit_send(&e, mlt_emit_pieces(&e, buf, e.ranks, child.v, child.v + child.size),
                      mlt_emit_real(&e, child.v), scattered);

    // Around the ring piece v - s goes to v + 1, if that one has not got [v + 1, v + 1 + size).
    uint32_t next = mlt_emit_up(&e, v, e.ranks > 1), before = mlt_emit_down(&e, v, e.ranks > 1);
    uint32_t next_size = mlt_tree_size(next, e.ranks, 2), recv = NONE;
    for (uint32_t s = 0; s + 1 < e.ranks; s++) {
        uint32_t give = mlt_emit_down(&e, v, s), take = mlt_emit_down(&e, before, s);
        bool mine = give >= v && give - v < size;
        if (give < next || give - next >= next_size)
            mlt_emit_send(&e, mlt_emit_pieces(&e, buf, e.ranks, give, give + 1),
                          mlt_emit_real(&e, next), mine ? scattered : recv);
        if (take < v || take - v >= size)
            recv = mlt_emit_recv(&e, mlt_emit_pieces(&e, buf, e.ranks, take, take + 1),
                                 mlt_emit_real(&e, before), NONE);
    }
}

const mlt_coll_alg mlt_bcast_scatter_allgather = {
    .collective = MLT_COLL_BCAST,
    .name = "scatter_allgather",
    .help = "pieces scattered by a binomial tree, gathered around a ring: long messages",
    .emit = emit,
};
