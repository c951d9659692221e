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
#include "mpi_bodies.h"

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

static int neighbor_go(mlt_rank *me, mlt_comm *comm, mlt_listing *send, mlt_listing *recv,
                       mlt_coll_form form, mlt_coll_how how)
{
    neighbor_neighbours n = {0};
    int code = neighbor_find(me, comm, &n);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    send->which = "send";
    recv->which = "recv";
    send->blocks = n.out;
    recv->blocks = n.in;
    return mlt_coll_list_exchange(me, comm, send, recv, n.peer, 0, form, how);
}

// ---- the operations

static int neighbor_allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                              const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                              const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = {.buf = sendbuf, .count = sendcount, .type = sendtype, .same = true};
    mlt_listing recv = {.buf = recvbuf, .count = recvcount, .type = recvtype};
    return neighbor_go(me, comm, &send, &recv, MLT_FORM_NEIGHBOR_ALLGATHER, how);
}

static int neighbor_allgatherv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                               const mlt_type *sendtype, void *recvbuf, mlt_coll_numbers recvcounts,
                               mlt_coll_numbers displs, const mlt_type *recvtype, mlt_comm *comm,
                               mlt_coll_how how)
{
    mlt_listing send = {.buf = sendbuf, .count = sendcount, .type = sendtype, .same = true};
    mlt_listing recv = {.buf = recvbuf,
                        .type = recvtype,
                        .counts = recvcounts,
                        .displs = displs,
                        .displs_name = "displs",
                        .listed = true};
    return neighbor_go(me, comm, &send, &recv, MLT_FORM_NEIGHBOR_ALLGATHER, how);
}

static int neighbor_alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                             const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                             const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = {.buf = sendbuf, .count = sendcount, .type = sendtype};
    mlt_listing recv = {.buf = recvbuf, .count = recvcount, .type = recvtype};
    return neighbor_go(me, comm, &send, &recv, MLT_FORM_NEIGHBOR_ALLTOALL, how);
}

static int alltoallv(mlt_rank *me, const void *sendbuf, mlt_coll_numbers sendcounts,
                     mlt_coll_numbers sdispls, const mlt_type *sendtype, void *recvbuf,
                     mlt_coll_numbers recvcounts, mlt_coll_numbers rdispls,
                     const mlt_type *recvtype, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = {
        .buf = sendbuf, .type = sendtype, .counts = sendcounts, .displs = sdispls, .listed = true};
    mlt_listing recv = {
        .buf = recvbuf, .type = recvtype, .counts = recvcounts, .displs = rdispls, .listed = true};
    return neighbor_go(me, comm, &send, &recv, MLT_FORM_NEIGHBOR_ALLTOALL, how);
}

static int alltoallw(mlt_rank *me, const void *sendbuf, mlt_coll_numbers sendcounts,
                     const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
                     mlt_coll_numbers recvcounts, const MPI_Aint *rdispls,
                     const MPI_Datatype *recvtypes, mlt_comm *comm, mlt_coll_how how)
{
    mlt_listing send = {.buf = sendbuf,
                        .counts = sendcounts,
                        .displs = mlt_coll_wide_displs(sdispls),
                        .types = sendtypes,
                        .typed = true,
                        .listed = true};
    mlt_listing recv = {.buf = recvbuf,
                        .counts = recvcounts,
                        .displs = mlt_coll_wide_displs(rdispls),
                        .types = recvtypes,
                        .typed = true,
                        .listed = true};
    return neighbor_go(me, comm, &send, &recv, MLT_FORM_NEIGHBOR_ALLTOALL, how);
}

// ---- MPI_Neighbor_allgather

