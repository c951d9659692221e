// SPDX-License-Identifier: BSD-3-Clause
// Cancelling: a receive that has not matched, or a send that its receiver has not matched. How a
// generalized request is cancelled, its own function knows.
#include "mpi/error/error.h"
#include "mpi/p2p/grequest.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

int mlt_mpi_Cancel(mlt_rank *me, MPI_Request *request)
{
    mlt_req *req = mlt_req_mine(me, *request);
    if (!req)
        return mlt_req_bad(me, -1, *request);
    mlt_comm *comm = req->owner;
    if (mlt_req_is_inactive(req))
        return mlt_mpi_raise(
            me, comm, me->fn, MPI_ERR_REQUEST,
            "argument request is an inactive persistent request of %s, but should be one that "
            "MPI_Start has started",
            mlt_fn_name(req->fn));
    if (req->flags & MLT_REQF_GENERALIZED) {
        int code = mlt_grequest_cancel(me, req);
        return code == MPI_SUCCESS ? code : mlt_mpi_raise_code(me, NULL, me->fn, code);
    }
    if (req->kind == MLT_REQ_OTHER)
        return mlt_mpi_raise(
            me, comm, me->fn, MPI_ERR_REQUEST,
            "argument request is a request of %s, which cannot be cancelled; only a send or a "
            "receive can",
            mlt_fn_name(req->fn));
    if (!req->done) // otherwise it is too late
        mlt_p2p_cancel(req);
    return MPI_SUCCESS;
}
