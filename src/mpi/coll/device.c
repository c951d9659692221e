// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/device_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/batch.h"
#include "gpu/gpu.h"
#include "mpi/comm/shared.h"
#include "mpi/settings.h"
#include "p2p/worker.h"

static const uint64_t note_over = UINT64_C(1) << 62;

enum { NEVER = UINT32_MAX };

typedef mlt_device_place place;

static struct {
    pthread_mutex_t lock;
    place *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

// ---- places

static bool is_shared(const mlt_comm *comm)
{
    mlt_worker *w = comm->owner->worker;
    mlt_job *job = w->boot->job;
    uint32_t own = mlt_job_location_at(job, w->index)->proc;
    for (int32_t r = 0; r < comm->size; r++) {
        int32_t world = mlt_comm_world_rank(comm, r);
        if (!mlt_worker_local_rank(w, world) &&
            ((uint32_t)world >= job->ranks ||
             mlt_job_location_at(job, mlt_worker_of_rank(w, world))->proc != own))
            return false;
    }
    return true;
}

static place *new_place(const mlt_comm *comm)
{
    place *p = mlt_xcalloc(1, sizeof *p);
    *p = (place){.context = comm->context,
                 .size = (uint32_t)comm->size,
                 .first = mlt_comm_world_rank(comm, 0),
                 .is_shared = is_shared(comm)};
    pthread_mutex_init(&p->lock, NULL);
    p->strangers = p->size;
    p->since = mlt_xcalloc(p->size, sizeof *p->since);
    for (uint32_t r = 0; r < p->size; r++)
        p->since[r] = NEVER;
    p->is_here = !p->is_shared && mlt_device_ask_finds(comm, &p->copier);
    if (p->is_here)
        p->members = mlt_xcalloc(p->size, sizeof *p->members);
    return p;
}

static place *device_place_of(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    if (shared->device)
        return shared->device;
    int32_t first = mlt_comm_world_rank(comm, 0);
    pthread_mutex_lock(&all.lock);
    place *p = all.first;
    while (p && (p->context != comm->context || p->first != first))
        p = p->next;
    if (!p) {
        p = new_place(comm);
        p->next = all.first;
        all.first = p;
    }
    p->refs++;
    pthread_mutex_unlock(&all.lock);
    return shared->device = p;
}

mlt_device_member *mlt_device_member_find(mlt_worker *worker, uint32_t context, int32_t first,
                                          uint32_t rank)
{
    pthread_mutex_lock(&all.lock);
    place *p = all.first;
    while (p && (p->context != context || p->first != first))
        p = p->next;
    // The worker's own entry: as long as it says so, the worker holds the place.
    bool own = p && p->is_here && rank < p->size &&
               atomic_load_explicit(&p->members[rank].worker, memory_order_relaxed) == worker;
    pthread_mutex_unlock(&all.lock);
    return own ? &p->members[rank] : NULL;
}

void mlt_device_place_drop(place *p, mlt_worker *worker)
{
    if (!p)
        return;
    if (p->is_here)
        mlt_device_ask_bye(p, worker);
    pthread_mutex_lock(&all.lock);
    bool last = --p->refs == 0;
    place **link = &all.first;
    while (last && *link != p)
        link = &(*link)->next;
    if (last)
        *link = p->next;
    pthread_mutex_unlock(&all.lock);
    if (!last)
        return;
    pthread_mutex_destroy(&p->lock);
    free(p->since);
    free(p->members);
    free(p);
}

// ---- whether

bool mlt_device_side_is_there(const mlt_coll_side *s)
{
    if (!s->type)
        return false;
    for (uint64_t b = 0; s->types && b < s->blocks; b++)
        if (s->types[b]->device)
            return true;
    return s->type->device;
}

bool mlt_device_can_take(const mlt_coll_job *job)
{
    const mlt_coll_what *what = &job->what;
    const mlt_coll_op *op = what->op;
    if (what->emit || what->parts || what->starts || what->tree)
        return false;
    switch ((mlt_collective)what->collective) {
    case MLT_COLL_BCAST:
    case MLT_COLL_GATHER:
    case MLT_COLL_SCATTER:
    case MLT_COLL_ALLGATHER:
        return true;
    case MLT_COLL_ALLTOALL:
        return !job->copies_in;
    case MLT_COLL_REDUCE:
    case MLT_COLL_ALLREDUCE:
    case MLT_COLL_SCAN:
        // A device has an order of its own in which it combines.
        return op && op->kernel && (op->exact || !mlt_mpi_settings.reproducible) &&
               mlt_gpu_batch_reduces(op->kernel, op->element);
    default:
        return false;
    }
}

static void remove_call(place *p, mlt_device_call *call)
{
    mlt_device_call **link = &p->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
}

// One more rank will not look for it, or has. What is not taken is forgotten after the last.
static void looked_at(place *p, mlt_device_call *call)
{
    if (++call->looked < p->size)
        return;
    remove_call(p, call);
    if (!call->taken)
        free(call);
}

// The rank looks at its calls from this one on.
static void begin_to_look(place *p, uint32_t rank, uint32_t number)
{
    p->since[rank] = number;
    p->strangers--;
    for (mlt_device_call *call = p->calls, *next; call; call = next) {
        next = call->next;
        if (call->number < number)
            looked_at(p, call);
    }
}

// ---- all together

static void ended(mlt_device_copies *copies)
{
    mlt_device_call *call = mlt_container_of(copies, mlt_device_call, copies);
    uint32_t size = copies->size;
    for (uint32_t r = 0; r < size; r++) {
        mlt_req *req = call->reqs[r]; // gone as soon as its rank knows
        mlt_worker *w = req->rank->worker;
        req->status = copies->status;
        if (w == copies->worker)
            mlt_req_complete(req);
        else
            mlt_p2p_note(copies->worker, w->index, note_over, (uintptr_t)req);
    }
}

// The first rank that looks at it decides.
static mlt_device_call *new_call(place *p, const mlt_coll_job *job, uint32_t number)
{
    mlt_device_call *call = mlt_xcalloc(1, sizeof *call);
    *call = (mlt_device_call){.next = p->calls, .place = p, .number = number};
    p->calls = call;
    for (uint32_t r = 0; r < p->size; r++)
        call->looked += p->since[r] != NEVER && p->since[r] > number;
    call->taken = !p->strangers && !call->looked && mlt_device_can_take(job) &&
                  (mlt_device_side_is_there(&job->in) || mlt_device_side_is_there(&job->out));
    if (call->taken) {
        mlt_device_copies_init(&call->copies, p->size);
        call->copies.ended = ended;
        call->reqs = mlt_xcalloc(p->size, sizeof *call->reqs);
        atomic_store_explicit(&call->stays, p->size, memory_order_relaxed); // under the lock
    }
    return call;
}

mlt_device_call *mlt_device_look(const mlt_coll_job *job, uint32_t number)
{
    uint32_t rank = (uint32_t)job->comm->rank;
    place *p = job->comm->size > 1 ? device_place_of(job->comm) : NULL;
    if (p && p->is_here)
        return mlt_device_ask(p, job, number);
    if (!p || !p->is_shared)
        return NULL;
    pthread_mutex_lock(&p->lock);
    if (p->since[rank] == NEVER)
        begin_to_look(p, rank, number);
    mlt_device_call *call = p->calls;
    while (call && call->number != number)
        call = call->next;
    if (!call)
        call = new_call(p, job, number);
    mlt_device_call *taken = call->taken ? call : NULL;
    looked_at(p, call);
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void mlt_device_join(mlt_device_call *call, mlt_coll_job *job, mlt_req *req)
{
    place *p = call->place;
    if (call->asks) {
        mlt_device_ask_join(call, job, req);
        return;
    }
    // Each rank asks for its own memory: they do so at the same time.
    mlt_device_look_within(&call->copies.known[2 * job->comm->rank], &job->in);
    mlt_device_look_within(&call->copies.known[2 * job->comm->rank + 1], &job->out);
    pthread_mutex_lock(&p->lock);
    call->copies.jobs[job->comm->rank] = job;
    call->reqs[job->comm->rank] = req;
    bool last = ++call->come == p->size;
    pthread_mutex_unlock(&p->lock);
    bool started = !last || mlt_device_copies_start(&call->copies, req->rank->worker);
    mlt_assert(started);
}

const char *mlt_device_why(const mlt_device_call *call)
{
    return call->copies.why;
}

void mlt_device_leave(mlt_device_call *call)
{
    if (call->asks) {
        mlt_device_ask_free(call);
        return;
    }
    if (atomic_fetch_sub_explicit(&call->stays, 1, memory_order_acq_rel) > 1)
        return;
    mlt_device_copies_fini(&call->copies);
    free(call->reqs);
    free(call);
}

uint32_t mlt_device_missing(const mlt_device_call *call, int32_t *awaits)
{
    if (call->asks)
        return mlt_device_ask_missing(call, awaits);
    place *p = call->place;
    pthread_mutex_lock(&p->lock);
    uint32_t missing = p->size - call->come;
    pthread_mutex_unlock(&p->lock);
    return missing;
}

bool mlt_device_noted(uint64_t what, uint64_t value)
{
    if (what != note_over)
        return false;
    mlt_req_complete((mlt_req *)(uintptr_t)value);
    return true;
}
