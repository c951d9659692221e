// SPDX-License-Identifier: BSD-3-Clause
// MPI_Barrier and MPI_Bcast.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi/error/error.h"
#include "mpi_bodies.h"

// A rank that waits in a quick call should leave little on its stack: of a million ranks every line
// of it is cold when it goes on. So what only the other calls need is in functions of their own.
static const mlt_coll_what barrier_what = {.collective = MLT_COLL_BARRIER, .element = 1};

static __attribute__((noinline)) int barrier_otherwise(mlt_rank *me, mlt_comm *comm,
                                                       mlt_coll_how how)
{
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_barrier(me, comm, how);
    mlt_coll_job job = {.comm = comm, .what = barrier_what};
    return mlt_coll_go(me, &job, how);
}

static inline int barrier(mlt_rank *me, mlt_comm *comm, mlt_coll_how how)
{
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)))
        return mlt_coll_quick(me, comm, &barrier_what, NULL, NULL);
    return barrier_otherwise(me, comm, how);
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

static __attribute__((noinline)) int bcast_otherwise(mlt_rank *me, mlt_comm *comm,
                                                     const mlt_coll_what *what, void *buffer,
                                                     MPI_Count count, const mlt_type *type,
                                                     mlt_coll_how how)
{
    bool is_root = (uint32_t)comm->rank == what->root;
    mlt_coll_job job = {
        .comm = comm,
        .what = *what,
        .out = {.buf = buffer, .type = type, .blocks = 1, .count = (uint64_t)count},
        .reads_out = is_root,
        .writes_out = !is_root,
    };
    return mlt_coll_go(me, &job, how);
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
        .kind = mlt_type_kind(type),
        .kind_sent = mlt_type_kind(type),
        .root = (uint32_t)root,
        .element = 1,
        .count = (uint64_t)count * type->size,
    };
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && MLT_LIKELY(type->contiguous))
        return mlt_coll_quick(me, comm, &what, NULL, buffer);
    return bcast_otherwise(me, comm, &what, buffer, count, type, how);
}

int mlt_mpi_Bcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *datatype, int root,
                  mlt_comm *comm)
{
    static _Thread_local mlt_coll_what what
        __attribute__((tls_model("initial-exec"))) = {.collective = MLT_COLL_BCAST, .element = 1};
    if (MLT_LIKELY(mlt_coll_has_thread(me) && mlt_coll_is_quick(me, comm, MLT_BLOCKING) &&
                   mlt_coll_is_everyday(buffer, count, datatype) &&
                   (uint32_t)root < (uint32_t)comm->size)) {
        what.kind = what.kind_sent = datatype->code;
        what.root = (uint32_t)root;
        what.count = (uint64_t)count * datatype->size;
        return mlt_coll_quick_small(me, comm, &what, NULL, buffer);
    }
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
