// SPDX-License-Identifier: BSD-3-Clause
// Operations in streams, and the starter of a worker. stream.h has the picture.
//
// Everything but what the starter's thread waits on (`arrived`, `knocks`) is looked at and changed inside
// the gate. Calls of the GPU's driver that give a stream something are made outside of it: a stream that
// is full holds them up until it goes on, which may need the gate.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/fault.h"
#include "fiber/gate.h"
#include "host/entry.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/op.h"
#include "mpi/error/error.h"
#include "mpi/helper.h"
#include "mpi/p2p/request.h"
#include "mpi/p2p/status.h"
#include "mpi/self.h"
#include "mpi/stream/stream.h"
#include "mpi/thread.h"
#include "mpi_bodies.h"
#include "os/os.h"

// What a collective operation was given.
typedef struct gathering {
    const void *in;
    void *out;
    MPI_Count in_count, count;
    const mlt_type *in_type, *type; // held
    MPI_Op op;
    mlt_user_op *op_object; // held; NULL: predefined
    int root;
} gathering;

typedef struct enqueued {
    struct enqueued *next; // arrived
    struct mlt_starter *starter;
    mlt_stream *stream; // held
    mlt_rank *rank;
    mlt_comm *comm; // held
    uint16_t fn;
    bool fails; // it comes to the starter a second time
    mlt_gpu_turn turn;
    mlt_req req;        // of a message
    mlt_req *handle;    // of a nonblocking one, the user's; NULL: it has come to an end
    MPI_Status *status; // where it goes
    bool waited;        // handle is ours: MPIX_Wait_enqueue has it
    gathering what;     // of a collective operation, whose request is
    mlt_req *under_way; // this
    void (*landed)(mlt_req *req);
    mlt_list_node coming; // in starter->coming, until it has begun
    mlt_list_node active; // in starter->active
    mlt_work work;        // after its end
} enqueued;

typedef struct mlt_starter {
    pthread_t thread;
    mlt_rank *rank;              // that made it
    uint32_t users;              // ranks
    mlt_list_node coming;        // operations to which their streams have not come
    mlt_list_node active;        // collective ones under way
    struct mlt_stream_user **of; // [ranks of the worker]; NULL: it has no streams
    _Atomic(enqueued *) arrived; // that are to be started, the last first
    _Atomic uint32_t knocks;     // how often something has arrived; the thread sleeps on it
    _Atomic bool ends;
} mlt_starter;

// A rank's.
typedef struct mlt_stream_user {
    uint32_t pending; // enqueued, and not complete
    mlt_req *waits;   // MPI_Finalize, until there are none; NULL: it does not
} mlt_stream_user;

// Where the rank's is; NULL: no rank of its worker has any.
static mlt_stream_user **user_of(const mlt_rank *me)
{
    const mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    return w->starter ? &w->starter->of[mlt_mpi_of(me) - w->ranks] : NULL;
}

// ---- the end of an operation

static void end_operation(enqueued *e)
{
    mlt_rank *me = e->rank;
    mlt_stream_user *user = *user_of(me);
    if (e->turn.word)
        mlt_gpu_turn_tell(e->turn);
    mlt_dtype_drop(e->what.in_type);
    mlt_dtype_drop(e->what.type);
    mlt_op_drop(e->what.op_object);
    mlt_comm_drop(e->comm);
    mlt_stream_drop(e->stream);
    free(e);
    mlt_driver_unwatch(me);
    if (--user->pending == 0 && user->waits)
        mlt_req_complete(user->waits);
}

static void hand_over(enqueued *e)
{
    mlt_starter *s = e->starter;
    enqueued *first = atomic_load_explicit(&s->arrived, memory_order_relaxed);
    do
        e->next = first; // release: pairs with take_arrived
    while (!atomic_compare_exchange_weak_explicit(&s->arrived, &first, e, memory_order_release,
                                                  memory_order_relaxed));
    atomic_fetch_add_explicit(&s->knocks, 1, memory_order_release); // pairs with sleep
    mlt_os_futex_wake(&s->knocks, 1);
}

