// SPDX-License-Identifier: BSD-3-Clause
// Topologies as objects: one block of memory each, the arrays after the struct.
#include "mpi/topo/topo.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/comm/new.h"
#include "mpi/error/error.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"

static mlt_topo *new_topo(int kind, size_t ints)
{
    mlt_topo *topo = mlt_xcalloc(1, sizeof *topo + ints * sizeof(int));
    topo->refs = 1;
    topo->kind = kind;
    return topo;
}

// Takes n ints from the memory after a topology, and copies them unless there is nothing to copy.
static int *topo_take(int **memory, const int *from, int n)
{
    int *taken = *memory;
    *memory += n;
    if (n > 0 && from)
        memcpy(taken, from, (size_t)n * sizeof *taken);
    return taken;
}

mlt_topo *mlt_topo_new_cart(int ndims, const int *dims, const int *periods)
{
    mlt_topo *topo = new_topo(MPI_CART, 2 * (size_t)ndims);
    int *memory = (int *)(topo + 1);
    topo->cart.ndims = ndims;
    topo->cart.dims = topo_take(&memory, dims, ndims);
    topo->cart.periods = topo_take(&memory, NULL, ndims);
    for (int i = 0; i < ndims; i++)
        topo->cart.periods[i] = periods[i] != 0;
    return topo;
}

mlt_topo *mlt_topo_new_graph(int nnodes, const int *index, const int *edges)
{
    int count = nnodes ? index[nnodes - 1] : 0;
    mlt_topo *topo = new_topo(MPI_GRAPH, (size_t)nnodes + (size_t)count);
    int *memory = (int *)(topo + 1);
    topo->graph.nnodes = nnodes;
    topo->graph.index = topo_take(&memory, index, nnodes);
    topo->graph.edges = topo_take(&memory, edges, count);
    return topo;
}

mlt_topo *mlt_topo_new_dist(int indegree, const int *sources, const int *source_weights,
                            int outdegree, const int *destinations, const int *destination_weights,
                            bool weighted)
{
    size_t degrees = (size_t)indegree + (size_t)outdegree;
    mlt_topo *topo = new_topo(MPI_DIST_GRAPH, weighted ? 2 * degrees : degrees);
    int *memory = (int *)(topo + 1);
    topo->dist.indegree = indegree;
    topo->dist.outdegree = outdegree;
    topo->dist.weighted = weighted;
    topo->dist.sources = topo_take(&memory, sources, indegree);
    topo->dist.destinations = topo_take(&memory, destinations, outdegree);
    if (weighted) {
        topo->dist.source_weights = topo_take(&memory, source_weights, indegree);
        topo->dist.destination_weights = topo_take(&memory, destination_weights, outdegree);
    }
    return topo;
}

void mlt_topo_drop(mlt_topo *topo)
{
    if (topo && --topo->refs == 0)
        free(topo);
}

static bool same(const int *a, const int *b, int n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_dist(const mlt_topo *a, const mlt_topo *b)
{
    int in = a->dist.indegree, out = a->dist.outdegree;
    if (in != b->dist.indegree || out != b->dist.outdegree ||
        a->dist.weighted != b->dist.weighted || !same(a->dist.sources, b->dist.sources, in) ||
        !same(a->dist.destinations, b->dist.destinations, out))
        return false;
    return !a->dist.weighted ||
           (same(a->dist.source_weights, b->dist.source_weights, in) &&
            same(a->dist.destination_weights, b->dist.destination_weights, out));
}

bool mlt_topo_equal(const mlt_topo *a, const mlt_topo *b)
{
    if (a == b || a->kind != b->kind)
        return a == b;
    if (a->kind == MPI_CART)
        return a->cart.ndims == b->cart.ndims && same(a->cart.dims, b->cart.dims, a->cart.ndims) &&
               same(a->cart.periods, b->cart.periods, a->cart.ndims);
    if (a->kind == MPI_DIST_GRAPH)
        return same_dist(a, b);
    int n = a->graph.nnodes;
    return n == b->graph.nnodes && same(a->graph.index, b->graph.index, n) &&
           same(a->graph.edges, b->graph.edges, n ? a->graph.index[n - 1] : 0);
}

// ---- bodies

// "a Cartesian topology": what a communicator has, for error messages.
static const char *kind_name(int kind)
{
    return kind == MPI_CART    ? "a Cartesian topology"
           : kind == MPI_GRAPH ? "a graph topology"
                               : "a distributed graph topology";
}

int mlt_bad_topology(mlt_rank *me, mlt_comm *comm, uint16_t fn, int kind)
{
    mlt_gate *gate = mlt_thread_gate_in(me); // for the name
    int code = mlt_mpi_raise(
        me, comm, fn, MPI_ERR_TOPOLOGY, "%s has %s, but should have %s", mlt_comm_name(me, comm),
        comm->topo ? kind_name(comm->topo->kind) : "no topology", kind_name(kind));
    mlt_thread_gate_out(gate);
    return code;
}

int mlt_topo_inter(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                         "%s is an intercommunicator, but should be an intracommunicator",
                         mlt_comm_name(me, comm));
}

int mlt_topo_make(mlt_rank *me, mlt_comm *comm, int color, int key, mlt_topo *topo, MPI_Comm *out)
{
    mlt_comm *new = NULL;
    int code = mlt_comm_split(me, comm, color, key, &new);
    if (new)
        mlt_comm_set_topo(new, topo);
    else
        mlt_topo_drop(topo);
    if (code == MPI_SUCCESS)
        *out = new ? mlt_comm_handle(me, new) : MPI_COMM_NULL;
    return code;
}

int mlt_mpi_Topo_test(mlt_rank *me, mlt_comm *comm, int *status)
{
    if (MLT_UNLIKELY(!status)) // elsewhere a status may be NULL, so the surface does not look
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "status",
                            "the address of the variable for the result");
    *status = comm->topo ? comm->topo->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
