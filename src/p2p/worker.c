// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/worker.h"

#include <stdio.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/memory.h"
#include "fiber/delegate.h"
#include "fiber/gate.h"
#include "fiber/io.h"
#include "os/apart.h"
#include "os/fd.h"
#include "os/os.h"
#include "p2p/bounce.h"
#include "p2p/copied.h"
#include "p2p/device.h"
#include "p2p/live.h"
#include "p2p/p2p_int.h"
#include "p2p/settings.h"

_Static_assert((int)MLT_CTL_DISTANCES == (int)MLT_DISTANCES, "reports count by distance");

enum { HOLD_A_RANK = 256, LEAST_HOLD_A_PEER = 1 << 20, FLUSH_NS = 1000000000 };

// Forced, it is tried even if it will be refused.
static bool choose_read(bool readable)
{
    return mlt_conf.large == MLT_LARGE_READ ||
           (mlt_conf.large == MLT_LARGE_AUTO && MLT_ARCH_READS_PEERS && readable);
}

bool mlt_p2p_reads_here(void)
{
    return choose_read(mlt_os_peers_readable());
}

const char *mlt_worker_large_kind(const mlt_worker *w)
{
    return w->p2p->read_peers ? "read" : w->p2p->chose_read ? "chunks: refused" : "chunks";
}

// Large messages are read whole. One copy by the kernel is sooner there than two through the ring
// already for 8 KiB (1.7 us and 2.4); but where workers share cores, the answer of the receiver
// costs a switch.
static bool is_whole(const mlt_p2p_state *state)
{
    return state->chose_read && !state->crowded;
}

// The largest eager message, or the nearest to it that can be sent so far.
static void set_eager(mlt_worker *w, mlt_p2p_state *state, mlt_distance distance, uint64_t bytes)
{
    uint64_t most =
        distance == MLT_SAME_WORKER ? UINT64_MAX
        : distance == MLT_OTHER_HOST
            ? MLT_WIRE_FRAME_MOST
            : w->boot->job->ring_data / 4; // so that a message always fits beside others
    w->eager[distance] = bytes < most ? bytes : most;
    if (distance == MLT_OTHER_HOST)
        state->long_most = bytes < MLT_WIRE_FRAME_DATA_MOST ? bytes : MLT_WIRE_FRAME_DATA_MOST;
}

static void set_hold(mlt_worker *w, int64_t bytes)
{
    uint64_t share = (uint64_t)bytes / w->boot->job->workers; // of all hosts
    w->peer_hold = share > LEAST_HOLD_A_PEER ? share : LEAST_HOLD_A_PEER;
    w->held_limit = (uint64_t)bytes + (uint64_t)w->count * HOLD_A_RANK;
}

static mlt_p2p_state *new_state(mlt_worker *w)
{
    mlt_p2p_state *state = mlt_os_apart_try(sizeof *state);
    if (!state)
        return NULL;
    const mlt_job *job = w->boot->job;
    mlt_list_init(&state->waiting);
    mlt_list_init(&state->streams);
    mlt_list_init(&state->fetches);
    mlt_list_init(&state->later);
    mlt_list_init(&state->again);
    mlt_pool_init(&state->outs, sizeof(out_node), 16);
    mlt_pool_init(&w->messages, sizeof(mlt_msg) + MLT_MSG_SMALL, 64);
    state->crowded = job->local_workers > job->cores;
    state->patience = state->crowded ? MLT_POLLS_FEW : MLT_POLLS_MANY;
    state->spin_ns = state->crowded ? 0 : (uint64_t)mlt_conf.spin_us * 1000;
    // Hosts may differ in what they allow, and all workers must choose alike.
    w->reads = job->launched && job->procs > 1 && job->hosts == 1 && choose_read(job->readable);
    state->read_peers = job->launched && job->local_procs > 1 && choose_read(job->readable);
    state->chose_read = state->read_peers;
    int64_t host = is_whole(state) ? mlt_conf.eager_read : mlt_conf.eager_process;
    int64_t eager[] = {[MLT_SAME_WORKER] = mlt_conf.eager_worker,
                       [MLT_SAME_PROCESS] = mlt_conf.eager_thread,
                       [MLT_SAME_HOST] = host,
                       [MLT_OTHER_HOST] = mlt_conf.eager_host};
    for (int d = 0; d < MLT_DISTANCES; d++)
        set_eager(w, state, (mlt_distance)d, (uint64_t)eager[d]);
    set_hold(w, mlt_conf.hold);
    state->started_ns = mlt_os_now_ns();
    state->doorbell = NO_BELL;
    return state;
}

