// SPDX-License-Identifier: BSD-3-Clause
// The ring's allreduce: the block is cut into P pieces; each goes round once and collects, and
// round once more and tells. What comes is received straight into the result and one's own is added
// to it, so no other memory is needed, unless it is done in place.
#ifndef MLT_COLL_ALG_RING_H
#define MLT_COLL_ALG_RING_H

#include <stdint.h>

#include "coll/alg/emit.h"

// With pieces cut into so many parts, each of which goes its own way: what comes is combined while
// the next part is under way.
void mlt_ring_allreduce(const mlt_coll_shape *shape, mlt_goal_program *program, uint32_t rank,
                        uint32_t parts);

#endif
