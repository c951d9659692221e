// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/live.h"

#include <stddef.h>

#include "boot/live.h"
#include "fiber/fiber.h"
#include "fiber/wait.h"

_Static_assert(sizeof(mlt_worker) <= MLT_LIVE_MOST_BYTES &&
                   sizeof(mlt_sched) <= MLT_LIVE_MOST_BYTES,
               "the agent has room for each");

static const mlt_live_layout common = {
    .magic = MLT_LIVE_MAGIC,
    .worker_bytes = sizeof(mlt_worker),
    .sched_bytes = sizeof(mlt_sched),
    .rank_bytes = sizeof(mlt_rank),
    .fiber_bytes = sizeof(mlt_fiber),
    .wait_bytes = sizeof(mlt_wait),
    .sched = offsetof(mlt_worker, sched),
    .ranks = offsetof(mlt_worker, ranks),
    .messages = offsetof(mlt_worker, counts.messages),
    .sizes = offsetof(mlt_worker, counts.bytes),
    .eager = offsetof(mlt_worker, counts.eager),
    .rendezvous = offsetof(mlt_worker, counts.rendezvous),
    .copies = offsetof(mlt_worker, counts.copies),
    .held = offsetof(mlt_worker, held),
    .held_most = offsetof(mlt_worker, counts.unexpected_peak),
    .switches = offsetof(mlt_sched, switches),
    .runnable = offsetof(mlt_sched, runnable),
    .fiber = offsetof(mlt_rank, fiber),
    .ended = offsetof(mlt_rank, ended),
    .unexpected = offsetof(mlt_rank, unexpected.size),
    .posted = offsetof(mlt_rank, posted.size),
    .wait = offsetof(mlt_fiber, wait),
    .call = offsetof(mlt_wait, call),
    .kind = offsetof(mlt_wait, kind),
    .context = offsetof(mlt_wait, context),
    .peer = offsetof(mlt_wait, peer),
};

// Of the calling thread's worker.
static _Thread_local mlt_live_layout layout;
static _Thread_local mlt_live_shown shown_here;

mlt_live_shown *mlt_live_here(void)
{
    return &shown_here;
}

void mlt_live_show(const mlt_worker *w, bool shown)
{
    mlt_job_worker *own = mlt_job_worker_at(w->boot->job, w->index);
    layout = common;
    layout.shown = (uintptr_t)&shown_here;
    atomic_store_explicit(&own->layout, (uintptr_t)&layout, memory_order_relaxed);
    // release: the worker and the layout are complete. Pairs with the agent's acquire; of a worker
    // that is being freed the agent reads bytes that mean nothing, and takes them for a sample.
    atomic_store_explicit(&own->live, shown ? (uintptr_t)w : 0, memory_order_release);
}
