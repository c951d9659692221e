// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/barrier.h"

#include <stdlib.h>

#include "base/log.h"
#include "boot/job.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

// Tags in a context of their own: a meeting of the world's ranks (MPI_Comm_idup) may be under way
// meanwhile. A round has a tag; between two workers the messages of one tag keep their order, so
// barriers need no numbers.
enum { TAG_FINALIZE = 64 };

static void park(mlt_rank *me)
{
    mlt_wait wait = {
        .call = mlt_mpi_call(me),
        .kind = MLT_WAIT_BARRIER,
        .context = MLT_CONTEXT_WORLD,
    };
    mlt_fiber_park(me->worker->sched, &wait);
}

static void wait_for(mlt_rank *me, mlt_req *req)
{
    if (req->done)
        return;
    mlt_waiter waiter = {.fiber = mlt_rank_fiber(me), .need = 1};
    req->waiter = &waiter;
    while (!req->done)
        park(me);
    req->waiter = NULL;
}

static void fill(mlt_worker *w, mlt_req *req, mlt_req_kind kind, uint32_t peer_worker, int tag)
{
    int32_t peer = (int32_t)mlt_job_worker_at(w->boot->job, peer_worker)->first_rank;
    mlt_req_init(req, &w->ranks[0], kind);
    // No bytes, but the address must not be NULL.
    mlt_req_message(req, w, 0, MLT_TYPE_BYTE, MLT_CONTEXT_BARRIER, w->first_rank, peer, tag);
}

// Dissemination: in round k each worker hears from the one 2^k before it. Messages are between the
// first ranks of the workers, whichever rank waits for them.
void mlt_barrier_workers(mlt_rank *me)
{
    mlt_worker *w = me->worker;
    uint32_t workers = w->boot->job->workers;
    for (uint32_t distance = 1, round = 0; distance < workers; distance *= 2, round++) {
        int tag = TAG_FINALIZE + (int)round;
        mlt_req in, out;
        fill(w, &in, MLT_REQ_RECV, (w->index + workers - distance) % workers, tag);
        fill(w, &out, MLT_REQ_SEND, (w->index + distance) % workers, tag);
        mlt_p2p_recv(&in);
        mlt_p2p_send(&out);
        wait_for(me, &out);
        wait_for(me, &in);
    }
}
