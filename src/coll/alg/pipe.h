// SPDX-License-Identifier: BSD-3-Clause
// What is done over trees, whatever their shape (tree.h): broadcast, reduction, and one after the
// other. With several trees, segment s goes along tree s modulo their number.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

typedef struct mlt_pipe {
    mlt_tree tree[2];
    uint32_t trees;
    bool cut; // into segments; else the block goes as a whole
} mlt_pipe;

static inline mlt_pipe mlt_pipe_of(const mlt_coll_shape *shape, const mlt_tree_shape *tree,
                                   uint32_t root, uint32_t radix, bool cut)
{
    return (mlt_pipe){{{tree, shape->ranks, root, radix}}, 1, cut};
}

// Both of mlt_tree_double, always in segments.
static inline mlt_pipe mlt_pipe_double(const mlt_coll_shape *shape, uint32_t root)
{
    return (mlt_pipe){{{&mlt_tree_double[0], shape->ranks, root, 0},
                       {&mlt_tree_double[1], shape->ranks, root, 0}},
                      2,
                      true};
}

// Whole algorithms: one rank's buffers and actions. The trees' root is the operation's; for
// allreduce any, rank 0 if the order must be kept.
void mlt_pipe_bcast(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                    const mlt_pipe *pipe);
void mlt_pipe_reduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                     const mlt_pipe *pipe);
void mlt_pipe_allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                        const mlt_pipe *pipe);

// One segment over one tree. Receives from all children and reduces `own` and theirs into `acc`,
// which may be the same. tmp: room for mlt_pipe_slots blocks of `stride` bytes, of which those at
// tmp.at onwards are this segment's. Returns the last action (NONE: there are no children; acc is
// not touched).
uint32_t mlt_pipe_slots(const mlt_tree *tree, uint32_t rank, bool in_place);
uint32_t mlt_pipe_combine(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span own,
                          mlt_goal_span acc, mlt_goal_span tmp, uint64_t stride);

// Receives from the parent, if there is one, and sends to the children, the last first. What
// overwrites `buf` or reads it comes after `ready`.
void mlt_pipe_spread(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span buf, uint32_t ready);
