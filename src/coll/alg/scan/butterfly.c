// SPDX-License-Identifier: BSD-3-Clause
// Scan and exclusive scan, butterfly: aligned groups of 2, 4, 8, ... ranks tell each other their
// values. The brackets are those of an allreduce over the ranks up to this one, or to the one
// before. See canonical.h.
#include "coll/alg/alg_int.h"
#include "coll/alg/canonical.h"

static void scan_butterfly_emit_scan(const mlt_coll_shape *shape, mlt_goal_program *program,
                                     uint32_t rank)
{
    mlt_canonical_scan(shape, program, rank, false);
}

const mlt_coll_alg mlt_scan_butterfly = {
    .collective = MLT_COLL_SCAN,
    .name = "butterfly",
    .help = "ceil(log2 P) rounds in fixed brackets: short messages, reproducible",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .emit = scan_butterfly_emit_scan,
};

static void scan_butterfly_emit_exscan(const mlt_coll_shape *shape, mlt_goal_program *program,
                                       uint32_t rank)
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
    .emit = scan_butterfly_emit_exscan,
};
