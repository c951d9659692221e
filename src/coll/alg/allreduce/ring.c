// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, ring: see ring.h.
#include "coll/alg/ring.h"
#include "coll/alg/alg_int.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_ring_allreduce(shape, program, rank, 1);
}

const mlt_coll_alg mlt_allreduce_ring = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "ring",
    .help = "2(P-1) steps between neighbours, the fewest bytes: long messages, not many ranks",
    .in_place = true,
    .emit = emit,
};
