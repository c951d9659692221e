// SPDX-License-Identifier: BSD-3-Clause
// Reduction, gather: the root receives everything at once, then reduces in the order of ranks. Two
// operands are combined as soon as both are there, however late others are. Allreduce: everybody
// tells everybody at once and reduces for itself, in the same brackets.
#include <stdlib.h>

#include "coll/alg/alg_int.h"
#include "coll/alg/canonical.h"

void mlt_alg_reduce_gather(const mlt_emit *e)
{
    bool all = e->alg->collective == MLT_COLL_ALLREDUCE, gets = all || e->rank == e->shape->root;
    mlt_operands o = mlt_operands_begin(e, gets);
    if (!gets)
        mlt_emit_send(e, o.in, e->shape->root, NONE);
    if (!gets || mlt_operands_copy_if_alone(e, &o))
        return;
    uint32_t *from = mlt_emit_actions(e->ranks);
    for (uint32_t r = 0; r < e->ranks; r++)
        from[r] = r;
    mlt_canonical_combine(e, &o, from, e->ranks, e->rank, all);
    free(from);
}
