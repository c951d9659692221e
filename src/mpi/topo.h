// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies: what a communicator knows of its neighbourhood. Immutable and counted; a
// Cartesian grid or a graph is one object a worker for all its ranks, a distributed graph is each
// rank's own.
#ifndef MLT_MPI_TOPO_H
#define MLT_MPI_TOPO_H

#include <stdbool.h>
#include <stdint.h>

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

void mlt_topo_drop(mlt_topo *topo); // NULL is allowed

// The same topology.
bool mlt_topo_equal(const mlt_topo *a, const mlt_topo *b);

#endif
