// SPDX-License-Identifier: BSD-3-Clause
// Broadcast, scatter and recursive doubling: the block is cut into P pieces, P a power of two,
// scattered down a binomial tree, and gathered by pairs at a distance of 1, 2, 4, ... A rank whose
// subtree's pieces came with its own is not sent them again.
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

    // What is sent waits for what was sent and got before, which waited for the rest.
    uint32_t sent = scattered, got = NONE;
    for (uint32_t step = 1; step < e.ranks; step *= 2) {
        uint32_t other = v ^ step, mine = v & ~(step - 1), theirs = other & ~(step - 1);
        uint32_t partner = mlt_emit_real(&e, other);
        if (other && step > (other & -other) - 1) { // it has less than the group
            uint32_t send = mlt_emit_send(&e, mlt_emit_pieces(&e, buf, e.ranks, mine, mine + step),
                                          partner, sent);
            mlt_emit_after(&e, send, got);
            if (step >= size)
                sent = send;
        }
        if (v && step >= size)
            got = mlt_emit_recv(&e, mlt_emit_pieces(&e, buf, e.ranks, theirs, theirs + step),
                                partner, NONE);
    }
}

static const char *refuses(const mlt_coll_shape *shape)
{
    return shape->ranks & (shape->ranks - 1) ? "the number of ranks must be a power of two" : NULL;
}

const mlt_coll_alg mlt_bcast_scatter_doubling = {
    .collective = MLT_COLL_BCAST,
    .name = "scatter_doubling",
    .help = "pieces scattered, then gathered by doubling: medium messages, powers of two",
    .refuses = refuses,
    .emit = emit,
};
