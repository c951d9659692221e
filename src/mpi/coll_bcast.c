// SPDX-License-Identifier: BSD-3-Clause
// MPI_Barrier and MPI_Bcast.
#include "mpi/coll.h"
#include "mpi/coll_inter.h"
#include "mpi/error.h"
#include "mpi_bodies.h"

static int barrier(mlt_rank *me, mlt_comm *comm, mlt_coll_how how)
{
    mlt_coll_what what = {.collective = MLT_COLL_BARRIER, .element = 1};
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)))
        return mlt_coll_quick(me, comm, &what, NULL, NULL);
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_barrier(me, comm, how);
    mlt_coll_job job = {.comm = comm, .what = what};
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Barrier(mlt_rank *me, mlt_comm *comm)
{
    return barrier(me, comm, MLT_BLOCKING);
}

int mlt_mpi_Ibarrier(mlt_rank *me, mlt_comm *comm, MPI_Request *request)
{
    return barrier(me, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Barrier_init(mlt_rank *me, mlt_comm *comm, MPI_Info info, MPI_Request *request)
{
    return barrier(me, comm, MLT_PERSISTENT(request, info));
}

static int bcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *type, int root,
                 mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_bcast(me, buffer, count, type, root, comm, how);
    int code = mlt_coll_check_data(me, comm, "", buffer, count, type);
    if (code == MPI_SUCCESS)
        code = mlt_coll_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    if (MLT_UNLIKELY(mlt_coll_in_place(buffer)))
        return mlt_coll_bad_in_place(me, comm, "buffer");
    mlt_coll_what what = {
        .collective = MLT_COLL_BCAST,
        .root = (uint32_t)root,
        .element = 1,
        .count = (uint64_t)count * type->size,
    };
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && MLT_LIKELY(type->contiguous))
        return mlt_coll_quick(me, comm, &what, NULL, buffer);
    mlt_coll_job job = {
        .comm = comm,
        .what = what,
        .out = {.buf = buffer, .type = type, .blocks = 1, .count = (uint64_t)count},
        .reads_out = comm->rank == root,
        .writes_out = comm->rank != root,
    };
    return mlt_coll_go(me, &job, how);
}

int mlt_mpi_Bcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *datatype, int root,
                  mlt_comm *comm)
{
    return bcast(me, buffer, count, datatype, root, comm, MLT_BLOCKING);
}

int mlt_mpi_Ibcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *datatype, int root,
                   mlt_comm *comm, MPI_Request *request)
{
    return bcast(me, buffer, count, datatype, root, comm, MLT_NONBLOCKING(request));
}

int mlt_mpi_Bcast_init(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *datatype,
                       int root, mlt_comm *comm, MPI_Info info, MPI_Request *request)
{
    return bcast(me, buffer, count, datatype, root, comm, MLT_PERSISTENT(request, info));
}