int mlt_mpi_Neighbor_allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                               const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                               const mlt_type *recvtype, mlt_comm *comm)
{
    return neighbor_allgather(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                              MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_allgather(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                                const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return neighbor_allgather(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                              MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_allgather_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                    const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                                    const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                    MPI_Request *request)
{
    return neighbor_allgather(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                              MLT_PERSISTENT(request, info));
}

// ---- MPI_Neighbor_allgatherv

int mlt_mpi_Neighbor_allgatherv(mlt_rank *me, const void *sendbuf, int sendcount,
                                const mlt_type *sendtype, void *recvbuf, const int recvcounts[],
                                const int displs[], const mlt_type *recvtype, mlt_comm *comm)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf,
                               mlt_coll_narrow(recvcounts), mlt_coll_narrow(displs), recvtype, comm,
                               MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_allgatherv(mlt_rank *me, const void *sendbuf, int sendcount,
                                 const mlt_type *sendtype, void *recvbuf, const int recvcounts[],
                                 const int displs[], const mlt_type *recvtype, mlt_comm *comm,
                                 MPI_Request *request)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf,
                               mlt_coll_narrow(recvcounts), mlt_coll_narrow(displs), recvtype, comm,
                               MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_allgatherv_init(mlt_rank *me, const void *sendbuf, int sendcount,
                                     const mlt_type *sendtype, void *recvbuf,
                                     const int recvcounts[], const int displs[],
                                     const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                     MPI_Request *request)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf,
                               mlt_coll_narrow(recvcounts), mlt_coll_narrow(displs), recvtype, comm,
                               MLT_PERSISTENT(request, info));
}

int mlt_mpi_Neighbor_allgatherv_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                  const mlt_type *sendtype, void *recvbuf,
                                  const MPI_Count recvcounts[], const MPI_Aint displs[],
                                  const mlt_type *recvtype, mlt_comm *comm)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf, mlt_coll_wide(recvcounts),
                               mlt_coll_wide_displs(displs), recvtype, comm, MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_allgatherv_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                   const mlt_type *sendtype, void *recvbuf,
                                   const MPI_Count recvcounts[], const MPI_Aint displs[],
                                   const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf, mlt_coll_wide(recvcounts),
                               mlt_coll_wide_displs(displs), recvtype, comm,
                               MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_allgatherv_init_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                       const mlt_type *sendtype, void *recvbuf,
                                       const MPI_Count recvcounts[], const MPI_Aint displs[],
                                       const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                       MPI_Request *request)
{
    return neighbor_allgatherv(me, sendbuf, sendcount, sendtype, recvbuf, mlt_coll_wide(recvcounts),
                               mlt_coll_wide_displs(displs), recvtype, comm,
                               MLT_PERSISTENT(request, info));
}

// ---- MPI_Neighbor_alltoall

