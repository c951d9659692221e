// SPDX-License-Identifier: BSD-3-Clause
// A send and a receive in one call.
//
// The blocking ones post the receive, send, and wait. The nonblocking ones hand out a MLT_REQ_OTHER
// request, the whole, that two inner requests count down:
//
//     whole (the user's handle)  <--extra--  receive: copies its result into the whole
//       extra: parts still open  <--extra--  send:    frees its copy of the data, if it has one
//
// Both free themselves.
//
// The replacing ones send a packed copy, unless the message can leave before the receive is posted.
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/error/error.h"
#include "mpi/p2p/request.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

enum { SMALL_COPY = 512 }; // on the stack; fibers should not touch a second page

int mlt_mpi_Sendrecv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                     const mlt_type *sendtype, int dest, int sendtag, void *recvbuf,
                     MPI_Count recvcount, const mlt_type *recvtype, int source, int recvtag,
                     mlt_comm *comm, MPI_Status *status)
{
    mlt_req recv;
    if (MLT_LIKELY(source != MPI_PROC_NULL)) {
        mlt_req_fill(&recv, me, MLT_REQ_RECV, recvbuf, (uint64_t)recvcount, recvtype, source,
                     recvtag, comm);
        mlt_p2p_recv(&recv);
    }
    int code = MPI_SUCCESS;
    bool waits = dest != MPI_PROC_NULL &&
                 !mlt_send_at_once(me, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag, comm);
    if (waits) {
        mlt_req_hold_handles(comm, recvtype);
        mlt_send_and_wait(me, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag, comm,
                          MLT_MODE_STANDARD);
    }
    if (MLT_LIKELY(source != MPI_PROC_NULL))
        code = mlt_recv_finish(me, &recv, status);
    else
        mlt_status_set_proc_null(status);
    if (waits)
        mlt_req_drop_handles(comm, recvtype);
    return code;
}

// ---- replacing

static MLT_COLD int sendrecv_no_memory(mlt_rank *me, mlt_comm *comm, uint64_t bytes)
{
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_NO_MEM,
        MLT_NO_ROOM "a copy of the %llu bytes to send; MPI_Sendrecv with two buffers needs none",
        (unsigned long long)bytes);
}

// Not inline: the copy must not widen the frame of calls that need none.
static MLT_NOINLINE int replace_by_copy(mlt_rank *me, void *buf, MPI_Count count,
                                        const mlt_type *type, int dest, int sendtag, int source,
                                        int recvtag, mlt_comm *comm, MPI_Status *status)
{
    char small[SMALL_COPY];
    uint64_t bytes = (uint64_t)count * type->size;
    void *copy = bytes <= SMALL_COPY ? small : malloc(bytes);
    if (!copy)
        return sendrecv_no_memory(me, comm, bytes);
    if (bytes)
        mlt_type_pack(type, buf, 0, copy, bytes);
    int code = mlt_mpi_Sendrecv(me, copy, (MPI_Count)mlt_packed_count(type, (uint64_t)count),
                                mlt_packed_type(type), dest, sendtag, buf, count, type, source,
                                recvtag, comm, status);
    if (copy != small)
        free(copy);
    return code;
}

int mlt_mpi_Sendrecv_replace(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type,
                             int dest, int sendtag, int source, int recvtag, mlt_comm *comm,
                             MPI_Status *status)
{
    // Once the message has left, or if there is only one of the two, the buffer is free.
    if (dest == MPI_PROC_NULL || source == MPI_PROC_NULL ||
        mlt_send_at_once(me, buf, (uint64_t)count, type, dest, sendtag, comm)) {
        if (source != MPI_PROC_NULL)
            return mlt_mpi_Recv(me, buf, count, type, source, recvtag, comm, status);
        mlt_status_set_proc_null(status);
        return mlt_mpi_Send(me, buf, count, type, dest, sendtag, comm);
    }
    return replace_by_copy(me, buf, count, type, dest, sendtag, source, recvtag, comm, status);
}

// ---- nonblocking