void mlt_worker_watch(mlt_worker *w, uint8_t who, bool watched)
{
    w->watched = (uint8_t)(watched ? w->watched | who : w->watched & ~who);
    mlt_sched_watch(w->sched, w->watched);
}

// The distance whose largest eager message that setting is now; MLT_DISTANCES: none.
static mlt_distance eager_of(const mlt_worker *w, const void *setting)
{
    const void *host = is_whole(w->p2p) ? &mlt_conf.eager_read : &mlt_conf.eager_process;
    return setting == &mlt_conf.eager_worker   ? MLT_SAME_WORKER
           : setting == &mlt_conf.eager_thread ? MLT_SAME_PROCESS
           : setting == host                   ? MLT_SAME_HOST
           : setting == &mlt_conf.eager_host   ? MLT_OTHER_HOST
                                               : MLT_DISTANCES;
}

int64_t mlt_worker_tuned(const mlt_worker *w, const void *setting)
{
    mlt_distance distance = eager_of(w, setting);
    if (distance == MLT_OTHER_HOST)
        return (int64_t)w->p2p->long_most;
    if (distance != MLT_DISTANCES)
        return (int64_t)w->eager[distance];
    if (setting == &mlt_conf.spin_us)
        return (int64_t)(w->p2p->spin_ns / 1000);
    if (setting == &mlt_conf.hold)
        return (int64_t)(w->held_limit - (uint64_t)w->count * HOLD_A_RANK);
    return -1;
}

void mlt_worker_tune(mlt_worker *w, const void *setting, int64_t value)
{
    mlt_distance distance = eager_of(w, setting);
    if (distance != MLT_DISTANCES)
        set_eager(w, w->p2p, distance, (uint64_t)value);
    else if (setting == &mlt_conf.spin_us)
        w->p2p->spin_ns = (uint64_t)value * 1000;
    else if (setting == &mlt_conf.hold)
        set_hold(w, value);
}

static void init_ranks(mlt_worker *w)
{
    for (uint32_t i = 0; i < w->count; i++) {
        mlt_rank *rank = &w->ranks[i];
        rank->worker = w;
        rank->world = w->first_rank + (int32_t)i;
        mlt_match_init(&rank->posted);
        mlt_match_init(&rank->unexpected);
        mlt_list_init(&rank->probers);
    }
}

// That rank's fiber, if it is of this worker.
static mlt_fiber *fiber_at(const mlt_worker *w, int32_t world)
{
    uint32_t at = (uint32_t)(world - w->first_rank);
    return world >= w->first_rank && at < w->sched->count ? &w->sched->fibers[at] : NULL;
}

static mlt_fiber *awaited_by(const mlt_rank *rank, const mlt_req *req)
{
    if (req->kind == MLT_REQ_SEND)
        return fiber_at(rank->worker, req->peer);
    if (req->kind != MLT_REQ_RECV || req->peer < 0)
        return NULL;
    return fiber_at(rank->worker, mlt_worker_world_rank(rank, req->context, req->peer));
}

// Of a list, the first that is open: one is enough to say who must run. Who waits for one of several,
// or with all others, waits for nobody in particular.
static mlt_fiber *awaits(void *worker, const mlt_fiber *fiber, const mlt_wait *wait)
{
    const mlt_worker *w = worker;
    const mlt_rank *rank = &w->ranks[fiber->id];
    mlt_req *const *list = wait->list;
    switch (wait->kind) {
    case MLT_WAIT_RECV:
    case MLT_WAIT_PROBE:
        return wait->peer < 0 ? NULL
                              : fiber_at(w, mlt_worker_world_rank(rank, wait->context, wait->peer));
    case MLT_WAIT_SEND:
        return fiber_at(w, wait->peer);
    case MLT_WAIT_ALL:
        for (uint32_t i = 0; i < wait->n; i++)
            if (list[i] && !list[i]->done)
                return awaited_by(rank, list[i]);
        return NULL;
    default:
        return NULL;
    }
}

static uint32_t uniform_ranks(mlt_job *job)
{
    uint32_t n = mlt_job_location_at(job, 0)->ranks;
    for (uint32_t i = 1; i < job->workers; i++)
        if (mlt_job_location_at(job, i)->ranks != n)
            return 0;
    return n;
}