// The data are there. Only the starter can call what an error may lead to.
static void message_done(mlt_req *req)
{
    enqueued *e = mlt_container_of(req, enqueued, req);
    mlt_req *handle = e->handle;
    if (!handle || e->waited)
        mlt_status_set(e->status, req->from, req->got_tag, req->got, false);
    if (handle) {
        handle->from = req->from;
        handle->got_tag = req->got_tag;
        handle->got = req->got;
        handle->sent = req->sent;
        handle->sent_type = req->sent_type;
        handle->status = req->status;
        handle->extra = NULL;
        mlt_req_complete(handle);
    }
    if (req->status != MLT_OK && (!handle || e->waited)) {
        e->fails = true; // the handle tells of the others
        hand_over(e);
        return;
    }
    if (e->waited)
        mlt_req_close(handle);
    end_operation(e);
}

// In the step after its end, when nobody looks at the request any more.
static void collective_over(mlt_work *work)
{
    enqueued *e = mlt_container_of(work, enqueued, work);
    if (e->under_way->status != MLT_OK) {
        e->fails = true;
        hand_over(e);
        return;
    }
    mlt_req_close(e->under_way);
    end_operation(e);
}

static void collective_done(mlt_req *req)
{
    mlt_starter *s = mlt_mpi_worker_of(req->rank)->starter;
    MLT_LIST_EACH(enqueued, e, &s->active, active)
        if (e->under_way == req) {
            mlt_list_remove(&e->active);
            if (e->landed)
                e->landed(req);
            mlt_worker_later(req->rank->worker, &e->work);
            return;
        }
    mlt_assert(false);
}

// ---- the starter

static int begin_collective(enqueued *e)
{
    mlt_rank *me = e->rank;
    const gathering *w = &e->what;
    MPI_Request request = MPI_REQUEST_NULL;
    const mlt_how *how = MLT_NONBLOCKING(&request);
    mlt_collective one = e->fn == MLT_FN_MPIX_Scan_enqueue ? MLT_COLL_SCAN : MLT_COLL_EXSCAN;
    bool valid = mlt_op_revive(w->op_object, true); // the user may have freed it meanwhile
    int code;
    switch (e->fn) {
    case MLT_FN_MPIX_Barrier_enqueue:
        code = mlt_mpi_Barrier(me, e->comm, how);
        break;
    case MLT_FN_MPIX_Bcast_enqueue:
        code = mlt_mpi_Bcast(me, w->out, w->count, w->type, w->root, e->comm, how);
        break;
    case MLT_FN_MPIX_Gather_enqueue:
        code = mlt_mpi_Gather(me, w->in, w->in_count, w->in_type, w->out, w->count, w->type,
                              w->root, e->comm, how);
        break;
    case MLT_FN_MPIX_Scatter_enqueue:
        code = mlt_mpi_Scatter(me, w->in, w->in_count, w->in_type, w->out, w->count, w->type,
                               w->root, e->comm, how);
        break;
    case MLT_FN_MPIX_Allgather_enqueue:
        code = mlt_mpi_Allgather(me, w->in, w->in_count, w->in_type, w->out, w->count, w->type,
                                 e->comm, how);
        break;
    case MLT_FN_MPIX_Alltoall_enqueue:
        code = mlt_mpi_Alltoall(me, w->in, w->in_count, w->in_type, w->out, w->count, w->type,
                                e->comm, how);
        break;
    case MLT_FN_MPIX_Reduce_enqueue:
        code = mlt_mpi_Reduce(me, w->in, w->out, w->count, w->type, w->op, w->root, e->comm, how);
        break;
    case MLT_FN_MPIX_Allreduce_enqueue:
        code = mlt_mpi_Allreduce(me, w->in, w->out, w->count, w->type, w->op, e->comm, how);
        break;
    case MLT_FN_MPIX_Reduce_scatter_block_enqueue:
        code =
            mlt_mpi_Reduce_scatter_block(me, w->in, w->out, w->count, w->type, w->op, e->comm, how);
        break;
    default:
        code =
            mlt_coll_one_block(me, one, w->in, w->out, w->count, w->type, w->op, 0, e->comm, how);
        break;
    }
    (void)mlt_op_revive(w->op_object, valid);
    e->under_way = code == MPI_SUCCESS ? mlt_req_of(request) : NULL;
    return code;
}

