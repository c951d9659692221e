// SPDX-License-Identifier: BSD-3-Clause
// MPI_Gatherv and MPI_Scatterv: blocks that differ; only the root knows all of them.
#include "mpi/coll/coll.h"
#include "mpi/coll/exchange.h"
#include "mpi/coll/inter.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

// What a rank has for the root, or gets from it. MPI_IN_PLACE: nothing, the root's own block.
typedef struct gatherv_data {
    const void *buf;
    MPI_Count count;
    const mlt_type *type;
} gatherv_data;

// What the root has of all ranks.
typedef struct gatherv_blocks {
    const void *buf;
    mlt_coll_numbers counts, displs;
    const mlt_type *type;
} gatherv_blocks;

static const mlt_coll_list gatherv_nothing = {.blocks = 0};

static int check_one(mlt_rank *me, mlt_comm *comm, const char *which, const gatherv_data *d)
{
    return mlt_coll_check_data(me, comm, which, d->buf, d->count, d->type);
}

static int gatherv_check_all(mlt_rank *me, mlt_comm *comm, const char *which,
                             const gatherv_blocks *all)
{
    if (MLT_UNLIKELY(!all->counts.at))
        return mlt_coll_bad_array(me, comm, which, "counts");
    if (MLT_UNLIKELY(!all->displs.at))
        return mlt_coll_bad_array(me, comm, "", "displs");
    return mlt_coll_check_data(me, comm, which, all->buf, 0, all->type);
}

// One message between the root and every rank, this way or that.
static int move(mlt_rank *me, const gatherv_data *one, const gatherv_blocks *all, bool gathers,
                int root, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return gathers ? mlt_inter_gatherv(me, one->buf, one->count, one->type,
                                           (void *)(uintptr_t)all->buf, all->counts, all->displs,
                                           all->type, root, comm, how)
                       : mlt_inter_scatterv(me, all->buf, all->counts, all->displs, all->type,
                                            (void *)(uintptr_t)one->buf, one->count, one->type,
                                            root, comm, how);
    const char *which_one = gathers ? "send" : "recv", *which_all = gathers ? "recv" : "send";
    bool is_root = comm->rank == root, in_place = is_root && mlt_coll_in_place(one->buf);
    int code = mlt_coll_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    if (MLT_UNLIKELY(!in_place && mlt_coll_in_place(one->buf)))
        return mlt_coll_bad_in_place(me, comm, gathers ? "sendbuf" : "recvbuf");
    if (MLT_UNLIKELY(is_root && mlt_coll_in_place(all->buf)))
        return mlt_coll_bad_in_place(me, comm, gathers ? "recvbuf" : "sendbuf");
    if (!in_place)
        code = check_one(me, comm, which_one, one);
    if (code == MPI_SUCCESS && is_root)
        code = gatherv_check_all(me, comm, which_all, all);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_list own = {
        .which = which_one,
        .buf = one->buf,
        .blocks = 1,
        .peer = root,
        .skip = MLT_COLL_NOBODY,
        .counts = {&one->count, true},
        .type = one->type,
    };
    mlt_coll_list whole = {
        .which = which_all,
        .buf = all->buf,
        .blocks = (uint32_t)comm->size,
        .peer = MLT_COLL_NOBODY,
        .skip = in_place ? root : MLT_COLL_NOBODY,
        .counts = all->counts,
        .displs = all->displs,
        .type = all->type,
    };
    const mlt_coll_list *mine = in_place ? &gatherv_nothing : &own,
                        *roots = is_root ? &whole : &gatherv_nothing;
    return gathers ? mlt_coll_exchange(me, comm, mine, roots, MLT_FORM_GATHERV, root, how)
                   : mlt_coll_exchange(me, comm, roots, mine, MLT_FORM_SCATTERV, root, how);
}

// ---- gatherv

