// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies: what a communicator knows of its neighbourhood. Immutable and counted; a
// Cartesian grid or a graph is one object a worker for all its ranks, a distributed graph is each
// rank's own.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "p2p/p2p.h"

typedef struct mlt_topo {
    uint32_t refs;
    int kind; // MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH
    union {
        struct {
            int ndims;
            int *dims, *periods; // [ndims]
        } cart;
        struct {
            int nnodes;
            int *index, *edges; // as MPI_Graph_create's
        } graph;
        struct {
            int indegree, outdegree;
            bool weighted;
            int *sources, *destinations;               // [indegree], [outdegree]
            int *source_weights, *destination_weights; // NULL unless weighted
        } dist;
    };
} mlt_topo;

static inline mlt_topo *mlt_topo_hold(mlt_topo *topo)
{
    if (topo)
        topo->refs++;
    return topo;
}

// Each returns a topology with one reference, the caller's, and copies the arrays. They end the
// process when memory is out. Arrays of 0 elements may be NULL; weights too, unless weighted.
mlt_topo *mlt_topo_new_cart(int ndims, const int *dims, const int *periods);
mlt_topo *mlt_topo_new_graph(int nnodes, const int *index, const int *edges);
mlt_topo *mlt_topo_new_dist(int indegree, const int *sources, const int *source_weights,
                            int outdegree, const int *destinations, const int *destination_weights,
                            bool weighted);

void mlt_topo_drop(mlt_topo *topo); // NULL is allowed

// The same topology.
bool mlt_topo_equal(const mlt_topo *a, const mlt_topo *b);

// Raise MPI_ERR_TOPOLOGY for a communicator that has none of that kind, and MPI_ERR_COMM for an
// intercommunicator.
int mlt_bad_topology(mlt_rank *me, mlt_comm *comm, uint16_t fn, int kind) MLT_COLD;
int mlt_topo_inter(mlt_rank *me, mlt_comm *comm) MLT_COLD;

// The surface asks it for functions that need a topology.
static inline bool mlt_topo_is(const mlt_comm *comm, int kind)
{
    return comm->topo && comm->topo->kind == kind;
}

// mlt_comm_split, whose communicators get the topology; consumes the reference. An MPI code, raised.
int mlt_topo_make(mlt_rank *me, mlt_comm *comm, int color, int key, mlt_topo *topo, MPI_Comm *out);