mlt_status mlt_worker_new(mlt_boot *boot, uint32_t index, uint32_t process_fibers, mlt_worker **out,
                          char *why, size_t why_size)
{
    mlt_job_worker *own = mlt_job_worker_at(boot->job, index);
    const mlt_job_location *place = mlt_job_location_at(boot->job, index);
    *out = NULL;
    mlt_worker *w = mlt_os_apart_try(sizeof *w);
    mlt_rank *ranks = mlt_os_apart_try(place->ranks * sizeof *ranks);
    if (!w || !ranks) {
        mlt_os_apart_free(w);
        mlt_os_apart_free(ranks);
        return mlt_fail(MLT_ERR_NO_MEMORY, why, why_size, MLT_NO_ROOM "%u ranks", place->ranks);
    }
    *w = (mlt_worker){
        .ranks = ranks,
        .count = place->ranks,
        .living = place->ranks,
        .first_rank = (int32_t)place->first_rank,
        .index = index,
        .world_size = boot->job->ranks,
        .uniform = uniform_ranks(boot->job),
        .boot = boot,
    };
    w->ranks_a_worker = w->uniform;
    // relaxed: only mpirun looks at it, and only to tell what an unanswering worker does.
    atomic_store_explicit(&own->thread, mlt_os_thread_id(), memory_order_relaxed);
    mlt_pool_init(&w->reqs, sizeof(mlt_req), 16);
    mlt_status status = MLT_ERR_NO_MEMORY;
    snprintf(why, why_size, MLT_NO_ROOM "what worker %u works with", index);
    w->p2p = new_state(w);
    if (!w->p2p)
        goto free_worker;
    if (boot->job->launched && !(w->wire = mlt_wire_new(boot->job, index, boot->ctl)))
        goto free_worker;
    mlt_sched_conf conf = {
        .policy = mlt_conf.sched,
        .fibers = w->count > 1 ? w->count : 0,
        .stack_size = (size_t)mlt_conf.stack_size,
        .process_fibers = process_fibers,
        .measures = boot->job->profile,
        .first = (uint32_t)w->first_rank,
        .awaits = awaits,
        .idle = mlt_p2p_idle,
        .breathe = mlt_p2p_breathe, // alone in the job too: there may be work for later
        .idle_arg = w,
    };
    status = mlt_sched_new(&conf, &w->sched, why, why_size);
    if (status)
        goto free_worker;
    init_ranks(w);
    mlt_live_show(w, true);
    *out = w;
    return MLT_OK;

free_worker:
    mlt_worker_free(w);
    return status;
}

bool mlt_worker_go_abroad(mlt_worker *w)
{
    if (!w->wire || !mlt_wire_go_abroad(w->wire))
        return false;
    w->ranks_a_worker = 0;
    return true;
}

void mlt_worker_run(mlt_worker *w, void (*entry)(void *rank))
{
    if (w->count == 1) {
        mlt_sched_adopt(w->sched, &w->ranks[0]);
        w->ranks[0].fiber = &w->sched->home;
        entry(&w->ranks[0]);
        return;
    }
    for (uint32_t i = 0; i < w->count; i++)
        w->ranks[i].fiber = mlt_fiber_spawn(w->sched, entry, &w->ranks[i]);
    mlt_sched_run(w->sched);
}

static bool has_ended(mlt_worker *w, const mlt_peer *peer)
{
    if (mlt_peer_is_far(peer))
        return w->wire->over->is_gone(peer);
    const mlt_job_worker *to = mlt_job_local_at(w->boot->job, peer->local);
    return atomic_load_explicit(&to->state, memory_order_relaxed) == MLT_WORKER_ENDED;
}

// Ranks that have ended want no messages. But a peer of another host tells what it has consumed by
// one.
static bool flush_some(mlt_worker *w)
{
    bool any = w->wire->over && w->wire->over->look(w->wire, &mlt_wire_nobody);
    any |= mlt_p2p_push(w);
    any |= mlt_p2p_flush(w);
    return any;
}

