// SPDX-License-Identifier: BSD-3-Clause
// MPI_Barrier and MPI_Bcast.
#include "mpi/coll/coll.h"
#include "mpi/coll/inter.h"
#include "mpi_bodies.h"

// A rank that waits in a quick call should leave little on its stack: of a million ranks every line
// of it is cold when it goes on. So what only the other calls need is in functions of their own.
static const mlt_coll_what barrier_what = {.collective = MLT_COLL_BARRIER, .element = 1};

// Of an intercommunicator: among the ranks of both groups.
MLT_NOINLINE int mlt_mpi_Barrier(mlt_rank *me, mlt_comm *comm, const mlt_how *how)
{
    mlt_coll_job job = {.comm = comm, .what = barrier_what};
    return mlt_coll_go(me, &job, how);
}

int mlt_blocking_Barrier(mlt_rank *me, mlt_comm *comm)
{
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, MLT_BLOCKING)))
        return mlt_coll_quick(me, comm, &barrier_what, NULL, NULL);
    return mlt_mpi_Barrier(me, comm, MLT_BLOCKING);
}

static MLT_NOINLINE int bcast_otherwise(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what,
                                        const mlt_coll_data *data, const mlt_how *how)
{
    bool is_root = (uint32_t)comm->rank == what->root;
    mlt_coll_job job = {
        .comm = comm,
        .what = *what,
        .out = mlt_coll_data_side(data, 1),
        .reads_out = is_root,
        .writes_out = !is_root,
    };
    return mlt_coll_go(me, &job, how);
}

MLT_NOINLINE int mlt_mpi_Bcast(mlt_rank *me, void *buffer, MPI_Count count,
                               const mlt_type *datatype, int root, mlt_comm *comm,
                               const mlt_how *how)
{
    mlt_coll_data data = {"", buffer, count, datatype};
    if (MLT_UNLIKELY(comm->inter))
        return mlt_inter_bcast(me, &data, root, comm, how);
    int code = mlt_coll_check_data(me, comm, &data);
    if (code == MPI_SUCCESS)
        code = mlt_coll_check_root(me, comm, root);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_coll_what what = {
        .collective = MLT_COLL_BCAST,
        .kind = mlt_type_kind(datatype),
        .kind_sent = mlt_type_kind(datatype),
        .root = (uint32_t)root,
        .element = 1,
        .count = mlt_coll_data_bytes(&data),
    };
    if (MLT_LIKELY(mlt_coll_is_quick(me, comm, how)) && MLT_LIKELY(datatype->contiguous))
        return mlt_coll_quick(me, comm, &what, NULL, buffer);
    return bcast_otherwise(me, comm, &what, &data, how);
}

int mlt_blocking_Bcast(mlt_rank *me, void *buffer, MPI_Count count, const mlt_type *datatype,
                       int root, mlt_comm *comm)
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
    return mlt_mpi_Bcast(me, buffer, count, datatype, root, comm, MLT_BLOCKING);
}
