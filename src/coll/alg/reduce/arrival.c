// SPDX-License-Identifier: BSD-3-Clause
// Reduction as messages arrive: the paper's Listing 8, over a k-nomial tree, and the version out of
// order that it leaves open, as far as fixed dependencies can say it. All receives are posted at
// once, each with its own memory. The listing reduces in a chain, in which one late message holds
// up all that follow. Here messages are combined in pairs, and pairs of pairs: each step waits for
// its two operands only, however late others are. The pairs are fixed, so the result has the same
// bits whatever the order of arrival.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/canonical.h"
#include "coll/alg/emit.h"
#include "coll/alg/operands.h"
#include "coll/alg/tree.h"

// The ranks whose values are combined here, in order: children below, this one, children above.
static uint32_t *operands_of(const mlt_tree *tree, uint32_t rank, uint32_t *count, uint32_t *own)
{
    uint32_t child, below = 0, all = 0;
    for (; (child = tree->shape->child(tree, rank, all)) != NONE; all++)
        below += child < rank;
    uint32_t *from = mlt_emit_actions(all + 1), down = below, up = below;
    from[below] = rank;
    for (uint32_t i = 0; i < all; i++) {
        child = tree->shape->child(tree, rank, i);
        from[child < rank ? --down : ++up] = child;
    }
    *count = all + 1;
    *own = below;
    return from;
}

void mlt_alg_reduce_arrival(const mlt_emit *e)
{
    uint32_t rank = e->rank;
    mlt_operands o = mlt_operands_begin(e, rank == e->shape->root);
    if (e->ranks == 1)
        mlt_operands_copy(e, &o);
    mlt_tree tree = {&mlt_tree_knomial, e->ranks, e->shape->root,
                     e->shape->radix ? e->shape->radix : 2};
    uint32_t count, own, *from = operands_of(&tree, rank, &count, &own), last = NONE;
    if (count > 1) {
        if (rank != e->shape->root)
            o.out = mlt_emit_buffer(e, "tmp_acc", e->n);
        last = mlt_canonical_combine(e, &o, from, count, own, false);
    }
    if (rank != e->shape->root)
        mlt_emit_send(e, count > 1 ? o.out : o.in, tree.shape->parent(&tree, rank), last);
    free(from);
}
