// SPDX-License-Identifier: BSD-3-Clause
// The list of all algorithms. A new one is a file COLLECTIVE_NAME.c that defines
// `const mlt_coll_alg mlt_COLLECTIVE_NAME`, and a line here (docs/goal-algorithms.md).
#ifndef MLT_COLL_COLL_INT_H
#define MLT_COLL_COLL_INT_H

#include "coll/coll.h"

#define MLT_COLL_LIST(X)                                                                           \
    X(barrier_dissemination)                                                                       \
    X(bcast_binomial)                                                                              \
    X(bcast_linear)                                                                                \
    X(bcast_chain)                                                                                 \
    X(reduce_binomial)                                                                             \
    X(allreduce_recursive_doubling)                                                                \
    X(allgather_ring)                                                                              \
    X(alltoall_linear)

#define MLT_COLL_DECLARE(name) extern const mlt_coll_alg mlt_##name;
MLT_COLL_LIST(MLT_COLL_DECLARE)

// Elements of a segment: the shape's, or what is chosen if it says none.
uint64_t mlt_coll_segment(const mlt_coll_shape *shape);

#endif
