// SPDX-License-Identifier: BSD-3-Clause
// Reduction from a set of ranks to another set, which balances several reductions that overlap: the
// algorithm of the language Aspen, see reduce_to.h. The order of combining depends on the load, so
// the operation must commute. All receivers get the same bits.
#include "coll/alg/alg_int.h"
#include "coll/alg/reduce_to.h"

void mlt_alg_reduce_to_aspen(const mlt_emit *e)
{
    const mlt_coll_shape *s = e->shape;
    mlt_reduce_to_plan plan =
        mlt_reduce_to_plan_new(s->ranks, s->contributes, s->receives, s->user);
    mlt_reduce_to_plan_emit(&plan, e);
    mlt_reduce_to_plan_free(&plan);
}