static void begin(enqueued *e)
{
    mlt_list_remove(&e->coming);
    mlt_driver_watch(e->rank);
    if (e->req.magic) {
        if (e->req.kind == MLT_REQ_SEND)
            mlt_p2p_send(&e->req);
        else
            mlt_p2p_recv(&e->req);
        return;
    }
    int code = begin_collective(e); // raised
    if (code != MPI_SUCCESS || e->under_way->flags & MLT_REQF_SHARED) {
        end_operation(e);
    } else if (e->under_way->done) {
        collective_over(&e->work);
    } else {
        e->landed = e->under_way->on_done;
        e->under_way->on_done = collective_done;
        mlt_list_push_back(&e->starter->active, &e->active);
    }
}

static void tell_error(enqueued *e)
{
    mlt_req *failed = e->under_way ? e->under_way : &e->req;
    (void)mlt_mpi_raise_code(e->rank, e->comm, e->fn, mlt_req_code(e->rank, failed));
    if (e->under_way)
        mlt_req_close(e->under_way);
    else if (e->handle)
        mlt_req_close(e->handle);
    end_operation(e);
}

// The first that came is the first of the list.
static enqueued *take_arrived(mlt_starter *s)
{
    // acquire: pairs with hand_over
    enqueued *e = atomic_exchange_explicit(&s->arrived, NULL, memory_order_acquire), *first = NULL;
    while (e) {
        enqueued *next = e->next;
        e->next = first;
        first = e;
        e = next;
    }
    return first;
}

static void serve_all(mlt_starter *s, enqueued *e)
{
    mlt_gate *gate = s->rank->worker->sched->gate;
    mlt_gate_enter(gate);
    mlt_thread_self->helper = true;
    for (enqueued *next; e; e = next) {
        mlt_rank *me = e->rank;
        uint16_t before = me->fn;
        next = e->next;
        mlt_fiber_user = me;
        me->fn = e->fn;
        if (e->fails)
            tell_error(e);
        else
            begin(e);
        me->fn = before;
    }
    mlt_gate_leave(gate);
}

// An operation often follows another one closely.
static void sleep_until_knocked(mlt_starter *s, uint32_t knocks)
{
    enum { LOOKS = 2000 };
    for (int i = 0; i < LOOKS; i++) {
        if (atomic_load_explicit(&s->knocks, memory_order_relaxed) != knocks)
            return;
        mlt_arch_pause();
    }
    mlt_os_futex_wait(&s->knocks, knocks, MLT_OS_FOREVER);
}

static void *start_all(void *arg)
{
    mlt_starter *s = arg;
    mlt_entry_unpin(s->rank);
    (void)!mlt_fault_thread_init(); // without it an overflow of this stack is not described
    for (;;) {
        // acquire: pairs with hand_over; what arrives after this look changes it
        uint32_t knocks = atomic_load_explicit(&s->knocks, memory_order_acquire);
        enqueued *e = take_arrived(s);
        if (e)
            serve_all(s, e);
        else if (atomic_load_explicit(&s->ends, memory_order_acquire)) // pairs with mlt_stream_end
            break;
        else
            sleep_until_knocked(s, knocks);
    }
    mlt_fault_thread_fini();
    return NULL;
}

static int starter_new(mlt_rank *me)
{
    int code = mlt_helper_allow(me, NULL, "a stream of a GPU");
    if (code != MPI_SUCCESS)
        return code;
    mlt_starter *s = mlt_xcalloc(1, sizeof *s);
    s->rank = me;
    s->of = mlt_xcalloc(me->worker->count, sizeof(mlt_stream_user *));
    mlt_list_init(&s->coming);
    mlt_list_init(&s->active);
    bool drives = mlt_driver_hold(me);
    if (!drives || mlt_helper_thread(&s->thread, start_all, s) != 0) {
        if (drives)
            mlt_driver_drop(me);
        free(s->of);
        free(s);
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_OTHER,
                             "the system refuses a thread for streams");
    }
    mlt_mpi_worker_of(me)->starter = s;
    return MPI_SUCCESS;
}

int mlt_stream_begin(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (w->starter && *user_of(me))
        return MPI_SUCCESS;
    int code = w->starter ? MPI_SUCCESS : starter_new(me);
    if (code != MPI_SUCCESS)
        return code;
    w->starter->users++;
    *user_of(me) = mlt_xcalloc(1, sizeof(mlt_stream_user));
    return MPI_SUCCESS;
}

