// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request: how the MPI layer uses mlt_req.
//
// A handle is the address of
// - a mlt_req of the worker's pool, freed by the call that completes it (wait, test), or when it is
//   done if MPI_Request_free came before that;
// - a persistent one, kept until MPI_Request_free: inactive (and `done`) or active;
// - mlt_req_sent or mlt_req_proc_null: operations that were complete at once. Both are shared by all
//   ranks of the process and never change, so starting such an operation costs no memory.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/comm/comm.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "p2p/now.h"
#include "p2p/p2p.h"

// mlt_req.flags
enum {
    MLT_REQF_PERSISTENT = 1,
    MLT_REQF_ACTIVE = 2,        // a persistent one between its start and its completion by the user
    MLT_REQF_SHARED = 4,        // mlt_req_sent, mlt_req_proc_null
    MLT_REQF_BUFFERED = 8,      // persistent: MPI_Bsend_init
    MLT_REQF_NOBODY = 16,       // persistent: the peer is MPI_PROC_NULL
    MLT_REQF_OWNS_BUF = 32,     // `buf` is malloc's and freed when done
    MLT_REQF_HOLDS = 64,        // holds its communicator and datatype
    MLT_REQF_GENERALIZED = 256, // MPI_Grequest_start's, see grequest.h
    MLT_REQF_FREED = 512,       // MPI_Request_free came before it was complete
    MLT_REQF_GOAL = 1024,       // of a schedule, see goal.h
    MLT_REQF_COLL = 2048,       // of a collective operation, see coll.h
    MLT_REQF_PART = 4096,       // partitioned, see partition.h
    MLT_REQF_FILE = 8192,       // of an access to a file, see file/file.h
    MLT_REQF_COPIES = 16384,    // works on copies of Fortran's sections, see copies.h
    MLT_REQF_STREAM = 32768,    // enqueued in a stream, see stream/stream.h
};

extern const mlt_req mlt_req_sent;      // a send, or anything without a result, that is done
extern const mlt_req mlt_req_proc_null; // a receive from MPI_PROC_NULL

static inline MPI_Request mlt_req_sent_handle(void)
{
    return (MPI_Request)(uintptr_t)&mlt_req_sent;
}

static inline MPI_Request mlt_req_proc_null_handle(void)
{
    return (MPI_Request)(uintptr_t)&mlt_req_proc_null;
}

static inline bool mlt_req_is_inactive(const mlt_req *req)
{
    return (req->flags & (MLT_REQF_PERSISTENT | MLT_REQF_ACTIVE)) == MLT_REQF_PERSISTENT;
}

// The request of a handle that this rank may use; NULL: a bad handle, MPI_REQUEST_NULL among them.
static inline mlt_req *mlt_req_mine(const mlt_rank *me, MPI_Request handle)
{
    mlt_req *req = mlt_req_of(handle);
    if (MLT_UNLIKELY(!req) || (req->flags & MLT_REQF_SHARED))
        return req;
    return MLT_LIKELY(req->rank == me && !(req->flags & MLT_REQF_FREED)) ? req : NULL;
}

// Raises the error of a handle that is not: it is the argument `request` (index < 0) or
// array_of_requests[index].
int mlt_req_bad(mlt_rank *me, int index, MPI_Request handle) MLT_COLD;

// Fills in everything that p2p wants to know before a start; the mode is standard. peer: as mlt_req
// says.
static inline void mlt_req_fill(mlt_req *req, mlt_rank *me, mlt_req_kind kind, const void *buf,
                                uint64_t count, const mlt_type *type, int32_t peer, int tag,
                                mlt_comm *comm)
{
    mlt_req_init(req, me, kind);
    mlt_req_message(req, buf, count, type, comm->context, comm->rank, peer, tag);
    req->owner = comm;
    req->flags = 0;
    req->fn = me->fn;
}

void mlt_goal_request_end(mlt_req *req); // goal.h
void mlt_coll_request_end(mlt_req *req); // coll.h
void mlt_part_request_end(mlt_req *req); // partition.h
void mlt_file_request_end(mlt_req *req); // file/file.h

// A request of the worker's pool may outlive the user's handles of its communicator and datatype:
// it holds them. mlt_req_close gives it back.
static inline void mlt_req_hold(mlt_req *req)
{
    req->flags |= MLT_REQF_HOLDS;
    mlt_comm_hold(req->owner);
    mlt_dtype_hold(req->type);
}

static inline void mlt_req_close(mlt_req *req)
{
    if (MLT_LIKELY(req->flags & MLT_REQF_HOLDS)) {
        mlt_comm_drop(req->owner);
        mlt_dtype_drop(req->type);
    } else if (req->flags & MLT_REQF_GOAL) {
        mlt_goal_request_end(req);
        return;
    } else if (req->flags & MLT_REQF_COLL) {
        mlt_coll_request_end(req);
        return;
    } else if (req->flags & MLT_REQF_PART) {
        mlt_part_request_end(req);
        return;
    } else if (req->flags & MLT_REQF_FILE) {
        mlt_file_request_end(req);
        return;
    }
    mlt_req_free(req);
}

static inline mlt_req *mlt_req_open(mlt_rank *me, mlt_req_kind kind, const void *buf,
                                    uint64_t count, const mlt_type *type, int32_t peer, int tag,
                                    mlt_comm *comm)
{
    mlt_req *req = mlt_req_new(me);
    mlt_req_fill(req, me, kind, buf, count, type, peer, tag, comm);
    mlt_req_hold(req);
    return req;
}

// A MLT_REQ_OTHER request without a result (its status is empty), to be completed by
// mlt_req_complete.
void mlt_req_fill_other(mlt_req *req, mlt_rank *me, mlt_comm *comm);