int mlt_mpi_Gatherv(mlt_rank *me, const void *sendbuf, int sendcount, const mlt_type *sendtype,
                    void *recvbuf, const int recvcounts[], const int displs[],
                    const mlt_type *recvtype, int root, mlt_comm *comm)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, false}, {displs, false}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Igatherv(mlt_rank *me, const void *sendbuf, int sendcount, const mlt_type *sendtype,
                     void *recvbuf, const int recvcounts[], const int displs[],
                     const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, false}, {displs, false}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Gatherv_init(mlt_rank *me, const void *sendbuf, int sendcount, const mlt_type *sendtype,
                         void *recvbuf, const int recvcounts[], const int displs[],
                         const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Info info,
                         MPI_Request *request)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, false}, {displs, false}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_PERSISTENT(request, info));
}

int mlt_mpi_Gatherv_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, void *recvbuf, const MPI_Count recvcounts[],
                      const MPI_Aint displs[], const mlt_type *recvtype, int root, mlt_comm *comm)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, true}, {displs, true}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Igatherv_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                       const mlt_type *sendtype, void *recvbuf, const MPI_Count recvcounts[],
                       const MPI_Aint displs[], const mlt_type *recvtype, int root, mlt_comm *comm,
                       MPI_Request *request)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, true}, {displs, true}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Gatherv_init_c(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                           const mlt_type *sendtype, void *recvbuf, const MPI_Count recvcounts[],
                           const MPI_Aint displs[], const mlt_type *recvtype, int root,
                           mlt_comm *comm, MPI_Info info, MPI_Request *request)
{
    gatherv_data one = {sendbuf, sendcount, sendtype};
    gatherv_blocks all = {recvbuf, {recvcounts, true}, {displs, true}, recvtype};
    return move(me, &one, &all, true, root, comm, MLT_PERSISTENT(request, info));
}

// ---- scatterv

int mlt_mpi_Scatterv(mlt_rank *me, const void *sendbuf, const int sendcounts[], const int displs[],
                     const mlt_type *sendtype, void *recvbuf, int recvcount,
                     const mlt_type *recvtype, int root, mlt_comm *comm)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, false}, {displs, false}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Iscatterv(mlt_rank *me, const void *sendbuf, const int sendcounts[], const int displs[],
                      const mlt_type *sendtype, void *recvbuf, int recvcount,
                      const mlt_type *recvtype, int root, mlt_comm *comm, MPI_Request *request)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, false}, {displs, false}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Scatterv_init(mlt_rank *me, const void *sendbuf, const int sendcounts[],
                          const int displs[], const mlt_type *sendtype, void *recvbuf,
                          int recvcount, const mlt_type *recvtype, int root, mlt_comm *comm,
                          MPI_Info info, MPI_Request *request)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, false}, {displs, false}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_PERSISTENT(request, info));
}

int mlt_mpi_Scatterv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                       const MPI_Aint displs[], const mlt_type *sendtype, void *recvbuf,
                       MPI_Count recvcount, const mlt_type *recvtype, int root, mlt_comm *comm)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, true}, {displs, true}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Iscatterv_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                        const MPI_Aint displs[], const mlt_type *sendtype, void *recvbuf,
                        MPI_Count recvcount, const mlt_type *recvtype, int root, mlt_comm *comm,
                        MPI_Request *request)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, true}, {displs, true}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Scatterv_init_c(mlt_rank *me, const void *sendbuf, const MPI_Count sendcounts[],
                            const MPI_Aint displs[], const mlt_type *sendtype, void *recvbuf,
                            MPI_Count recvcount, const mlt_type *recvtype, int root, mlt_comm *comm,
                            MPI_Info info, MPI_Request *request)
{
    gatherv_data one = {recvbuf, recvcount, recvtype};
    gatherv_blocks all = {sendbuf, {sendcounts, true}, {displs, true}, sendtype};
    return move(me, &one, &all, false, root, comm, MLT_PERSISTENT(request, info));
}
