// SPDX-License-Identifier: BSD-3-Clause
// The list of all algorithms. A new one is a file COLLECTIVE/NAME.c that defines
// `const mlt_coll_alg mlt_COLLECTIVE_NAME`, and a line here; the recipe is in
// docs/reference/goal-algorithms.md. Algorithms that differ in a parameter share a file.
#pragma once

#include "coll/alg/alg.h"

#define MLT_COLL_LIST(X)                                                                           \
    X(barrier_dissemination)                                                                       \
    X(barrier_double_ring)                                                                         \
    X(barrier_linear)                                                                              \
    X(barrier_tree)                                                                                \
    X(barrier_recursive_doubling)                                                                  \
    X(barrier_hosts)                                                                               \
    X(bcast_binomial)                                                                              \
    X(bcast_knomial)                                                                               \
    X(bcast_knomial_pipelined)                                                                     \
    X(bcast_linear)                                                                                \
    X(bcast_chain)                                                                                 \
    X(bcast_binary)                                                                                \
    X(bcast_split_binary)                                                                          \
    X(bcast_double_binary)                                                                         \
    X(bcast_circulant)                                                                             \
    X(bcast_scatter_allgather)                                                                     \
    X(bcast_scatter_doubling)                                                                      \
    X(bcast_hosts)                                                                                 \
    X(bcast_leaders)                                                                               \
    X(reduce_binomial)                                                                             \
    X(reduce_binomial_pipelined)                                                                   \
    X(reduce_knomial)                                                                              \
    X(reduce_knomial_pipelined)                                                                    \
    X(reduce_linear)                                                                               \
    X(reduce_gather)                                                                               \
    X(reduce_arrival)                                                                              \
    X(reduce_chain)                                                                                \
    X(reduce_in_order_binary)                                                                      \
    X(reduce_double_binary)                                                                        \
    X(reduce_circulant)                                                                            \
    X(reduce_rabenseifner)                                                                         \
    X(reduce_hosts)                                                                                \
    X(allreduce_recursive_doubling)                                                                \
    X(allreduce_recursive_multiplying)                                                             \
    X(allreduce_canonical)                                                                         \
    X(allreduce_dissemination)                                                                     \
    X(allreduce_rabenseifner)                                                                      \
    X(allreduce_halving_doubling)                                                                  \
    X(allreduce_circulant)                                                                         \
    X(allreduce_ring)                                                                              \
    X(allreduce_ring_segmented)                                                                    \
    X(allreduce_reduce_bcast)                                                                      \
    X(allreduce_binomial)                                                                          \
    X(allreduce_binary)                                                                            \
    X(allreduce_double_binary)                                                                     \
    X(allreduce_chain)                                                                             \
    X(allreduce_allgather)                                                                         \
    X(allreduce_hosts)                                                                             \
    X(allreduce_leaders)                                                                           \
    X(gather_linear)                                                                               \
    X(gather_binomial)                                                                             \
    X(gather_knomial)                                                                              \
    X(gather_linear_sync)                                                                          \
    X(gather_hosts)                                                                                \
    X(scatter_linear)                                                                              \
    X(scatter_binomial)                                                                            \
    X(scatter_knomial)                                                                             \
    X(scatter_hosts)                                                                               \
    X(allgather_ring)                                                                              \
    X(allgather_bruck)                                                                             \
    X(allgather_recursive_doubling)                                                                \
    X(allgather_neighbour_exchange)                                                                \
    X(allgather_linear)                                                                            \
    X(allgather_sparbit)                                                                           \
    X(allgather_gather_bcast)                                                                      \
    X(allgather_hosts)                                                                             \
    X(alltoall_linear)                                                                             \
    X(alltoall_pairwise)                                                                           \
    X(alltoall_bruck)                                                                              \
    X(alltoall_scattered)                                                                          \
    X(alltoall_hosts)                                                                              \
    X(reduce_scatter_recursive_halving)                                                            \
    X(reduce_scatter_ring)                                                                         \
    X(reduce_scatter_pairwise)                                                                     \
    X(reduce_scatter_canonical)                                                                    \
    X(reduce_scatter_recursive_doubling)                                                           \
    X(reduce_scatter_butterfly)                                                                    \
    X(reduce_scatter_hosts)                                                                        \
    X(reduce_scatter_leaders)                                                                      \
    X(scan_linear)                                                                                 \
    X(scan_recursive_doubling)                                                                     \
    X(scan_butterfly)                                                                              \
    X(scan_hosts)                                                                                  \
    X(exscan_linear)                                                                               \
    X(exscan_recursive_doubling)                                                                   \
    X(exscan_butterfly)                                                                            \
    X(exscan_hosts)                                                                                \
    X(reduce_to_aspen)                                                                             \
    X(reduce_to_binomial)                                                                          \
    X(reduce_to_linear)                                                                            \
    X(exchange_scattered)                                                                          \
    X(exchange_linear)                                                                             \
    X(exchange_pairwise)

#define MLT_COLL_DECLARE(name) extern const mlt_coll_alg mlt_##name;
MLT_COLL_LIST(MLT_COLL_DECLARE)

// Bytes of an element.
static inline uint64_t mlt_coll_element(const mlt_coll_shape *shape)
{
    return shape->element ? shape->element : mlt_op_type_bytes[shape->type];
}

// Elements of a segment: the shape's, or what is chosen if it says none.
uint64_t mlt_coll_segment(const mlt_coll_shape *shape);
