// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter over k-nomial trees (tree.h), counted from the root: a subtree's blocks lie
// side by side and go in one message. Of the blocks of the root's children one lot may go over the
// end of the root's buffer; that one goes by way of other memory.
#ifndef MLT_COLL_ALG_GATHER_TREE_H
#define MLT_COLL_ALG_GATHER_TREE_H

#include <stdint.h>

#include "coll/alg/alg.h"

void mlt_coll_gather_tree(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                          uint32_t radix);
void mlt_coll_scatter_tree(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                           uint32_t radix);

#endif