// The code, with its error message, of a request that is done with an error. No handler is called.
int mlt_req_code(mlt_rank *me, const mlt_req *req) MLT_COLD;

// on_done of a request that nobody will wait for: gives it back.
void mlt_req_free_done(mlt_req *req);

// While a blocking call waits, another thread of the rank may free the handles that it was given.
static inline void mlt_req_hold_handles(mlt_comm *comm, const mlt_type *type)
{
    mlt_comm_hold(comm);
    mlt_dtype_hold(type);
}

static inline void mlt_req_drop_handles(mlt_comm *comm, const mlt_type *type)
{
    mlt_dtype_drop(type);
    mlt_comm_drop(comm);
}

// The end of a blocking receive: waits for it, fills in the status and raises its error, if any.
// May suspend.
static inline int mlt_recv_finish(mlt_rank *me, mlt_req *req, MPI_Status *status)
{
    int code = MPI_SUCCESS;
    bool waits = !req->done;
    if (waits) {
        mlt_req_hold_handles(req->owner, req->type);
        mlt_p2p_await(req, mlt_mpi_call(me));
    }
    mlt_status_set(status, req->from, req->got_tag, req->got, false);
    if (MLT_UNLIKELY(req->status != MLT_OK))
        code = mlt_mpi_raise_code(me, req->owner, me->fn, mlt_req_code(me, req));
    if (waits)
        mlt_req_drop_handles(req->owner, req->type);
    return code;
}

// ---- sends, shared between the files of this chapter; dest is a rank in comm, not MPI_PROC_NULL

static MLT_INLINE mlt_envelope mlt_send_envelope(uint64_t count, const mlt_type *type, int tag,
                                                 const mlt_comm *comm)
{
    return (mlt_envelope){.bytes = count * type->size,
                          .context = comm->context,
                          .src = comm->rank,
                          .tag = tag,
                          .type = type->code};
}

// As below, for a call that leaves a request behind.
static inline bool mlt_send_soon(mlt_rank *me, const void *buf, uint64_t count,
                                 const mlt_type *type, int dest, int tag, const mlt_comm *comm)
{
    const mlt_envelope e = mlt_send_envelope(count, type, tag, comm);
    return MLT_LIKELY(type->contiguous) &&
           mlt_p2p_send_soon(me, buf, mlt_comm_world_rank(comm, dest), &e);
}

// Sends at once if that is possible without a request. False: nothing was done.
static inline bool mlt_send_at_once(mlt_rank *me, const void *buf, uint64_t count,
                                    const mlt_type *type, int dest, int tag, const mlt_comm *comm)
{
    const mlt_envelope e = mlt_send_envelope(count, type, tag, comm);
    return MLT_LIKELY(type->contiguous) &&
           mlt_p2p_send_now(me, buf, mlt_comm_world_rank(comm, dest), &e);
}

// A small message of a type without gaps along a plain communicator, to a receiver that takes it at
// once. A call that tries this first needs no frame for it. False: nothing was done.
static MLT_INLINE bool mlt_send_small(mlt_rank *me, const void *buf, uint64_t count,
                                      const mlt_type *type, int dest, int tag, const mlt_comm *comm)
{
    return MLT_LIKELY(type->contiguous && !comm->map) &&
           mlt_p2p_send_small(me, buf, comm->base + dest * comm->stride,
                              mlt_send_envelope(count, type, tag, comm));
}

// The same, to a receiver of this worker that has not asked for it yet.
static MLT_INLINE bool mlt_send_early(mlt_rank *me, const void *buf, uint64_t count,
                                      const mlt_type *type, int dest, int tag, const mlt_comm *comm)
{
    return MLT_LIKELY(type->contiguous && !comm->map) &&
           mlt_p2p_send_early(me, buf, comm->base + dest * comm->stride,
                              mlt_send_envelope(count, type, tag, comm));
}

// Sends with a request on the stack and waits for it. May suspend.
void mlt_send_and_wait(mlt_rank *me, const void *buf, uint64_t count, const mlt_type *type,
                       int dest, int tag, mlt_comm *comm, mlt_send_mode mode);

// The type that a packed copy of elements of `type` travels as, and how many elements of it there
// are: itself if it is predefined and the packed form is the array, otherwise MPI_PACKED. The user
// may free a derived one while the copy is under way.
static inline bool mlt_packs_as_itself(const mlt_type *type)
{
    return type->contiguous && type->code;
}

static inline const mlt_type *mlt_packed_type(const mlt_type *type)
{
    return mlt_packs_as_itself(type) ? type : mlt_type_coded((uintptr_t)MPI_PACKED);
}

static inline uint64_t mlt_packed_count(const mlt_type *type, uint64_t count)
{
    return mlt_packs_as_itself(type) ? count : count * type->size;
}

// MPI_Rsend, MPI_Ssend; MPI_Irsend, MPI_Issend. The former may suspend.
int mlt_send_in_mode(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                     int tag, mlt_comm *comm, mlt_send_mode mode);
int mlt_send_start_in_mode(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type,
                           int dest, int tag, mlt_comm *comm, MPI_Request *request,
                           mlt_send_mode mode);

// MPI_Send_init, MPI_Recv_init and the like. flags: MLT_REQF_BUFFERED or 0.
int mlt_req_persist(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int peer,
                    int tag, mlt_comm *comm, MPI_Request *request, mlt_req_kind kind,
                    mlt_send_mode mode, uint32_t flags);

// MPI_Probe, MPI_Iprobe, MPI_Mprobe, MPI_Improbe. flag NULL: waits for a message; message NULL: leaves
// it there. May suspend.
int mlt_message_probe(mlt_rank *me, int source, int tag, mlt_comm *comm, int *flag,
                      MPI_Message *message, MPI_Status *status);
