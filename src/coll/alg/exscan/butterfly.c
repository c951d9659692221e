// SPDX-License-Identifier: BSD-3-Clause
// Exclusive scan, butterfly: aligned groups of 2, 4, 8, ... ranks tell each other their values. The
// brackets are those of an allreduce over the ranks up to the one before. See canonical.h.
#include "coll/alg/canonical.h"
#include "coll/alg/coll_int.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_canonical_scan(shape, program, rank, true);
}

const mlt_coll_alg mlt_exscan_butterfly = {
    .collective = MLT_COLL_EXSCAN,
    .name = "butterfly",
    .help = "ceil(log2 P) rounds in fixed brackets: short messages, reproducible",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .emit = emit,
};
