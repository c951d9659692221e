// SPDX-License-Identifier: BSD-3-Clause
// Probes: looking at a message before its receive; and receives of a message that a matching probe
// has taken.
#include "mpi/error/error.h"
#include "mpi/p2p/request.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

// A failed look makes one step of progress and looks again.
static bool look_for(mlt_rank *me, int source, int tag, mlt_comm *comm, bool take,
                     mlt_msg_info *info, mlt_msg **msg)
{
    if (mlt_p2p_iprobe(me, source, tag, comm->context, take, info, msg))
        return true;
    mlt_p2p_poll(me);
    return mlt_p2p_iprobe(me, source, tag, comm->context, take, info, msg);
}

static MPI_Message message_new(mlt_rank *me, mlt_comm *comm, const mlt_msg_info *info, mlt_msg *msg)
{
    mlt_message *message = mlt_pool_take(&mlt_mpi_worker_of(me)->messages);
    mlt_comm_hold(comm);
    *message = (mlt_message){
        .magic = MLT_MESSAGE_MAGIC, .info = *info, .rank = me, .comm = comm, .msg = msg};
    return (MPI_Message)message;
}

int mlt_message_probe(mlt_rank *me, int source, int tag, mlt_comm *comm, int *flag,
                      MPI_Message *message, MPI_Status *status)
{
    bool nobody = source == MPI_PROC_NULL, take = message, found = true;
    mlt_msg_info info = {0};
    mlt_msg *msg = NULL;
    if (MLT_UNLIKELY(nobody))
        mlt_status_set_proc_null(status);
    else if (flag)
        found = look_for(me, source, tag, comm, take, &info, &msg);
    else
        mlt_p2p_probe(me, source, tag, comm->context, take, &info, &msg, mlt_mpi_call(me));
    if (flag)
        *flag = found;
    if (take)
        *message = nobody  ? MPI_MESSAGE_NO_PROC
                   : found ? message_new(me, comm, &info, msg)
                           : MPI_MESSAGE_NULL;
    if (found && !nobody)
        mlt_status_set_info(status, &info);
    if (found && !take)
        mlt_mpi_yield_if_due(me); // the message stays: the call may be repeated
    return MPI_SUCCESS;
}

// ---- receives of such a message

// Fills a request in for the message and gives the handle up. The message's hold on the
// communicator goes over to the caller.
static mlt_msg *message_take(mlt_rank *me, MPI_Message *handle, mlt_req *req, void *buf,
                             MPI_Count count, const mlt_type *type)
{
    mlt_message *message = mlt_message_of(*handle);
    mlt_msg *msg = message->msg;
    mlt_req_fill(req, me, MLT_REQ_RECV, buf, (uint64_t)count, type, message->info.from,
                 message->info.tag, message->comm);
    message->magic = 0;
    mlt_pool_give_last(&mlt_mpi_worker_of(me)->messages, message);
    *handle = MPI_MESSAGE_NULL;
    return msg;
}

// MPI_SUCCESS if the handle is a message of this rank.
static int message_check(mlt_rank *me, MPI_Message handle)
{
    const mlt_message *message = mlt_message_of(handle);
    if (MLT_LIKELY(message && message->rank == me))
        return MPI_SUCCESS;
    if (!message)
        return mlt_mpi_raise(
            me, NULL, me->fn, MPI_ERR_REQUEST,
            "argument message is %s0x%llx, but should be a message that MPI_Mprobe or MPI_Improbe "
            "gave and that has not been received yet",
            handle == MPI_MESSAGE_NULL ? "MPI_MESSAGE_NULL, " : "",
            (unsigned long long)(uintptr_t)handle);
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_REQUEST,
                         "argument message is a message of rank %d, but should be one of rank "
                         "%d; " MLT_HANDLE_OF_OTHER,
                         (int)message->rank->world, (int)me->world);
}

int mlt_mpi_Mrecv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type,
                  MPI_Message *message, MPI_Status *status)
{
    if (MLT_UNLIKELY(*message == MPI_MESSAGE_NO_PROC)) {
        *message = MPI_MESSAGE_NULL;
        mlt_status_set_proc_null(status);
        return MPI_SUCCESS;
    }
    int code = message_check(me, *message);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_req req;
    mlt_p2p_recv_msg(&req, message_take(me, message, &req, buf, count, type));
    code = mlt_recv_finish(me, &req, status);
    mlt_comm_drop(req.owner);
    return code;
}

int mlt_mpi_Imrecv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type,
                   MPI_Message *message, MPI_Request *request)
{
    if (MLT_UNLIKELY(*message == MPI_MESSAGE_NO_PROC)) {
        *message = MPI_MESSAGE_NULL;
        *request = mlt_req_proc_null_handle();
        return MPI_SUCCESS;
    }
    int code = message_check(me, *message);
    if (MLT_UNLIKELY(code != MPI_SUCCESS))
        return code;
    mlt_req *req = mlt_req_new(me);
    mlt_msg *msg = message_take(me, message, req, buf, count, type);
    mlt_req_hold(req);
    mlt_comm_drop(req->owner);
    mlt_p2p_recv_msg(req, msg);
    *request = mlt_req_handle(req);
    return MPI_SUCCESS;
}