static void pair_step(mlt_req *whole)
{
    uintptr_t open = (uintptr_t)whole->extra - 1;
    whole->extra = (void *)open;
    if (open == 0)
        mlt_req_complete(whole);
}

static void pair_received(mlt_req *recv)
{
    mlt_req *whole = recv->extra;
    whole->status = recv->status;
    whole->from = recv->from;
    whole->got_tag = recv->got_tag;
    whole->got = recv->got;
    whole->sent = recv->sent;
    whole->sent_type = recv->sent_type;
    mlt_req_close(recv);
    pair_step(whole);
}

static void pair_sent(mlt_req *send)
{
    mlt_req *whole = send->extra;
    mlt_req_free_done(send);
    pair_step(whole);
}

// The whole, with two parts open. count and type are the receive's, for the error message of a
// truncation.
static mlt_req *sendrecv_pair_new(mlt_rank *me, MPI_Count recvcount, const mlt_type *recvtype,
                                  mlt_comm *comm)
{
    mlt_req *whole = mlt_req_new(me);
    mlt_req_fill_other(whole, me, comm);
    whole->count = (uint64_t)recvcount;
    whole->type = recvtype;
    mlt_req_hold(whole);
    whole->extra = (void *)(uintptr_t)2;
    return whole;
}

static void pair_recv(mlt_rank *me, mlt_req *whole, void *buf, int source, int tag, mlt_comm *comm)
{
    if (source == MPI_PROC_NULL) {
        whole->from = MPI_PROC_NULL;
        pair_step(whole);
        return;
    }
    mlt_req *recv =
        mlt_req_open(me, MLT_REQ_RECV, buf, whole->count, whole->type, source, tag, comm);
    recv->extra = whole;
    recv->on_done = pair_received;
    mlt_p2p_recv(recv);
}

// flags: MLT_REQF_OWNS_BUF or 0.
static void pair_send(mlt_rank *me, mlt_req *whole, const void *buf, uint64_t count,
                      const mlt_type *type, int dest, int tag, mlt_comm *comm, uint32_t flags)
{
    mlt_req *send = mlt_req_open(me, MLT_REQ_SEND, buf, count, type,
                                 mlt_comm_world_rank(comm, dest), tag, comm);
    send->flags |= flags;
    send->extra = whole;
    send->on_done = pair_sent;
    mlt_p2p_send(send);
}

int mlt_mpi_Isendrecv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                      const mlt_type *sendtype, int dest, int sendtag, void *recvbuf,
                      MPI_Count recvcount, const mlt_type *recvtype, int source, int recvtag,
                      mlt_comm *comm, MPI_Request *request)
{
    mlt_req *whole = sendrecv_pair_new(me, recvcount, recvtype, comm);
    pair_recv(me, whole, recvbuf, source, recvtag, comm);
    if (dest == MPI_PROC_NULL ||
        mlt_send_at_once(me, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag, comm))
        pair_step(whole);
    else
        pair_send(me, whole, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag, comm, 0);
    *request = mlt_req_handle(whole);
    return MPI_SUCCESS;
}

int mlt_mpi_Isendrecv_replace(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type,
                              int dest, int sendtag, int source, int recvtag, mlt_comm *comm,
                              MPI_Request *request)
{
    uint64_t bytes = (uint64_t)count * type->size;
    bool sent = dest == MPI_PROC_NULL ||
                mlt_send_at_once(me, buf, (uint64_t)count, type, dest, sendtag, comm);
    void *copy = NULL;
    if (!sent) {
        copy = malloc(bytes ? bytes : 1);
        if (!copy)
            return sendrecv_no_memory(me, comm, bytes);
        if (bytes)
            mlt_type_pack(type, buf, 0, copy, bytes);
    }
    mlt_req *whole = sendrecv_pair_new(me, count, type, comm);
    pair_recv(me, whole, buf, source, recvtag, comm);
    if (sent)
        pair_step(whole);
    else
        pair_send(me, whole, copy, mlt_packed_count(type, (uint64_t)count), mlt_packed_type(type),
                  dest, sendtag, comm, MLT_REQF_OWNS_BUF);
    *request = mlt_req_handle(whole);
    return MPI_SUCCESS;
}