// A stream that has failed comes to nothing any more.
static void look_for_failed(const mlt_rank *me, const mlt_starter *s)
{
    char why[160];
    MLT_LIST_EACH(const enqueued, e, &s->coming, coming)
        if (e->rank == me && mlt_gpu_stream_failed(&e->stream->on, why, sizeof why))
            mlt_fatal("%s: %s was enqueued in a stream that has failed: %s", mlt_mpi_call(me),
                      mlt_fn_name(e->fn), why);
}

void mlt_stream_end(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    mlt_starter *s = w->starter;
    mlt_stream_user *user = s ? *user_of(me) : NULL;
    if (!user)
        return;
    if (user->pending) {
        look_for_failed(me, s);
        mlt_req all;
        mlt_req_fill_other(&all, me, &mlt_mpi_of(me)->world);
        user->waits = &all;
        mlt_req_wait(&all, mlt_mpi_call(me));
    }
    free(user);
    *user_of(me) = NULL;
    if (--s->users > 0)
        return;
    w->starter = NULL;
    atomic_store_explicit(&s->ends, true, memory_order_release); // pairs with start_all
    atomic_fetch_add_explicit(&s->knocks, 1, memory_order_release);
    mlt_os_futex_wake(&s->knocks, 1);
    mlt_outside outside = mlt_thread_step_out(me);
    pthread_join(s->thread, NULL);
    mlt_thread_step_in(me, outside);
    mlt_driver_drop(me);
    free(s->of);
    free(s);
}

// ---- enqueueing

// In a thread of the GPU's driver.
static void arrive(void *arg)
{
    hand_over(arg);
}

// The communicator's stream; NULL, and *code: the error, raised.
static mlt_stream *stream_of(mlt_rank *me, mlt_comm *comm, int *code)
{
    mlt_stream *s = comm->extra ? comm->extra->stream : NULL;
    if (!s || s->plain)
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                              s ? "the stream of %s was made without a stream of a GPU (info keys "
                                  "\"type\" and \"value\"), so nothing can be enqueued"
                                : "%s has no stream; MPIX_Stream_comm_create makes a communicator "
                                  "that has",
                              mlt_comm_name(me, comm));
    else if (mlt_gpu_stream_records(&s->on))
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                              "a graph records the stream of %s (cudaStreamBeginCapture), which "
                              "would run the operation again; end the recording before",
                              mlt_comm_name(me, comm));
    else
        return s;
    return NULL;
}

static enqueued *new_operation(mlt_rank *me, mlt_comm *comm, mlt_stream *s)
{
    enqueued *e = mlt_xcalloc(1, sizeof *e);
    e->starter = mlt_mpi_worker_of(me)->starter;
    e->stream = s;
    e->rank = me;
    e->comm = comm;
    e->fn = me->fn;
    e->work.run = collective_over;
    e->turn = mlt_gpu_turn_take(&s->on);
    mlt_stream_hold(s);
    mlt_comm_hold(comm);
    (*user_of(me))->pending++;
    return e;
}

// It is the stream's from now on; waits: so does the stream wait for it.
static void enqueue(mlt_rank *me, enqueued *e, bool waits)
{
    mlt_gpu_stream on = e->stream->on;
    mlt_gpu_turn turn = e->turn;
    mlt_list_push_back(&e->starter->coming, &e->coming);
    mlt_outside outside = mlt_thread_step_out(me);
    mlt_gpu_stream_call(&on, arrive, e);
    if (waits)
        mlt_gpu_stream_wait(&on, turn);
    mlt_thread_step_in(me, outside);
}

// request: where its handle goes; NULL: the stream waits for the message.
static int enqueue_message(mlt_rank *me, mlt_req_kind kind, const void *buf, MPI_Count count,
                           const mlt_type *type, int peer, int tag, mlt_comm *comm,
                           MPI_Status *status, MPI_Request *request)
{
    int code = MPI_SUCCESS;
    mlt_stream *s = stream_of(me, comm, &code);
    if (!s)
        return code;
    if (peer == MPI_PROC_NULL) {
        if (request)
            *request = kind == MLT_REQ_SEND ? mlt_req_sent_handle() : mlt_req_proc_null_handle();
        else if (kind == MLT_REQ_RECV)
            mlt_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        return code;
    }
    enqueued *e = new_operation(me, comm, s);
    int32_t whose = kind == MLT_REQ_SEND ? mlt_comm_world_rank(comm, peer) : peer;
    mlt_req_fill(&e->req, me, kind, buf, (uint64_t)count, type, whose, tag, comm);
    e->req.on_done = message_done;
    mlt_dtype_hold(type);
    e->what.type = type;
    e->status = status;
    if (request) {
        e->handle = mlt_req_open(me, MLT_REQ_OTHER, buf, (uint64_t)count, type, whose, tag, comm);
        e->handle->flags |= MLT_REQF_STREAM;
        e->handle->extra = e;
        *request = mlt_req_handle(e->handle);
    }
    enqueue(me, e, !request);
    return code;
}

