// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alltoallv and MPI_Alltoallw: lists of blocks for everybody.
#include "mpi/coll/coll.h"
#include "mpi/coll/exchange.h"
#include "mpi/coll/inter.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

// What the user says of one buffer; `types` is of MPI_Alltoallw.
typedef struct alltoallv_blocks {
    const void *buf;
    mlt_coll_numbers counts, displs;
    const mlt_type *type;
    const MPI_Datatype *types;
} alltoallv_blocks;

static int alltoallv_check(mlt_rank *me, mlt_comm *comm, const char *which, const char *displs,
                           const alltoallv_blocks *b, bool typed)
{
    if (MLT_UNLIKELY(!b->counts.at))
        return mlt_coll_bad_array(me, comm, which, "counts");
    if (MLT_UNLIKELY(!b->displs.at))
        return mlt_coll_bad_array(me, comm, "", displs);
    if (!typed)
        return mlt_coll_check_data(me, comm, which, b->buf, 0, b->type);
    if (MLT_UNLIKELY(!b->types))
        return mlt_coll_bad_array(me, comm, which, "types");
    return MPI_SUCCESS;
}

static inline mlt_coll_list list_of(const mlt_comm *comm, const char *which,
                                    const alltoallv_blocks *b, bool in_place)
{
    return (mlt_coll_list){
        .which = which,
        .buf = b->buf,
        .blocks = (uint32_t)comm->size,
        .peer = MLT_COLL_NOBODY,
        .skip = in_place ? comm->rank : MLT_COLL_NOBODY, // stays where it is
        .counts = b->counts,
        .displs = b->displs,
        .type = b->type,
        .types = b->types,
    };
}

static const uint64_t MOST_BYTES = UINT64_C(1) << 56; // that lie in memory

// Where a rank's block for itself begins, and its bytes; 0: none, or nobody can say.
static uint64_t own_block(const mlt_comm *comm, const alltoallv_blocks *b, const void **at)
{
    int64_t count = mlt_coll_number(b->counts, (uint64_t)comm->rank);
    int64_t displ = mlt_coll_number(b->displs, (uint64_t)comm->rank);
    int64_t offset;
    uint64_t bytes;
    // What does not fit into an address is told where all blocks are looked at.
    if (count <= 0 || !b->type->contiguous ||
        __builtin_mul_overflow((uint64_t)count, b->type->size, &bytes) || bytes > MOST_BYTES ||
        __builtin_mul_overflow(displ, b->type->extent, &offset))
        return 0;
    *at = (const void *)((uintptr_t)b->buf + (uintptr_t)offset);
    return bytes;
}

// Blocks may lie anywhere, so only those for oneself are compared: buffers that were taken for each
// other have them in the same place.
static int alltoallv_check_apart(mlt_rank *me, mlt_comm *comm, const alltoallv_blocks *send,
                                 const alltoallv_blocks *recv)
{
    const void *from = NULL, *to = NULL;
    uint64_t sent = own_block(comm, send, &from), received = own_block(comm, recv, &to);
    return mlt_coll_overlap(from, sent, to, received) ? mlt_coll_bad_overlap(me, comm)
                                                      : MPI_SUCCESS;
}

// `typed`: each block has a type of its own.
static int alltoallv_alltoall(mlt_rank *me, alltoallv_blocks send, alltoallv_blocks recv,
                              bool typed, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return typed ? mlt_inter_alltoallw(me, send.buf, send.counts, send.displs, send.types,
                                           (void *)(uintptr_t)recv.buf, recv.counts, recv.displs,
                                           recv.types, comm, how)
                     : mlt_inter_alltoallv(me, send.buf, send.counts, send.displs, send.type,
                                           (void *)(uintptr_t)recv.buf, recv.counts, recv.displs,
                                           recv.type, comm, how);
    if (MLT_UNLIKELY(mlt_coll_in_place(recv.buf)))
        return mlt_coll_bad_in_place(me, comm, "recvbuf");
    bool in_place = mlt_coll_in_place(send.buf);
    int code = alltoallv_check(me, comm, "recv", "rdispls", &recv, typed);
    if (code == MPI_SUCCESS && !in_place)
        code = alltoallv_check(me, comm, "send", "sdispls", &send, typed);
    if (code == MPI_SUCCESS && !in_place && !typed)
        code = alltoallv_check_apart(me, comm, &send, &recv);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_list to = list_of(comm, "recv", &recv, in_place);
    mlt_coll_list from = to;
    if (!in_place)
        from = list_of(comm, "send", &send, false);
    from.apart = in_place;
    return mlt_coll_exchange(me, comm, &from, &to, MLT_FORM_ALLTOALLV, 0, how);
}

int mlt_mpi_Alltoallv(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                      const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                      const int recvcounts[], const int rdispls[], const mlt_type *recvtype,
                      mlt_comm *comm)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoallv(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                       const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                       const int recvcounts[], const int rdispls[], const mlt_type *recvtype,
                       mlt_comm *comm, MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoallv_init(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                           const int sdispls[], const mlt_type *sendtype, void *recvbuf,
                           const int recvcounts[], const int rdispls[], const mlt_type *recvtype,
                           mlt_comm *comm, MPI_Info info, MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_PERSISTENT(request, info));
}

int mlt_mpi_Alltoallv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                        const MPI_Aint sdispls[], const mlt_type *sendtype, void *recvbuf,
                        const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                        const mlt_type *recvtype, mlt_comm *comm)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoallv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                         const MPI_Aint sdispls[], const mlt_type *sendtype, void *recvbuf,
                         const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         const mlt_type *recvtype, mlt_comm *comm, MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoallv_init_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint sdispls[], const mlt_type *sendtype, void *recvbuf,
                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                             const mlt_type *recvtype, mlt_comm *comm, MPI_Info info,
                             MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, sendtype, NULL};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, recvtype, NULL};
    return alltoallv_alltoall(me, send, recv, false, comm, MLT_PERSISTENT(request, info));
}

// ---- alltoallw

int mlt_mpi_Alltoallw(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                      const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                      const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                      mlt_comm *comm)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoallw(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                       const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                       const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                       mlt_comm *comm, MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoallw_init(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                           const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                           const int recvcounts[], const int rdispls[],
                           const MPI_Datatype recvtypes[], mlt_comm *comm, MPI_Info info,
                           MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, false}, {sdispls, false}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, false}, {rdispls, false}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_PERSISTENT(request, info));
}

int mlt_mpi_Alltoallw_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                        const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                        const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                        const MPI_Datatype recvtypes[], mlt_comm *comm)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_BLOCKING);
}

int mlt_mpi_Ialltoallw_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                         const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                         const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                         const MPI_Datatype recvtypes[], mlt_comm *comm, MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Alltoallw_init_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                             void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                             const MPI_Datatype recvtypes[], mlt_comm *comm, MPI_Info info,
                             MPI_Request *request)
{
    alltoallv_blocks send = {sendbuf, {sendcounts, true}, {sdispls, true}, NULL, sendtypes};
    alltoallv_blocks recv = {recvbuf, {recvcounts, true}, {rdispls, true}, NULL, recvtypes};
    return alltoallv_alltoall(me, send, recv, true, comm, MLT_PERSISTENT(request, info));
}