int mlt_mpi_Neighbor_alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                              const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                              const mlt_type *recvtype, mlt_comm *comm)
{
    return neighbor_alltoall(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                             MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_alltoall(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                               const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                               const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return neighbor_alltoall(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                             MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_alltoall_init(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                                   const mlt_type *sendtype, void *recvbuf, MPI_Count recvcount,
                                   const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                   MPI_Request *request)
{
    return neighbor_alltoall(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                             MLT_PERSISTENT(request, info));
}

// ---- MPI_Neighbor_alltoallv

int mlt_mpi_Neighbor_alltoallv(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                               const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                               const int recvcounts[], const int rdispls[],
                               const mlt_type *recvtype, mlt_comm *comm)
{
    return alltoallv(me, sendbuf, mlt_coll_narrow(sendcounts), mlt_coll_narrow(sdispls), sendtype,
                     recvbuf, mlt_coll_narrow(recvcounts), mlt_coll_narrow(rdispls), recvtype, comm,
                     MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_alltoallv(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                                const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                                const int recvcounts[], const int rdispls[],
                                const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return alltoallv(me, sendbuf, mlt_coll_narrow(sendcounts), mlt_coll_narrow(sdispls), sendtype,
                     recvbuf, mlt_coll_narrow(recvcounts), mlt_coll_narrow(rdispls), recvtype, comm,
                     MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_alltoallv_init(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                                    const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                                    const int recvcounts[], const int rdispls[],
                                    const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                    MPI_Request *request)
{
    return alltoallv(me, sendbuf, mlt_coll_narrow(sendcounts), mlt_coll_narrow(sdispls), sendtype,
                     recvbuf, mlt_coll_narrow(recvcounts), mlt_coll_narrow(rdispls), recvtype, comm,
                     MLT_PERSISTENT(request, info));
}

int mlt_mpi_Neighbor_alltoallv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[], const mlt_type *sendtype, void *recvbuf,
                                 const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                 const mlt_type *recvtype, mlt_comm *comm)
{
    return alltoallv(me, sendbuf, mlt_coll_wide(sendcounts), mlt_coll_wide_displs(sdispls),
                     sendtype, recvbuf, mlt_coll_wide(recvcounts), mlt_coll_wide_displs(rdispls),
                     recvtype, comm, MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_alltoallv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                                  const MPI_Aint sdispls[], const mlt_type *sendtype, void *recvbuf,
                                  const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                  const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    return alltoallv(me, sendbuf, mlt_coll_wide(sendcounts), mlt_coll_wide_displs(sdispls),
                     sendtype, recvbuf, mlt_coll_wide(recvcounts), mlt_coll_wide_displs(rdispls),
                     recvtype, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_alltoallv_init_c(mlt_rank *me, const void *sendbuf,
                                      const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      const mlt_type *sendtype, void *recvbuf,
                                      const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                      const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                                      MPI_Request *request)
{
    return alltoallv(me, sendbuf, mlt_coll_wide(sendcounts), mlt_coll_wide_displs(sdispls),
                     sendtype, recvbuf, mlt_coll_wide(recvcounts), mlt_coll_wide_displs(rdispls),
                     recvtype, comm, MLT_PERSISTENT(request, info));
}

// ---- MPI_Neighbor_alltoallw

int mlt_mpi_Neighbor_alltoallw(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                               const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                               void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                               const MPI_Datatype recvtypes[], mlt_comm *comm)
{
    return alltoallw(me, sendbuf, mlt_coll_narrow(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_narrow(recvcounts), rdispls, recvtypes, comm, MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_alltoallw(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                                const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                const MPI_Datatype recvtypes[], mlt_comm *comm,
                                MPI_Request *request)
{
    return alltoallw(me, sendbuf, mlt_coll_narrow(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_narrow(recvcounts), rdispls, recvtypes, comm,
                     MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_alltoallw_init(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                    void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[],
                                    const MPI_Datatype recvtypes[], mlt_comm *comm, MPI_Info info,
                                    MPI_Request *request)
{
    return alltoallw(me, sendbuf, mlt_coll_narrow(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_narrow(recvcounts), rdispls, recvtypes, comm,
                     MLT_PERSISTENT(request, info));
}

int mlt_mpi_Neighbor_alltoallw_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                                 const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                 void *recvbuf, const MPI_Count recvcounts[],
                                 const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                 mlt_comm *comm)
{
    return alltoallw(me, sendbuf, mlt_coll_wide(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_wide(recvcounts), rdispls, recvtypes, comm, MLT_BLOCKING);
}

int mlt_mpi_Ineighbor_alltoallw_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                                  const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                  void *recvbuf, const MPI_Count recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                  mlt_comm *comm, MPI_Request *request)
{
    return alltoallw(me, sendbuf, mlt_coll_wide(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_wide(recvcounts), rdispls, recvtypes, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Neighbor_alltoallw_init_c(mlt_rank *me, const void *sendbuf,
                                      const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Datatype sendtypes[], void *recvbuf,
                                      const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                      const MPI_Datatype recvtypes[], mlt_comm *comm, MPI_Info info,
                                      MPI_Request *request)
{
    return alltoallw(me, sendbuf, mlt_coll_wide(sendcounts), sdispls, sendtypes, recvbuf,
                     mlt_coll_wide(recvcounts), rdispls, recvtypes, comm,
                     MLT_PERSISTENT(request, info));
}
