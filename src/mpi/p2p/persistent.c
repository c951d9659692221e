// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests: a mlt_req that is kept. Inactive, it is `done`; MPI_Start gives it to p2p
// again.
#include <stdio.h>

#include "mpi/coll/coll.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/p2p/buffer.h"
#include "mpi/p2p/copies.h"
#include "mpi/p2p/partition.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

int mlt_req_persist(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int peer,
                    int tag, mlt_comm *comm, MPI_Request *request, mlt_req_kind kind,
                    mlt_send_mode mode, uint32_t flags)
{
    mlt_req *req = mlt_req_open(me, kind, buf, (uint64_t)count, type, peer, tag, comm);
    req->mode = (uint8_t)mode;
    req->done = true;
    req->flags |= MLT_REQF_PERSISTENT | flags;
    if (peer == MPI_PROC_NULL)
        req->flags |= MLT_REQF_NOBODY;
    else if (kind == MLT_REQ_SEND && !(flags & MLT_REQF_BUFFERED)) // mlt_bsend_send wants the rank
        req->peer = mlt_comm_world_rank(comm, peer);
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}

static bool send_now(mlt_rank *me, const mlt_req *req)
{
    const mlt_envelope e = {.bytes = req->count * req->type->size,
                            .context = req->context,
                            .src = req->self,
                            .tag = req->tag,
                            .type = req->type->code};
    return mlt_p2p_send_now(me, req->buf, req->peer, &e);
}

// ---- starting

// Starts an inactive request; it is `done` again at once if nothing has to be waited for.
static int persistent_start(mlt_rank *me, mlt_req *req)
{
    int code = MPI_SUCCESS;
    req->cancelled = false;
    req->status = MLT_OK;
    if (MLT_UNLIKELY(req->flags & MLT_REQF_COPIES))
        mlt_copies_start(req);
    if (req->flags & MLT_REQF_NOBODY) {
        req->from = MPI_PROC_NULL;
        req->got_tag = MPI_ANY_TAG;
        req->got = 0;
    } else if (req->flags & MLT_REQF_BUFFERED) {
        code = mlt_bsend_send(me, req->buf, req->count, req->type, req->peer, req->tag, req->owner);
    } else if (req->flags & MLT_REQF_GOAL) {
        req->waiter = NULL;
        req->on_done = NULL;
        code = mlt_goal_request_start(me, req);
    } else if (req->flags & MLT_REQF_COLL) {
        code = mlt_coll_request_start(me, req);
    } else if (req->flags & MLT_REQF_PART) {
        mlt_part_request_start(req);
    } else {
        req->done = false;
        req->waiter = NULL;
        req->on_done = NULL;
        if (req->kind == MLT_REQ_RECV)
            mlt_p2p_recv(req);
        else if (req->mode != MLT_MODE_SYNC && req->type->contiguous && send_now(me, req))
            req->done = true;
        else
            mlt_p2p_send(req);
    }
    if (MLT_LIKELY(code == MPI_SUCCESS))
        req->flags |= MLT_REQF_ACTIVE;
    return code;
}

// MPI_SUCCESS if the handle is an inactive persistent request of this rank. index < 0: the argument
// is `request`.
static int persistent_check(mlt_rank *me, MPI_Request handle, int index)
{
    const mlt_req *req = mlt_req_mine(me, handle);
    if (MLT_UNLIKELY(!req))
        return mlt_req_bad(me, index, handle);
    if (MLT_LIKELY(mlt_req_is_inactive(req)))
        return MPI_SUCCESS;
    char name[48] = "request";
    if (index >= 0)
        snprintf(name, sizeof name, "array_of_requests[%d]", index);
    if (!(req->flags & MLT_REQF_PERSISTENT))
        return mlt_mpi_raise(me, req->owner, me->fn, MPI_ERR_REQUEST,
                             "argument %s is %p, a request of a nonblocking operation, which is "
                             "started already, but "
                             "should be a persistent one, as MPI_Send_init or MPI_Recv_init gives",
                             name, (const void *)req);
    return mlt_mpi_raise(me, req->owner, me->fn, MPI_ERR_REQUEST,
                         "argument %s is %p, a persistent request of %s that is active, but should "
                         "be inactive: complete "
                         "it with MPI_Wait or MPI_Test before it is started again",
                         name, (const void *)req, mlt_fn_name(req->fn));
}

int mlt_mpi_Start(mlt_rank *me, MPI_Request *request)
{
    int code = persistent_check(me, *request, -1);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    return persistent_start(me, (mlt_req *)*request);
}

// All handles are looked at before the first is started; only one that comes twice is found later.
int mlt_mpi_Startall(mlt_rank *me, int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++) {
        int code = persistent_check(me, requests[i], i);
        if (MLT_UNLIKELY(code != MPI_SUCCESS))
            return code;
    }
    for (int i = 0; i < count; i++) {
        int code = persistent_check(me, requests[i], i);
        if (MLT_LIKELY(code == MPI_SUCCESS))
            code = persistent_start(me, (mlt_req *)requests[i]);
        if (MLT_UNLIKELY(code != MPI_SUCCESS))
            return code;
    }
    return MPI_SUCCESS;
}
