// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, allgather and local reduction: everybody tells everybody at once and reduces for
// itself, in the same brackets.
#include "coll/alg/alg_int.h"
#include "coll/alg/canonical.h"

static void allgather_emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_emit e = mlt_emit_begin(shape, program, rank);
    mlt_operands o = mlt_operands_begin(&e, true);
    if (e.ranks == 1)
        mlt_operands_copy(&e, &o);
    else
        mlt_canonical_gather(&e, &o, true);
}

const mlt_coll_alg mlt_allreduce_allgather = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "allgather",
    .help = "everybody tells everybody: no waiting twice: very short messages, a handful of ranks",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .emit = allgather_emit,
};
