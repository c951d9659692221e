// SPDX-License-Identifier: BSD-3-Clause
// Allreduce, segmented ring: a rank's piece is cut into segments, so that reducing one overlaps
// with receiving the next. See ring.h.
#include "coll/alg/alg_int.h"
#include "coll/alg/ring.h"

static void emit(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank)
{
    uint64_t piece = (shape->count + shape->ranks - 1) / shape->ranks;
    uint64_t segment = mlt_coll_segment(shape);
    uint64_t parts = piece / segment + (piece % segment != 0);
    mlt_ring_allreduce(shape, program, rank, parts ? (uint32_t)parts : 1);
}

static const char *refuses(const mlt_coll_shape *shape)
{
    // Pieces are counted in 32 bits.
    return shape->count / mlt_coll_segment(shape) + shape->ranks >= UINT32_MAX
               ? "there are more segments than it can count"
               : NULL;
}

const mlt_coll_alg mlt_allreduce_ring_segmented = {
    .collective = MLT_COLL_ALLREDUCE,
    .name = "ring_segmented",
    .help = "the ring with pieces in segments: reduces while it receives: very long messages",
    .in_place = true,
    .uses_segment = true,
    .refuses = refuses,
    .emit = emit,
};
