// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, recursive halving and doubling for powers of two: Rabenseifner's, whose brackets are
// then the canonical ones, for every piece.
#include "coll/alg/alg_int.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    mlt_allreduce_rabenseifner.emit(shape, program, rank);
}

static const char *refuses(const mlt_coll_shape *shape)
{
    return shape->ranks & (shape->ranks - 1) ? "the number of ranks must be a power of two" : NULL;
}

const mlt_coll_alg mlt_allreduce_halving_doubling = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "halving_doubling",
    .help = "rabenseifner for powers of two, where it is reproducible: long messages",
    .in_order = true,
    .canonical = true,
    .in_place = true,
    .refuses = refuses,
    .emit = emit,
};