int mlt_mpi_Send_enqueue(mlt_rank *me, const void *buf, int count, const mlt_type *type, int dest,
                         int tag, mlt_comm *comm)
{
    return enqueue_message(me, MLT_REQ_SEND, buf, count, type, dest, tag, comm, MPI_STATUS_IGNORE,
                           NULL);
}

int mlt_mpi_Isend_enqueue(mlt_rank *me, const void *buf, int count, const mlt_type *type, int dest,
                          int tag, mlt_comm *comm, MPI_Request *request)
{
    return enqueue_message(me, MLT_REQ_SEND, buf, count, type, dest, tag, comm, MPI_STATUS_IGNORE,
                           request);
}

int mlt_mpi_Recv_enqueue(mlt_rank *me, void *buf, int count, const mlt_type *type, int source,
                         int tag, mlt_comm *comm, MPI_Status *status)
{
    return enqueue_message(me, MLT_REQ_RECV, buf, count, type, source, tag, comm, status, NULL);
}

int mlt_mpi_Irecv_enqueue(mlt_rank *me, void *buf, int count, const mlt_type *type, int source,
                          int tag, mlt_comm *comm, MPI_Request *request)
{
    return enqueue_message(me, MLT_REQ_RECV, buf, count, type, source, tag, comm, MPI_STATUS_IGNORE,
                           request);
}

// ---- waits

// index: of the request in its array; -1: it is alone.
static int enqueue_wait(mlt_rank *me, MPI_Request *request, MPI_Status *status, int index)
{
    if (*request == MPI_REQUEST_NULL) {
        mlt_status_set_empty(status);
        return MPI_SUCCESS;
    }
    mlt_req *req = mlt_req_mine(me, *request);
    if (!req)
        return mlt_req_bad(me, index, *request);
    if (!(req->flags & (MLT_REQF_STREAM | MLT_REQF_SHARED)))
        return mlt_mpi_raise(me, req->owner, me->fn, MPI_ERR_REQUEST,
                             "argument request is one of %s, for which no stream can wait; only "
                             "MPIX_Isend_enqueue and MPIX_Irecv_enqueue make such",
                             mlt_fn_name(req->fn));
    if (req->done)
        return mlt_mpi_Wait(me, request, status);
    enqueued *e = req->extra;
    mlt_gpu_stream on = e->stream->on;
    mlt_gpu_turn turn = e->turn;
    e->status = status;
    e->waited = true;
    *request = MPI_REQUEST_NULL;
    mlt_outside outside = mlt_thread_step_out(me);
    mlt_gpu_stream_wait(&on, turn);
    mlt_thread_step_in(me, outside);
    return MPI_SUCCESS;
}

int mlt_mpi_Wait_enqueue(mlt_rank *me, MPI_Request *request, MPI_Status *status)
{
    return enqueue_wait(me, request, status, -1);
}

int mlt_mpi_Waitall_enqueue(mlt_rank *me, int count, MPI_Request array_of_requests[],
                            MPI_Status array_of_statuses[])
{
    int first = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        MPI_Status *status =
            array_of_statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &array_of_statuses[i];
        int code = enqueue_wait(me, &array_of_requests[i], status, i);
        first = first == MPI_SUCCESS ? code : first;
    }
    return first;
}

// ---- collective operations

static int enqueue_collective(mlt_rank *me, mlt_comm *comm, const gathering *what)
{
    int code = MPI_SUCCESS;
    mlt_stream *s = stream_of(me, comm, &code);
    if (!s)
        return code;
    enqueued *e = new_operation(me, comm, s);
    e->what = *what;
    mlt_dtype_hold(what->in_type);
    mlt_dtype_hold(what->type);
    if (what->op != MPI_OP_NULL)
        e->what.op_object = mlt_op_object(what->op);
    mlt_op_hold(e->what.op_object);
    enqueue(me, e, true);
    return code;
}

