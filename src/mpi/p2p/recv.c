// SPDX-License-Identifier: BSD-3-Clause
// Receives. Those of a message that a probe has taken are in probe.c.
#include "mpi/p2p/request.h"
#include "mpi/p2p/status.h"
#include "mpi_bodies.h"

int mlt_mpi_Recv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type, int source,
                 int tag, mlt_comm *comm, MPI_Status *status)
{
    if (MLT_UNLIKELY(source == MPI_PROC_NULL)) {
        mlt_status_set_proc_null(status);
        return MPI_SUCCESS;
    }
    mlt_req req;
    mlt_req_fill(&req, me, MLT_REQ_RECV, buf, (uint64_t)count, type, source, tag, comm);
    mlt_p2p_recv_post(&req);
    return mlt_recv_finish(me, &req, status);
}

int mlt_mpi_Irecv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type, int source,
                  int tag, mlt_comm *comm, MPI_Request *request)
{
    if (MLT_UNLIKELY(source == MPI_PROC_NULL)) {
        *request = mlt_req_proc_null_handle();
        return MPI_SUCCESS;
    }
    mlt_req *req = mlt_req_open(me, MLT_REQ_RECV, buf, (uint64_t)count, type, source, tag, comm);
    mlt_p2p_recv_post(req);
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}