// An answer that found no room may be all that a peer still waits for. What is for a peer that has
// ended itself is dropped, and one that does not look within a second (this rank left without
// MPI_Finalize; on another host: not for as long as makes a connection lost) keeps nobody from
// ending.
static void flush_queues(mlt_worker *w)
{
    mlt_list_node *list = &w->p2p->waiting;
    uint64_t most = w->wire->over ? (uint64_t)mlt_tcp_gone_ms * 1000000 : FLUSH_NS;
    uint64_t until = mlt_list_empty(list) ? 0 : mlt_os_now_ns() + most;
    while (!mlt_list_empty(list) && mlt_os_now_ns() < until) {
        if (flush_some(w))
            continue;
        if (w->wire->over)
            (void)mlt_p2p_look_at_cold(w);
        MLT_LIST_EACH_SAFE(mlt_peer, peer, list, waiting)
            if (has_ended(w, peer))
                mlt_list_remove(&peer->waiting);
        mlt_os_yield();
    }
}

// ---- threads

// Whoever sleeps does so until there is news. What has to leave, but found no room, is no news, nor
// is work that another thread left.
static bool has_backlog(void *worker)
{
    const mlt_worker *w = worker;
    const mlt_p2p_state *p2p = w->p2p;
    if (w->wire && w->wire->over && w->wire->over->has_work(w->wire))
        return true;
    if (mlt_io_changes(w->sched) != p2p->io_known)
        return true;
    return !mlt_list_empty(&p2p->waiting) || !mlt_list_empty(&p2p->streams) ||
           !mlt_list_empty(&p2p->fetches) || !mlt_list_empty(&p2p->later);
}

static void wake_own(void *worker)
{
    mlt_worker *w = worker;
    mlt_job_wake(w->wire->own);
}

bool mlt_worker_open_gate(mlt_worker *w)
{
    bool solo = w->count == 1;
    mlt_gate_conf conf = {
        .running = solo ? &w->ranks[0].fiber : NULL,
        .call = solo ? &w->ranks[0].fn : NULL,
        .needs = has_backlog,
        .kick = wake_own,
        .arg = w,
    };
    if (!mlt_gate_new(w->sched, &conf))
        return false;
    if (w->wire)
        atomic_store_explicit(&w->wire->own->wakes_itself, 1, memory_order_relaxed);
    return true;
}

static uint16_t *call_of(void *rank)
{
    return &((mlt_rank *)rank)->fn;
}

static void wake_delegated(void *worker)
{
    mlt_worker *w = worker;
    if (w->wire)
        mlt_job_wake(w->wire->own);
}

bool mlt_worker_open_delegates(mlt_worker *w)
{
    mlt_delegates_conf conf = {
        .call = call_of,
        .kick = wake_delegated,
        .arg = w,
    };
    return mlt_delegates_open(w->sched, &conf);
}

void mlt_worker_abandon(mlt_worker *w)
{
    mlt_gate *gate = w->sched->gate;
    if (gate)
        mlt_gate_enter(gate);
    if (w->wire) {
        flush_queues(w);
        mlt_wire_end(w->wire);
    }
    if (gate)
        mlt_gate_leave(gate);
}

// ---- the end

void mlt_worker_free(mlt_worker *w)
{
    if (!w)
        return;
    mlt_live_show(w, false);
    if (w->p2p && w->wire) {
        flush_queues(w);
        mlt_wire_end(w->wire);
        mlt_p2p_forget(w);
    }
    for (uint32_t i = 0; i < w->count; i++) {
        mlt_match_fini(&w->ranks[i].posted);
        mlt_match_fini(&w->ranks[i].unexpected);
    }
    if (w->sched && mlt_io_has_doorbell(w->sched)) // otherwise its number may be the program's
        mlt_os_close(w->p2p->doorbell);
    if (w->sched)
        mlt_sched_free(w->sched);
    mlt_wire_free(w->wire);
    if (w->p2p) {
        mlt_p2p_device_free(w);
        mlt_p2p_copied_free(w);
        mlt_p2p_bounce_free(w);
        mlt_pool_fini(&w->p2p->outs);
        mlt_pool_fini(&w->messages);
        mlt_os_apart_free(w->p2p);
    }
    mlt_pool_fini(&w->reqs);
    mlt_os_apart_free(w->ranks);
    mlt_os_apart_free(w);
}

bool mlt_p2p_has_ended(mlt_worker *w, uint32_t other)
{
    const mlt_peer *peer = mlt_wire_peer(w->wire, other);
    return mlt_peer_is_far(peer) && w->wire->over->has_ended(peer);
}
