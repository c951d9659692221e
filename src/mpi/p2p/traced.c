// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/p2p/traced.h"

#include "mpi/p2p/request.h"

enum {
    SHORT_BYTES = 256, // sends of so much take the same time, as far as a trace can tell
    TIMED = 16, // of short sends, one in so many reads the counter twice, and the first so many
};

// Which of the tracer's guesses.
enum { OF_SENDS, OF_RECEIVES, OF_PAIRS };

// Inline, as a call would put half of its arguments on the stack.
static inline __attribute__((always_inline)) void
traced_note(mlt_rank *me, uint64_t begin, uint64_t end, uint64_t bytes, int32_t peer, int32_t tag,
            const mlt_comm *comm, uint8_t how, uint8_t beside)
{
    mlt_trace_like like = mlt_trace_like_of(bytes, (uint32_t)me->world, peer, tag, comm->context,
                                            me->fn, how, MLT_TRACE_CALL | beside);
    mlt_trace_note_again(mlt_mpi_worker_of(me)->tracer,
                         beside & MLT_NOTE_SENT ? OF_SENDS : OF_RECEIVES, &like, end, end - begin);
}

// A moment of a call that has a note of its own, when that began.
static void note_moment(mlt_rank *me, uint64_t at, uint64_t bytes, int32_t peer, int32_t tag,
                        const mlt_comm *comm, uint8_t how, mlt_trace_kind kind)
{
    mlt_trace_like like = mlt_trace_like_of(bytes, (uint32_t)me->world, peer, tag, comm->context, 0,
                                            how, (uint8_t)kind);
    mlt_trace_note_again(mlt_mpi_worker_of(me)->tracer, OF_PAIRS, &like, at, 0);
}

// When a send ended that has left. The counter is slow compared with a short send, so most of these
// take what some took: the least, as what comes next must not seem to begin before. Not where ranks share
// cores: a send that wakes its receiver may take as long as that runs.
static inline uint64_t end_of_send(mlt_tracer *tracer, uint64_t begin, bool brief)
{
    uint32_t sends = brief ? tracer->sends++ : 0;
    if (MLT_LIKELY(sends >= TIMED && sends % TIMED != 0))
        return begin + tracer->send_ticks;
    uint64_t now = mlt_arch_cycles(), ticks = tracer->send_ticks + 1;
    if (brief)
        tracer->send_ticks = now - begin < ticks || ticks == 1 ? now - begin : ticks;
    return now;
}

// A message that cannot leave at once tells of itself.
static void send_slowly(mlt_rank *me, const void *buf, uint64_t count, const mlt_type *type,
                        int dest, int tag, mlt_comm *comm, uint64_t begin)
{
    mlt_trace_call call = {.begin = begin,
                           .bytes = count * type->size,
                           .peer = dest,
                           .tag = tag,
                           .context = comm->context};
    uint16_t fn = me->fn;
    mlt_mpi_trace_call_begins(me, &call);
    mlt_send_and_wait(me, buf, count, type, dest, tag, comm, MLT_MODE_STANDARD);
    mlt_mpi_trace_call_ends(me, fn, &call);
}

int mlt_traced_Send(mlt_rank *me, const void *buf, MPI_Count count, const mlt_type *type, int dest,
                    int tag, mlt_comm *comm)
{
    mlt_worker *w = me->worker;
    uint64_t begin = mlt_arch_cycles(), bytes = (uint64_t)count * type->size;
    if (MLT_UNLIKELY(dest == MPI_PROC_NULL)) {
        traced_note(me, begin, mlt_arch_cycles(), bytes, dest, tag, comm, 0, 0);
        return MPI_SUCCESS;
    }
    int32_t world = mlt_comm_world_rank(comm, dest);
    const mlt_envelope e = mlt_send_envelope((uint64_t)count, type, tag, comm);
    int distance = MLT_LIKELY(type->contiguous) ? mlt_p2p_send_told(me, buf, world, &e) : -1;
    mlt_tracer *tracer = mlt_mpi_worker_of(me)->tracer;
    bool brief = bytes <= SHORT_BYTES && !tracer->crowded && !w->unsent;
    if (MLT_UNLIKELY(w->unsent))
        mlt_p2p_let_go(w);
    if (MLT_LIKELY(distance >= 0))
        traced_note(me, begin, end_of_send(tracer, begin, brief), bytes, world, tag, comm,
                    (uint8_t)distance, MLT_NOTE_SENT);
    else
        send_slowly(me, buf, (uint64_t)count, type, dest, tag, comm, begin);
    return MPI_SUCCESS;
}

