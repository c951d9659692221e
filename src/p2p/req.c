// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.h"
#include "p2p/p2p_int.h"

mlt_req *mlt_req_new(mlt_rank *rank)
{
    mlt_req *req = mlt_pool_take(&rank->worker->reqs);
    memset(req, 0, sizeof *req);
    mlt_req_init(req, rank, MLT_REQ_SEND);
    return req;
}

void mlt_req_free(mlt_req *req)
{
    mlt_assert(req->magic == MLT_REQ_MAGIC);
    mlt_req_retire(req);
    mlt_pool_give(&req->rank->worker->reqs, req);
}

void mlt_req_complete(mlt_req *req)
{
    mlt_assert(!req->done);
    req->done = true;
    req->stage = STAGE_NONE;
    if (req->kind == MLT_REQ_SEND && --req->rank->sends_open == 0 && req->rank->drains) {
        mlt_worker *w = req->rank->worker;
        mlt_fiber_wake(w->sched, w->drainer ? w->drainer : req->rank->fiber);
    }
    mlt_waiter *waiter = req->waiter;
    if (waiter && --waiter->need == 0)
        mlt_fiber_wake(req->rank->worker->sched, waiter->fiber);
    if (req->on_done)
        req->on_done(req); // last: it may free the request
}

void mlt_req_wait(mlt_req *req, const char *call)
{
    if (req->done)
        return;
    mlt_rank *rank = mlt_rank_self();
    mlt_waiter waiter = {.fiber = mlt_rank_fiber(rank), .need = 1};
    mlt_wait wait = {
        .call = call,
        .kind = wait_kind(req),
        .context = req->context,
    };
    if (req->kind == MLT_REQ_OTHER) {
        wait.request = req;
    } else {
        wait.peer = req->peer;
        wait.tag = req->tag;
        wait.bytes = req->count * req->type->size;
    }
    req->waiter = &waiter;
    mlt_fiber_park(rank->worker->sched, &wait);
    mlt_assert(req->done);
    req->waiter = NULL;
}

// Tells two lists apart: another rank may have written into it meanwhile.
static uint64_t sum_of(mlt_req *const *reqs, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += (uintptr_t)reqs[i] * (2 * i + 1);
    return sum;
}

static bool wait_list(mlt_rank *rank, mlt_req *const *reqs, uint64_t count, bool all,
                      const char *call)
{
    mlt_waiter waiter = {.fiber = mlt_rank_fiber(rank), .need = 1};
    mlt_wait wait = {
        .call = call,
        .kind = all ? MLT_WAIT_ALL : MLT_WAIT_ANY,
        .list = reqs,
        .n = (uint32_t)(count < UINT32_MAX ? count : UINT32_MAX),
    };
    uint32_t open = 0; // one that is there twice completes once
    for (uint64_t i = 0; i < count; i++)
        if (reqs[i] && !reqs[i]->done && reqs[i]->waiter != &waiter) {
            reqs[i]->waiter = &waiter;
            open++;
        }
    if (open == 0)
        return true;
    if (all)
        waiter.need = open;
    // A rank that is alone has nobody beside it who could.
    bool shared = rank->worker->count > 1 || rank->worker->sched->gate || rank->worker->sched->pool;
    uint64_t sum = shared ? sum_of(reqs, count) : 0;
    mlt_fiber_park(rank->worker->sched, &wait);
    if (shared && MLT_UNLIKELY(sum_of(reqs, count) != sum))
        return false;
    // Those that were done before may be shared by all ranks: they stay untouched.
    for (uint64_t i = 0; i < count; i++)
        if (reqs[i] && reqs[i]->waiter == &waiter)
            reqs[i]->waiter = NULL;
    return true;
}

bool mlt_req_wait_all(mlt_rank *rank, mlt_req *const *reqs, uint64_t count, const char *call)
{
    return wait_list(rank, reqs, count, true, call);
}

bool mlt_req_wait_any(mlt_rank *rank, mlt_req *const *reqs, uint64_t count, const char *call)
{
    for (uint64_t i = 0; i < count; i++)
        if (reqs[i] && reqs[i]->done)
            return true;
    return wait_list(rank, reqs, count, false, call);
}
