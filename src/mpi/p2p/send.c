// SPDX-License-Identifier: BSD-3-Clause
// Sends of standard, synchronous and ready mode. Buffered mode is in buffer.c.
//
// A message that can leave at once (the normal case below the rendezvous size) needs no request:
// the blocking call returns, the nonblocking one hands out the shared request that is done.
#include "mpi/p2p/request.h"

#include "mpi/self.h"
#include "mpi_bodies.h"

// Not inline: its request must not widen the frame of callers that send at once.
__attribute__((noinline)) void mlt_send_and_wait(mlt_rank *me, const void *buf, uint64_t count,
                                                 const mlt_type *type, int dest, int tag,
                                                 mlt_comm *comm, mlt_send_mode mode)
{
    mlt_req req;
    mlt_req_fill(&req, me, MLT_REQ_SEND, buf, count, type, mlt_comm_world_rank(comm, dest), tag,
                 comm);
    req.mode = (uint8_t)mode;
    mlt_p2p_send(&req);
    if (req.done)
        return;
    mlt_req_hold_handles(comm, type);
    mlt_req_wait(&req, mlt_mpi_call(me));
    mlt_req_drop_handles(comm, type);
}

MLT_NOINLINE int mlt_send_in_mode(mlt_rank *me, const void *buf, MPI_Count count,
                                  const mlt_type *type, int dest, int tag, mlt_comm *comm,
                                  mlt_send_mode mode)
{
    if (MLT_LIKELY(dest != MPI_PROC_NULL) &&
        (mode == MLT_MODE_SYNC ||
         !mlt_send_at_once(me, buf, (uint64_t)count, type, dest, tag, comm)))
        mlt_send_and_wait(me, buf, (uint64_t)count, type, dest, tag, comm, mode);
    return MPI_SUCCESS;
}

// Before it, so that a message that comes before its receive pays for no frame either.
static __attribute__((noinline)) int mlt_send_otherwise(mlt_rank *me, const void *buf,
                                                        uint64_t count, const mlt_type *type,
                                                        int dest, int tag, mlt_comm *comm)
{
    if (mlt_send_early(me, buf, count, type, dest, tag, comm))
        return MPI_SUCCESS;
    return mlt_send_in_mode(me, buf, (MPI_Count)count, type, dest, tag, comm, MLT_MODE_STANDARD);
}

int mlt_mpi_Send(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                 int tag, mlt_comm *comm)
{
    if (MLT_UNLIKELY(dest == MPI_PROC_NULL) ||
        MLT_LIKELY(mlt_send_small(me, buf, (uint64_t)count, type, dest, tag, comm)))
        return MPI_SUCCESS;
    return mlt_send_otherwise(me, buf, (uint64_t)count, type, dest, tag, comm);
}

static MPI_Request send_start(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type,
                              int dest, int tag, mlt_comm *comm, mlt_send_mode mode)
{
    mlt_req *req = mlt_req_open(me, MLT_REQ_SEND, buf, (uint64_t)count, type,
                                mlt_comm_world_rank(comm, dest), tag, comm);
    req->mode = (uint8_t)mode;
    mlt_p2p_send(req);
    return mlt_req_handle(req);
}

static __attribute__((noinline)) int mlt_isend_generally(mlt_rank *me, const void *buf,
                                                         MPI_Count count, const mlt_type *type,
                                                         int dest, int tag, mlt_comm *comm,
                                                         MPI_Request *request)
{
    if (mlt_send_early(me, buf, (uint64_t)count, type, dest, tag, comm) ||
        mlt_send_soon(me, buf, (uint64_t)count, type, dest, tag, comm))
        *request = mlt_req_sent_handle();
    else
        *request = send_start(me, buf, count, type, dest, tag, comm, MLT_MODE_STANDARD);
    return MPI_SUCCESS;
}

int mlt_mpi_Isend(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                  int tag, mlt_comm *comm, MPI_Request *request)
{
    if (MLT_LIKELY(dest != MPI_PROC_NULL) &&
        !mlt_send_small(me, buf, (uint64_t)count, type, dest, tag, comm))
        return mlt_isend_generally(me, buf, count, type, dest, tag, comm, request);
    *request = mlt_req_sent_handle();
    return MPI_SUCCESS;
}

int mlt_send_start_in_mode(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type,
                           int dest, int tag, mlt_comm *comm, MPI_Request *request,
                           mlt_send_mode mode)
{
    if (MLT_UNLIKELY(dest == MPI_PROC_NULL) ||
        (mode == MLT_MODE_READY && mlt_send_soon(me, buf, (uint64_t)count, type, dest, tag, comm)))
        *request = mlt_req_sent_handle();
    else
        *request = send_start(me, buf, count, type, dest, tag, comm, mode);
    return MPI_SUCCESS;
}
