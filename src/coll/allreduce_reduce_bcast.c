// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, reduction and broadcast: up a k-nomial tree to rank 0, and down again. `out` is where
// partial results are built on the way up.
#include "coll/coll_int.h"
#include "coll/emit.h"
#include "coll/tree.h"

static void emit(const mlt_coll_shape *given, mlt_goal_program *program, uint32_t rank)
{
    mlt_coll_shape shape = *given;
    shape.root = 0; // so the order is that of the ranks
    mlt_emit e = mlt_emit_begin(&shape, program, rank);
    uint32_t radix = shape.radix ? shape.radix : 2;
    mlt_goal_span in = mlt_emit_buffer(&e, "in", e.n), out = mlt_emit_buffer(&e, "out", e.n);
    bool leaf = mlt_tree_size(rank, e.ranks, radix) == 1;
    uint32_t last = mlt_tree_reduce(&e, rank, radix, in, out);
    if (e.ranks == 1)
        mlt_emit_copy(&e, out, in, NONE);
    if (rank)
        last = mlt_emit_send(&e, leaf ? in : out, mlt_tree_parent(rank, radix), last);
    mlt_tree_bcast(&e, rank, radix, out, leaf && rank ? (uint32_t)NONE : last);
}

const mlt_coll_alg mlt_allreduce_reduce_bcast = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "reduce_bcast",
    .help = "up and down a tree with --radix k (2): the fewest messages, 2(P-1)",
    .in_order = true,
    .uses_radix = true,
    .refuses = mlt_tree_refuses,
    .emit = emit,
};
