// SPDX-License-Identifier: BSD-3-Clause
// What the algorithms are made of. A new one is a file COLLECTIVE/NAME.c with a function
// mlt_alg_COLLECTIVE_NAME, a name here and a row in table.c; the recipe is in
// docs/reference/goal-algorithms.md. Algorithms that differ in a parameter share a function.
#pragma once

#include "coll/alg/alg.h"
#include "coll/alg/emit.h"

typedef void mlt_alg_emit(const mlt_emit *e);
typedef const char *mlt_alg_refuse(const mlt_coll_shape *shape);

mlt_alg_emit mlt_alg_barrier_dissemination, mlt_alg_barrier_double_ring, mlt_alg_barrier_linear,
    mlt_alg_barrier_tree, mlt_alg_barrier_recursive_doubling, mlt_alg_barrier_hosts,
    mlt_alg_bcast_binomial, mlt_alg_bcast_pipe, mlt_alg_bcast_linear, mlt_alg_bcast_split_binary,
    mlt_alg_bcast_circulant, mlt_alg_bcast_scatter_ring, mlt_alg_bcast_scatter_doubling,
    mlt_alg_bcast_hosts, mlt_alg_bcast_leaders, mlt_alg_reduce_pipe, mlt_alg_reduce_linear,
    mlt_alg_reduce_gather, mlt_alg_reduce_arrival, mlt_alg_reduce_circulant,
    mlt_alg_reduce_rabenseifner, mlt_alg_reduce_hosts, mlt_alg_allreduce_recursive_doubling,
    mlt_alg_allreduce_recursive_multiplying, mlt_alg_allreduce_canonical,
    mlt_alg_allreduce_dissemination, mlt_alg_allreduce_rabenseifner, mlt_alg_allreduce_circulant,
    mlt_alg_allreduce_ring, mlt_alg_allreduce_pipe, mlt_alg_allreduce_hosts,
    mlt_alg_allreduce_leaders, mlt_alg_gather_linear, mlt_alg_gather_tree,
    mlt_alg_gather_linear_sync, mlt_alg_gather_hosts, mlt_alg_scatter_linear, mlt_alg_scatter_tree,
    mlt_alg_scatter_hosts, mlt_alg_allgather_ring, mlt_alg_allgather_bruck,
    mlt_alg_allgather_recursive_doubling, mlt_alg_allgather_neighbour_exchange,
    mlt_alg_allgather_linear, mlt_alg_allgather_sparbit, mlt_alg_allgather_gather_bcast,
    mlt_alg_allgather_hosts, mlt_alg_alltoall_linear, mlt_alg_alltoall_pairwise,
    mlt_alg_alltoall_bruck, mlt_alg_alltoall_hosts, mlt_alg_reduce_scatter_recursive_halving,
    mlt_alg_reduce_scatter_ring, mlt_alg_reduce_scatter_pairwise, mlt_alg_reduce_scatter_canonical,
    mlt_alg_reduce_scatter_recursive_doubling, mlt_alg_reduce_scatter_butterfly,
    mlt_alg_reduce_scatter_hosts, mlt_alg_reduce_scatter_leaders, mlt_alg_scan_linear,
    mlt_alg_scan_recursive_doubling, mlt_alg_scan_butterfly, mlt_alg_scan_hosts,
    mlt_alg_exscan_linear, mlt_alg_exscan_recursive_doubling, mlt_alg_exscan_hosts,
    mlt_alg_reduce_to_aspen, mlt_alg_reduce_to_binomial, mlt_alg_reduce_to_linear,
    mlt_alg_exchange_scattered, mlt_alg_exchange_linear, mlt_alg_exchange_pairwise;
mlt_alg_refuse mlt_alg_barrier_hosts_refuses, mlt_alg_leaders_refuses,
    mlt_alg_allreduce_dissemination_refuses, mlt_alg_allreduce_ring_refuses,
    mlt_alg_allgather_recursive_doubling_refuses, mlt_alg_neighbour_exchange_refuses,
    mlt_alg_scan_hosts_refuses;

// Bytes of an element.
static inline uint64_t mlt_coll_element(const mlt_coll_shape *shape)
{
    return shape->element ? shape->element : mlt_op_type_bytes[shape->type];
}

// Elements of a segment: the shape's, or what is chosen if it says none.
uint64_t mlt_coll_segment(const mlt_coll_shape *shape);
