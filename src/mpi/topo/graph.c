// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies: every rank gives the whole graph, and a worker keeps it once. With reorder
// every rank computes the same new numbers from it.
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/topo/reorder.h"
#include "mpi/topo/topo.h"
#include "mpi_bodies.h"

static int check_graph(mlt_rank *me, mlt_comm *comm, int nnodes, const int *index, const int *edges)
{
    if (comm->inter)
        return mlt_topo_inter(me, comm);
    if (nnodes < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "nnodes", nnodes, "at least 0");
    if (nnodes > comm->size)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                             "argument nnodes is %d, but should be at most the %d ranks of %s",
                             nnodes, comm->size, mlt_comm_name(me, comm));
    if (nnodes == 0)
        return MPI_SUCCESS;
    if (!index)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "index",
                            "an array, as nnodes is above 0");
    for (int i = 0, before = 0; i < nnodes; before = index[i++])
        if (index[i] < before)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                                 "index[%d] is %d, but should be at least %d, as index counts the "
                                 "edges of all nodes so far",
                                 i, index[i], before);
    if (index[nnodes - 1] > 0 && !edges)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "edges",
                            "an array, as index says that there are edges");
    for (int i = 0; i < index[nnodes - 1]; i++)
        if (edges[i] < 0 || edges[i] >= nnodes)
            return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                                 "edges[%d] is %d, but should be a node from 0 to %d", i, edges[i],
                                 nnodes - 1);
    return MPI_SUCCESS;
}

// The new rank of the calling one, which has a node.
static int graph_new_rank(mlt_rank *me, mlt_comm *comm, int nnodes, const int *index,
                          const int *edges)
{
    mlt_topo_where_memory memory;
    mlt_topo_where where = mlt_topo_where_of(me, comm, nnodes, &memory);
    if (mlt_topo_where_together(&where))
        return comm->rank;
    int count = index[nnodes - 1], rank = comm->rank;
    mlt_topo_edge *list = mlt_xcalloc((size_t)count, sizeof *list);
    int32_t *newrank = mlt_xcalloc((size_t)nnodes, sizeof *newrank);
    for (int v = 0, i = 0; v < nnodes; v++)
        for (; i < index[v]; i++)
            list[i] = (mlt_topo_edge){v, edges[i], 1};
    if (mlt_reorder_graph(&where, list, count, newrank))
        rank = newrank[rank];
    free(list);
    free(newrank);
    return rank;
}

int mlt_mpi_Graph_create(mlt_rank *me, mlt_comm *comm_old, int nnodes, const int index[],
                         const int edges[], int reorder, MPI_Comm *comm_graph)
{
    int code = check_graph(me, comm_old, nnodes, index, edges);
    if (code != MPI_SUCCESS)
        return code;
    if (nnodes == 0) {
        *comm_graph = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    bool member = comm_old->rank < nnodes;
    int rank =
        reorder && member ? graph_new_rank(me, comm_old, nnodes, index, edges) : comm_old->rank;
    return mlt_topo_make(me, comm_old, member ? 0 : MPI_UNDEFINED, rank,
                         mlt_topo_new_graph(nnodes, index, edges), comm_graph);
}

int mlt_mpi_Graph_map(mlt_rank *me, mlt_comm *comm, int nnodes, const int index[],
                      const int edges[], int *newrank)
{
    int code = check_graph(me, comm, nnodes, index, edges);
    if (code == MPI_SUCCESS)
        *newrank =
            comm->rank < nnodes ? graph_new_rank(me, comm, nnodes, index, edges) : MPI_UNDEFINED;
    return code;
}

// Raises unless the caller's array holds `count` elements.
static int graph_check_room(mlt_rank *me, mlt_comm *comm, const char *name, int room, int count,
                            const char *what)
{
    if (room >= count)
        return MPI_SUCCESS;
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_ARG,
                         "argument %s is %d, but should be at least the number of %s, %d", name,
                         room, what, count);
}

int mlt_mpi_Graph_get(mlt_rank *me, mlt_comm *comm, int maxindex, int maxedges, int index[],
                      int edges[])
{
    int nodes = comm->topo->graph.nnodes, count = comm->topo->graph.index[nodes - 1];
    int code = graph_check_room(me, comm, "maxindex", maxindex, nodes, "nodes");
    if (code == MPI_SUCCESS)
        code = graph_check_room(me, comm, "maxedges", maxedges, count, "edges");
    if (code != MPI_SUCCESS)
        return code;
    if (!index || (!edges && count > 0))
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, index ? "edges" : "index",
                            "an array for the result");
    memcpy(index, comm->topo->graph.index, (size_t)nodes * sizeof *index);
    if (count > 0)
        memcpy(edges, comm->topo->graph.edges, (size_t)count * sizeof *edges);
    return MPI_SUCCESS;
}

// The neighbours of a rank that the caller named; none after an error.
static int graph_neighbours(mlt_rank *me, mlt_comm *comm, int rank, const int **list, int *count)
{
    *list = NULL;
    *count = 0;
    if (rank < 0 || rank >= comm->size)
        return mlt_bad_rank(me, comm, me->fn, MPI_ERR_RANK, "rank", rank, "");
    const int *index = comm->topo->graph.index;
    int first = rank ? index[rank - 1] : 0;
    *list = comm->topo->graph.edges + first;
    *count = index[rank] - first;
    return MPI_SUCCESS;
}

int mlt_mpi_Graph_neighbors_count(mlt_rank *me, mlt_comm *comm, int rank, int *nneighbors)
{
    const int *list;
    int count, code = graph_neighbours(me, comm, rank, &list, &count);
    if (code == MPI_SUCCESS)
        *nneighbors = count;
    return code;
}

int mlt_mpi_Graph_neighbors(mlt_rank *me, mlt_comm *comm, int rank, int maxneighbors,
                            int neighbors[])
{
    const int *list;
    int count, code = graph_neighbours(me, comm, rank, &list, &count);
    if (code == MPI_SUCCESS)
        code = graph_check_room(me, comm, "maxneighbors", maxneighbors, count, "neighbours");
    if (code != MPI_SUCCESS || count == 0)
        return code;
    if (!neighbors)
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "neighbors", "an array for the result");
    memcpy(neighbors, list, (size_t)count * sizeof *neighbors);
    return MPI_SUCCESS;
}
