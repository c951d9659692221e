// SPDX-License-Identifier: BSD-3-Clause
// Neighbourhood collectives: every rank exchanges messages with its neighbours in the
// communicator's topology.
//
// The n-th block to a neighbour meets the neighbour's n-th block from here. In a grid a neighbour
// may be on both sides, or be the rank itself (periodic dimensions of size 2 and 1); there the
// direction decides: what goes down comes from above. So messages of a grid are known by a tag for
// dimension and direction.
#include "mpi/coll/coll.h"
#include "mpi/coll/list.h"
#include "mpi/error/error.h"
#include "mpi/topo/topo.h"

// ---- neighbours

// Of block i: dimension i / 2, downwards for even ones, which are the negative direction.
static int32_t cart_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    const mlt_topo *topo = comm->topo;
    int d = (int)(i / 2), stride = 1;
    bool up = i % 2;
    for (int k = topo->cart.ndims - 1; k > d; k--)
        stride *= topo->cart.dims[k];
    int size = topo->cart.dims[d], at = comm->rank / stride % size;
    *tag = sends ? (int32_t)i : (int32_t)(i ^ 1); // what comes from below was sent upwards
    if (up ? at + 1 < size : at > 0)
        return comm->rank + (up ? stride : -stride);
    if (!topo->cart.periods[d])
        return -1;
    return comm->rank + (up ? -(size - 1) : size - 1) * stride;
}

static int32_t graph_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    const mlt_topo *topo = comm->topo;
    int first = comm->rank ? topo->graph.index[comm->rank - 1] : 0;
    return topo->graph.edges[(uint32_t)first + i];
}

static int32_t dist_peer(const mlt_comm *comm, int32_t root, bool sends, uint32_t i, int32_t *tag)
{
    const mlt_topo *topo = comm->topo;
    return sends ? topo->dist.destinations[i] : topo->dist.sources[i];
}

// How many neighbours there are to send to and to receive from, and who they are.
typedef struct neighbor_neighbours {
    uint32_t out, in;
    mlt_coll_list_peer *peer;
} neighbor_neighbours;

static int neighbor_find(mlt_rank *me, mlt_comm *comm, neighbor_neighbours *n)
{
    const mlt_topo *topo = comm->topo;
    if (MLT_UNLIKELY(comm->inter))
        return mlt_topo_inter(me, comm);
    if (MLT_UNLIKELY(!topo))
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_TOPOLOGY,
                             "%s has no topology, so its ranks have no neighbours",
                             mlt_comm_name(me, comm));
    if (topo->kind == MPI_CART) {
        *n = (neighbor_neighbours){2 * (uint32_t)topo->cart.ndims, 2 * (uint32_t)topo->cart.ndims,
                                   cart_peer};
    } else if (topo->kind == MPI_GRAPH) {
        const int *index = topo->graph.index;
        uint32_t degree = (uint32_t)(index[comm->rank] - (comm->rank ? index[comm->rank - 1] : 0));
        *n = (neighbor_neighbours){degree, degree, graph_peer};
    } else {
        *n = (neighbor_neighbours){(uint32_t)topo->dist.outdegree, (uint32_t)topo->dist.indegree,
                                   dist_peer};
    }
    return MPI_SUCCESS;
}

int mlt_coll_neighbors(mlt_rank *me, mlt_coll_list *send, mlt_coll_list *recv, mlt_coll_form form,
                       mlt_comm *comm, const mlt_how *how)
{
    neighbor_neighbours n = {0};
    int code = neighbor_find(me, comm, &n);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    send->blocks = n.out;
    recv->blocks = n.in;
    send->same = form == MLT_FORM_NEIGHBOR_ALLGATHER;
    return mlt_coll_exchange(me, comm, send, recv, n.peer, 0, form, how);
}
