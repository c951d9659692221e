// SPDX-License-Identifier: BSD-3-Clause
// Who gets which rank of a new topology, so that neighbours live together: first in one worker, then
// in one unit: a process, or in a job over several hosts a host. The way to another host is so much
// longer than that to another process that the latter does not matter beside it. All of it is a
// function of the topology and of where the ranks live, which every rank knows, so that all come to
// the same answer without a message.
//
// Only whole pictures are compared: what is chosen separates fewer pairs of neighbours than leaving
// every rank where it is, or every rank stays.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

// Where ranks live.
typedef struct mlt_topo_where {
    uint32_t (*worker)(const void *of, int32_t rank);  // index of a rank's worker
    uint32_t (*unit)(const void *of, uint32_t worker); // of a worker's unit; rises with it
    const void *of;
    int32_t count; // ranks 0 .. count - 1 get a place
    bool ordered;  // from rank to rank, the worker's index never falls, or never rises
} mlt_topo_where;

// Pairs of neighbours that live apart.
typedef struct mlt_topo_cut {
    int64_t workers, units;
} mlt_topo_cut;

static inline bool mlt_topo_cut_is_less(mlt_topo_cut a, mlt_topo_cut b)
{
    return a.workers < b.workers || (a.workers == b.workers && a.units < b.units);
}

// Ranks that live together have consecutive positions.
typedef struct mlt_topo_layout {
    int32_t count, workers, units;
    int32_t *worker_end;            // [workers]: the position after its last rank's
    int32_t *unit_end;              // [units]: the same
    int32_t *position;              // of every rank; NULL: its own number
    int32_t worker_room, unit_room; // of the arrays
} mlt_topo_layout;

void mlt_topo_layout_init(mlt_topo_layout *layout, const mlt_topo_where *where);
void mlt_topo_layout_fini(mlt_topo_layout *layout);

// ---- grids

typedef struct mlt_topo_digit {
    int32_t size, weight; // weight: the distance of neighbours in the new rank
} mlt_topo_digit;

typedef struct mlt_topo_cart_plan {
    // What it is for.
    int ndims;
    int32_t count;
    int32_t base, stride; // the old communicator's ranks, if it has no map
    mlt_map *map;         // held; NULL: linear
    int *dims, *periods;
    // The answer.
    bool stays;
    int digits;
    mlt_topo_digit *digit;    // [3 * ndims], the fastest first
    int32_t *position;        // as the layout's
    mlt_topo_cut cut, before; // what it separates, and what is separated without it
} mlt_topo_cart_plan;

// The product of the dims is where->count, at least 1. The caller frees it.
mlt_topo_cart_plan *mlt_topo_cart_plan_new(const mlt_topo_where *where, int ndims, const int *dims,
                                           const int *periods);
void mlt_topo_cart_plan_free(mlt_topo_cart_plan *plan);

// The new rank of a rank below count. O(ndims).
int32_t mlt_topo_cart_plan_rank(const mlt_topo_cart_plan *plan, int32_t rank);

// The new rank of the calling rank in a grid of the first `count` ranks of comm; MPI_UNDEFINED for
// the others. Plans are remembered by the worker: its ranks make one together.
int mlt_reorder_cart(mlt_rank *me, mlt_comm *comm, int ndims, const int *dims, const int *periods,
                     int count);

// Frees what a worker remembers. NULL is allowed.
struct mlt_topo_cart_plans;
void mlt_reorder_forget(struct mlt_topo_cart_plans *plans);

// ---- graphs

typedef struct mlt_topo_edge {
    int32_t from, to, weight;
} mlt_topo_edge;

// The new ranks of where->count ranks, as many as the graph has nodes. False: all stay, and newrank
// is not written. O(nodes + edges * log edges).
bool mlt_reorder_graph(const mlt_topo_where *where, const mlt_topo_edge *edges, int64_t count,
                       int32_t *newrank);

// ---- the ranks of a communicator

// Valid as long as `memory` and comm are.
typedef struct mlt_topo_where_memory {
    const mlt_comm *comm;
    struct mlt_job *job;
    uint32_t
        stride; // 0, or worker w has number host * stride + its local one, which rises with host
} mlt_topo_where_memory;

mlt_topo_where mlt_topo_where_of(const mlt_rank *me, const mlt_comm *comm, int32_t count,
                                 mlt_topo_where_memory *memory);

// True if it is known at once that all live in one worker.
bool mlt_topo_where_together(const mlt_topo_where *where);
