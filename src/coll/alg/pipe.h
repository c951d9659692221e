// SPDX-License-Identifier: BSD-3-Clause
// What is done over trees, whatever their shape (tree.h): broadcast, reduction, and one after the
// other. The table says the trees of each algorithm (mlt_coll_alg.tree), and whether blocks are cut
// into segments. With two trees every other segment goes along either.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "coll/alg/emit.h"
#include "coll/alg/tree.h"

// One segment over one tree. Receives from all children and reduces `own` and theirs into `acc`,
// which may be the same. tmp: room for mlt_pipe_slots blocks of `stride` bytes, of which those at
// tmp.at onwards are this segment's. Returns the last action (NONE: there are no children; acc is
// not touched).
uint32_t mlt_pipe_slots(const mlt_tree *tree, uint32_t rank, bool in_place);
uint32_t mlt_pipe_combine(const mlt_emit *e, const mlt_tree *tree, mlt_goal_span own,
                          mlt_goal_span acc, mlt_goal_span tmp, uint64_t stride);