// Waits for the message that comes, if it must, and notes the call. waits: MLT_NOTE_POSTED if nothing told
// of the posting. folds: the wait is part of the note.
static inline int traced_finish(mlt_rank *me, mlt_req *req, uint8_t waits, bool folds,
                                uint64_t begin, MPI_Status *status)
{
    mlt_worker *w = me->worker;
    const mlt_comm *comm = req->owner;
    w->sched->quiet = waits && folds;
    int code = mlt_recv_finish(me, req, status);
    if (waits && !w->sched->solo)
        mlt_mpi_trace_resumed(me, begin, 0);
    if (MLT_UNLIKELY(w->unsent))
        mlt_p2p_let_go(w);
    if (MLT_UNLIKELY(req->status != MLT_OK && req->status != MLT_ERR_TRUNCATED)) // no message came
        traced_note(me, begin, mlt_arch_cycles(), 0, req->peer, req->tag, comm, 0, 0);
    else
        traced_note(me, begin, mlt_arch_cycles(), req->sent, mlt_comm_world_rank(comm, req->from),
                    req->got_tag, comm, waits ? MLT_WAIT_RECV : 0, MLT_NOTE_MATCHED | waits);
    return code;
}

int mlt_traced_Recv(mlt_rank *me, void *buf, MPI_Count count, const mlt_type *type, int source,
                    int tag, mlt_comm *comm, MPI_Status *status)
{
    uint64_t begin = mlt_arch_cycles();
    if (MLT_UNLIKELY(source == MPI_PROC_NULL)) {
        mlt_status_set_proc_null(status);
        traced_note(me, begin, mlt_arch_cycles(), 0, source, tag, comm, 0, 0);
        return MPI_SUCCESS;
    }
    mlt_req req;
    mlt_req_fill(&req, me, MLT_REQ_RECV, buf, (uint64_t)count, type, source, tag, comm);
    req.mode = MLT_MODE_TOLD;
    mlt_p2p_recv(&req);
    return traced_finish(me, &req, req.done ? 0 : MLT_NOTE_POSTED, true, begin, status);
}

// The message of the pair leaves, and tells of itself where it cannot leave at once. False: the rank waited
// for that, so the receive must have been told of.
static bool pair_sends(mlt_rank *me, const void *buf, uint64_t count, const mlt_type *type,
                       int dest, int tag, const mlt_req *recv, mlt_comm *comm, uint64_t begin)
{
    uint64_t bytes = count * type->size;
    int32_t world = mlt_comm_world_rank(comm, dest);
    const mlt_envelope e = mlt_send_envelope((uint64_t)count, type, tag, comm);
    int distance = MLT_LIKELY(type->contiguous) ? mlt_p2p_send_told(me, buf, world, &e) : -1;
    if (MLT_LIKELY(distance >= 0)) {
        note_moment(me, begin, bytes, world, tag, comm, (uint8_t)distance, MLT_TRACE_SENT);
        return true;
    }
    mlt_req req;
    mlt_req_fill(&req, me, MLT_REQ_SEND, buf, count, type, world, tag, comm);
    req.mode = MLT_MODE_STANDARD;
    mlt_p2p_send(&req);
    if (MLT_LIKELY(req.done))
        return true;
    if (recv && !recv->done)
        note_moment(me, mlt_arch_cycles(), recv->count * recv->type->size,
                    recv->peer >= 0 ? mlt_comm_world_rank(comm, recv->peer) : recv->peer, recv->tag,
                    comm, 0, MLT_TRACE_POSTED);
    mlt_req_hold_handles(comm, type);
    mlt_req_wait(&req, mlt_mpi_call(me));
    mlt_req_drop_handles(comm, type);
    return false;
}

// Two notes: the message that left, and the call with the one that came.
int mlt_traced_Sendrecv(mlt_rank *me, const void *sendbuf, MPI_Count sendcount,
                        const mlt_type *sendtype, int dest, int sendtag, void *recvbuf,
                        MPI_Count recvcount, const mlt_type *recvtype, int source, int recvtag,
                        mlt_comm *comm, MPI_Status *status)
{
    uint64_t begin = mlt_arch_cycles();
    mlt_req recv;
    bool comes = source != MPI_PROC_NULL, folds = true;
    int code = MPI_SUCCESS;
    if (MLT_LIKELY(comes)) {
        mlt_req_fill(&recv, me, MLT_REQ_RECV, recvbuf, (uint64_t)recvcount, recvtype, source,
                     recvtag, comm);
        recv.mode = MLT_MODE_TOLD;
        mlt_p2p_recv(&recv);
    }
    mlt_req_hold_handles(comm, recvtype); // the user may free both while the rank waits
    if (MLT_LIKELY(dest != MPI_PROC_NULL))
        folds = pair_sends(me, sendbuf, (uint64_t)sendcount, sendtype, dest, sendtag,
                           comes ? &recv : NULL, comm, begin);
    if (MLT_LIKELY(comes)) {
        code = traced_finish(me, &recv, recv.done || !folds ? 0 : MLT_NOTE_POSTED, folds, begin,
                             status);
    } else {
        mlt_status_set_proc_null(status);
        if (MLT_UNLIKELY(me->worker->unsent))
            mlt_p2p_let_go(me->worker);
        traced_note(me, begin, mlt_arch_cycles(), (uint64_t)sendcount * sendtype->size, dest,
                    sendtag, comm, 0, 0);
    }
    mlt_req_drop_handles(comm, recvtype);
    return code;
}
