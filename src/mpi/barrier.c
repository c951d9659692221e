// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/barrier.h"

#include <stdlib.h>

#include "base/log.h"
#include "boot/job.h"
#include "mpi/comm_int.h"
#include "mpi/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

// A parked rank; on its stack.
typedef struct arrival {
    struct arrival *next;
    mlt_fiber *fiber;
    bool released;
} arrival;

// Of the world, in one worker.
struct mlt_barrier {
    uint32_t arrived;
    arrival *first, **end; // in order of arrival
};

// Tags in a context of their own: a meeting of the world's ranks (MPI_Comm_idup) may be under way
// meanwhile. A round has a tag; between two workers the messages of one tag keep their order, so
// barriers need no numbers.
enum { TAG_BARRIER = 0, TAG_FINALIZE = 64 };

struct mlt_barrier *mlt_barrier_new(void)
{
    struct mlt_barrier *b = calloc(1, sizeof *b);
    if (!b)
        mlt_fatal("memory is exhausted: no room for a barrier");
    b->end = &b->first;
    return b;
}

static void park(mlt_rank *me)
{
    mlt_wait wait = {
        .call = mlt_mpi_call(me),
        .kind = MLT_WAIT_BARRIER,
        .peer = MLT_WAIT_ANYONE,
        .tag = MLT_WAIT_ANY_TAG,
        .context = MLT_CONTEXT_WORLD,
    };
    mlt_fiber_park(me->worker->sched, &wait);
}

static void wait_for(mlt_rank *me, mlt_req *req)
{
    if (req->done)
        return;
    mlt_waiter waiter = {.fiber = me->fiber, .need = 1};
    req->waiter = &waiter;
    while (!req->done)
        park(me);
    req->waiter = NULL;
}

static mlt_req message(mlt_worker *w, mlt_req_kind kind, uint32_t peer_worker, int tag)
{
    return (mlt_req){
        .magic = MLT_REQ_MAGIC,
        .kind = (uint8_t)kind,
        .rank = &w->ranks[0],
        .buf = w, // of no bytes, but not NULL
        .type = &mlt_type_predefined[(uintptr_t)MPI_BYTE % 1024],
        .context = MLT_CONTEXT_BARRIER,
        .peer = (int32_t)mlt_job_worker_at(w->boot->job, peer_worker)->first_rank,
        .self = w->first_rank,
        .tag = tag,
    };
}

// Dissemination: in round k each worker hears from the one 2^k before it. Messages are between the
// first ranks of the workers, whichever rank waits for them.
static void go_round(mlt_rank *me, int first_tag)
{
    mlt_worker *w = me->worker;
    uint32_t workers = w->boot->job->workers;
    for (uint32_t distance = 1, round = 0; distance < workers; distance *= 2, round++) {
        int tag = first_tag + (int)round;
        mlt_req in = message(w, MLT_REQ_RECV, (w->index + workers - distance) % workers, tag);
        mlt_req out = message(w, MLT_REQ_SEND, (w->index + distance) % workers, tag);
        mlt_p2p_recv(&in);
        mlt_p2p_send(&out);
        wait_for(me, &out);
        wait_for(me, &in);
    }
}

void mlt_barrier_workers(mlt_rank *me)
{
    go_round(me, TAG_FINALIZE);
}

int mlt_mpi_Barrier(mlt_rank *me, mlt_comm *comm)
{
    if (comm->size == 1 && !comm->inter)
        return MPI_SUCCESS;
    if (comm->context != MLT_CONTEXT_WORLD) {
        mlt_comm_meet(me, comm);
        return MPI_SUCCESS;
    }
    mlt_worker *w = me->worker;
    struct mlt_barrier *b = mlt_mpi_worker_of(me)->barrier;
    if (++b->arrived < w->count) {
        arrival own = {.fiber = me->fiber};
        *b->end = &own;
        b->end = &own.next;
        while (!own.released)
            park(me);
        return MPI_SUCCESS;
    }
    // Nobody of this worker can come again before it is woken.
    arrival *parked = b->first;
    b->arrived = 0;
    b->first = NULL;
    b->end = &b->first;
    go_round(me, TAG_BARRIER);
    while (parked) {
        arrival *next = parked->next; // gone when its fiber has run
        parked->released = true;
        mlt_fiber_wake(w->sched, parked->fiber);
        parked = next;
    }
    return MPI_SUCCESS;
}