int mlt_mpi_Barrier_enqueue(mlt_rank *me, mlt_comm *comm)
{
    return enqueue_collective(me, comm, &(const gathering){.op = MPI_OP_NULL});
}

int mlt_mpi_Bcast_enqueue(mlt_rank *me, void *buffer, int count, const mlt_type *type, int root,
                          mlt_comm *comm)
{
    return enqueue_collective(
        me, comm,
        &(const gathering){
            .out = buffer, .count = count, .type = type, .op = MPI_OP_NULL, .root = root});
}

static int enqueue_exchange(mlt_rank *me, const void *in, int in_count, const mlt_type *in_type,
                            void *out, int count, const mlt_type *type, int root, mlt_comm *comm)
{
    return enqueue_collective(
        me, comm,
        &(const gathering){in, out, in_count, count, in_type, type, MPI_OP_NULL, NULL, root});
}

int mlt_mpi_Gather_enqueue(mlt_rank *me, const void *sendbuf, int sendcount,
                           const mlt_type *sendtype, void *recvbuf, int recvcount,
                           const mlt_type *recvtype, int root, mlt_comm *comm)
{
    return enqueue_exchange(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                            comm);
}

int mlt_mpi_Scatter_enqueue(mlt_rank *me, const void *sendbuf, int sendcount,
                            const mlt_type *sendtype, void *recvbuf, int recvcount,
                            const mlt_type *recvtype, int root, mlt_comm *comm)
{
    return enqueue_exchange(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                            comm);
}

int mlt_mpi_Allgather_enqueue(mlt_rank *me, const void *sendbuf, int sendcount,
                              const mlt_type *sendtype, void *recvbuf, int recvcount,
                              const mlt_type *recvtype, mlt_comm *comm)
{
    return enqueue_exchange(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, 0,
                            comm);
}

int mlt_mpi_Alltoall_enqueue(mlt_rank *me, const void *sendbuf, int sendcount,
                             const mlt_type *sendtype, void *recvbuf, int recvcount,
                             const mlt_type *recvtype, mlt_comm *comm)
{
    return enqueue_exchange(me, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, 0,
                            comm);
}

static int enqueue_reduction(mlt_rank *me, const void *in, void *out, int count,
                             const mlt_type *type, MPI_Op op, int root, mlt_comm *comm)
{
    return enqueue_collective(me, comm,
                              &(const gathering){in, out, 0, count, NULL, type, op, NULL, root});
}

int mlt_mpi_Reduce_enqueue(mlt_rank *me, const void *sendbuf, void *recvbuf, int count,
                           const mlt_type *type, MPI_Op op, int root, mlt_comm *comm)
{
    return enqueue_reduction(me, sendbuf, recvbuf, count, type, op, root, comm);
}

int mlt_mpi_Allreduce_enqueue(mlt_rank *me, const void *sendbuf, void *recvbuf, int count,
                              const mlt_type *type, MPI_Op op, mlt_comm *comm)
{
    return enqueue_reduction(me, sendbuf, recvbuf, count, type, op, 0, comm);
}

int mlt_mpi_Reduce_scatter_block_enqueue(mlt_rank *me, const void *sendbuf, void *recvbuf,
                                         int recvcount, const mlt_type *type, MPI_Op op,
                                         mlt_comm *comm)
{
    return enqueue_reduction(me, sendbuf, recvbuf, recvcount, type, op, 0, comm);
}

int mlt_mpi_Scan_enqueue(mlt_rank *me, const void *sendbuf, void *recvbuf, int count,
                         const mlt_type *type, MPI_Op op, mlt_comm *comm)
{
    return enqueue_reduction(me, sendbuf, recvbuf, count, type, op, 0, comm);
}

int mlt_mpi_Exscan_enqueue(mlt_rank *me, const void *sendbuf, void *recvbuf, int count,
                           const mlt_type *type, MPI_Op op, mlt_comm *comm)
{
    return enqueue_reduction(me, sendbuf, recvbuf, count, type, op, 0, comm);
}
