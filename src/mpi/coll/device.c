// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/batch.h"
#include "gpu/gpu.h"
#include "mpi/comm/shared.h"
#include "p2p/copied.h"
#include "p2p/worker.h"

static const uint64_t note_over = UINT64_C(1) << 62;

enum { NEVER = UINT32_MAX, WHY_BYTES = 160 };

struct mlt_device_call {
    struct mlt_device_call *next; // of the place
    struct mlt_device_place *place;
    uint32_t number;
    bool taken;                // by a device
    uint32_t looked, come;     // ranks, under the place's lock
    _Atomic uint32_t stays;    // ranks that have not left
    const mlt_coll_job **jobs; // [size]
    mlt_gpu_transfer *known; // [2 * size] in, out: within the side, so that each is asked for once
    mlt_req **reqs;
    mlt_gpu_batch *batch;
    mlt_work work; // of the last rank's worker
    mlt_worker *worker;
    mlt_status status;
    char why[WHY_BYTES];
};

// A communicator, as this process knows it.
typedef struct mlt_device_place {
    struct mlt_device_place *next;
    uint32_t context, size;
    int32_t
        first; // its first rank, in WORLD: communicators of one MPI_Comm_split share the context
    uint32_t refs;  // workers; under `all`'s lock
    bool is_shared; // the process has all its ranks
    pthread_mutex_t lock;
    uint32_t *since;    // [size] the first call that the rank has looked at; NEVER
    uint32_t strangers; // ranks that have not looked yet
    mlt_device_call *calls;
} place;

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

void mlt_device_place_drop(place *p)
{
    if (!p)
        return;
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
    free(p);
}

// ---- whether

static bool is_on_device(const mlt_coll_side *s)
{
    if (!s->type)
        return false;
    for (uint64_t b = 0; s->types && b < s->blocks; b++)
        if (s->types[b]->device)
            return true;
    return s->type->device;
}

// What is the same on all ranks: whether a device can do it at all.
static bool can_be_taken(const mlt_coll_job *job)
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
        return op && op->kernel && mlt_gpu_batch_reduces(op->kernel, op->element);
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

// The first rank that looks at it decides.
static mlt_device_call *new_call(place *p, const mlt_coll_job *job, uint32_t number)
{
    mlt_device_call *call = mlt_xcalloc(1, sizeof *call);
    *call = (mlt_device_call){.next = p->calls, .place = p, .number = number};
    p->calls = call;
    for (uint32_t r = 0; r < p->size; r++)
        call->looked += p->since[r] != NEVER && p->since[r] > number;
    call->taken = !p->strangers && !call->looked && can_be_taken(job) &&
                  (is_on_device(&job->in) || is_on_device(&job->out));
    if (call->taken) {
        call->jobs = mlt_xcalloc(p->size, sizeof *call->jobs);
        call->reqs = mlt_xcalloc(p->size, sizeof *call->reqs);
        call->known = mlt_xcalloc(2 * (size_t)p->size, sizeof *call->known);
        atomic_store_explicit(&call->stays, p->size, memory_order_relaxed); // under the lock
    }
    return call;
}

mlt_device_call *mlt_device_look(const mlt_coll_job *job, uint32_t number)
{
    uint32_t rank = (uint32_t)job->comm->rank;
    place *p = job->comm->size > 1 ? device_place_of(job->comm) : NULL;
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

// ---- what the last rank does

static uint64_t device_side_bytes(const mlt_coll_side *s)
{
    if (!s->type)
        return 0;
    if (!s->counts)
        return s->blocks * s->count * s->type->size;
    uint64_t bytes = 0;
    for (uint64_t b = 0; b < s->blocks; b++)
        bytes += s->counts[b] * (s->types ? s->types[b] : s->type)->size;
    return bytes;
}

// Elements one after the other that hold byte `at` of a side.
typedef struct stretch {
    const mlt_type *type;
    void *buf;
    uint64_t at, bytes; // at: in their packed form; bytes: from there to the end
} stretch;

static stretch stretch_of(const mlt_coll_side *s, uint64_t at)
{
    if (!s->counts && !s->displs)
        return (stretch){s->type, s->buf, at, device_side_bytes(s) - at};
    for (uint64_t b = 0;; b++) {
        const mlt_type *type = s->types ? s->types[b] : s->type;
        uint64_t bytes = (s->counts ? s->counts[b] : s->count) * type->size;
        if (at < bytes) {
            int64_t unit = s->types ? 1 : type->extent;
            int64_t displ = s->displs ? s->displs[b] : (int64_t)(b * s->count);
            void *buf = (void *)((uintptr_t)s->buf + (uintptr_t)(displ * unit));
            return (stretch){type, buf, at, bytes - at};
        }
        at -= bytes;
    }
}

// Which of `known` belongs to a side.
static const mlt_gpu_transfer *known_of(const mlt_device_call *call, uint32_t rank,
                                        const mlt_coll_side *s)
{
    return &call->known[2 * rank + (s == &call->jobs[rank]->out)];
}

// Bytes of a side of one rank to a side of another.
static void move_part(mlt_device_call *call, uint32_t to_rank, const mlt_coll_side *to,
                      uint64_t to_at, uint32_t from_rank, const mlt_coll_side *from,
                      uint64_t from_at, uint64_t bytes)
{
    const mlt_gpu_transfer *to_known = known_of(call, to_rank, to);
    const mlt_gpu_transfer *from_known = known_of(call, from_rank, from);
    while (bytes) {
        stretch t = stretch_of(to, to_at), f = stretch_of(from, from_at);
        uint64_t n = t.bytes < f.bytes ? t.bytes : f.bytes;
        n = n < bytes ? n : bytes;
        mlt_gpu_transfer transfer = {.to_type = t.type,
                                     .to = t.buf,
                                     .to_at = t.at,
                                     .from_type = f.type,
                                     .from = f.buf,
                                     .from_at = f.at,
                                     .bytes = n};
        if ((mlt_gpu_transfer_know(&transfer, to_known, from_known) ||
             mlt_gpu_transfer_look(&transfer)) &&
            mlt_gpu_batch_fits(call->batch, &transfer))
            mlt_gpu_batch_add(call->batch, &transfer);
        else // two ranks with host memory, or with another device's
            mlt_gpu_transfer_now(&transfer);
        to_at += n;
        from_at += n;
        bytes -= n;
    }
}

// What a rank gives; in place it lies where the result goes.
static const mlt_coll_side *device_given(const mlt_coll_job *job)
{
    return job->in.type ? &job->in : &job->out; // an address may be NULL, MPI_BOTTOM
}

static bool is_in_place(const mlt_coll_job *job)
{
    return device_given(job) != &job->in;
}

static void gather_to(mlt_device_call *call, uint32_t root)
{
    const mlt_coll_job *to = call->jobs[root];
    uint64_t bytes = to->what.count;
    for (uint32_t r = 0; r < call->place->size; r++) {
        const mlt_coll_job *from = call->jobs[r];
        if (!is_in_place(from))
            move_part(call, root, &to->out, r * bytes, r, &from->in, 0, bytes);
        else if (r != root) // of allgather all ranks are, of gather the root
            move_part(call, root, &to->out, r * bytes, r, &from->out, r * bytes, bytes);
    }
}

static void scatter_from(mlt_device_call *call, uint32_t root)
{
    const mlt_coll_job *from = call->jobs[root];
    uint64_t bytes = from->what.count;
    for (uint32_t r = 0; r < call->place->size; r++)
        if (call->jobs[r]->out.type)
            move_part(call, r, &call->jobs[r]->out, 0, root, &from->in, r * bytes, bytes);
}

static void bcast_from(mlt_device_call *call, uint32_t root)
{
    const mlt_coll_job *from = call->jobs[root];
    for (uint32_t r = 0; r < call->place->size; r++)
        if (r != root)
            move_part(call, r, &call->jobs[r]->out, 0, root, &from->out, 0, from->what.count);
}

static void exchange_all(mlt_device_call *call)
{
    for (uint32_t to = 0; to < call->place->size; to++)
        for (uint32_t from = 0; from < call->place->size; from++) {
            uint64_t bytes = call->jobs[to]->what.count;
            move_part(call, to, &call->jobs[to]->out, from * bytes, from, &call->jobs[from]->in,
                      to * bytes, bytes);
        }
}

// result = operands of the first `number` ranks, combined in this order.
static void combine(mlt_device_call *call, const mlt_coll_side *result, const void **operands,
                    uint32_t number)
{
    const mlt_coll_what *what = &call->jobs[0]->what;
    mlt_gpu_batch_reduce(call->batch, what->op->kernel, what->op->element, result->buf, operands,
                         number, what->count);
}

static void scan(mlt_device_call *call)
{
    uint64_t bytes = device_side_bytes(&call->jobs[0]->out);
    for (uint32_t r = 0; r < call->place->size; r++) {
        const mlt_coll_job *job = call->jobs[r];
        if (r == 0 && !is_in_place(job))
            move_part(call, r, &job->out, 0, r, &job->in, 0, bytes);
        if (r > 0)
            combine(call, &job->out,
                    (const void *[]){call->jobs[r - 1]->out.buf, device_given(job)->buf}, 2);
    }
}

static void reduce_to(mlt_device_call *call, uint32_t root)
{
    uint32_t size = call->place->size;
    const void **operands = mlt_xcalloc(size, sizeof *operands);
    for (uint32_t r = 0; r < size; r++)
        operands[r] = device_given(call->jobs[r])->buf;
    combine(call, &call->jobs[root]->out, operands, size);
    free(operands);
}

static void reduce_to_all(mlt_device_call *call)
{
    const mlt_coll_side *first = &call->jobs[0]->out;
    reduce_to(call, 0);
    for (uint32_t r = 1; r < call->place->size; r++)
        move_part(call, r, &call->jobs[r]->out, 0, 0, first, 0, device_side_bytes(first));
}

// ---- the same in host memory: some operand is not the device's

// A type does not tell: where one is said for two buffers, it is a twin for both.
static bool is_within(const mlt_device_call *call, uint32_t rank, const mlt_coll_side *s)
{
    const mlt_gpu_transfer *known = known_of(call, rank, s);
    return known->to_device && mlt_gpu_batch_fits(call->batch, known);
}

static bool can_combine(const mlt_device_call *call)
{
    uint32_t size = call->place->size;
    for (uint32_t r = 0; r < size; r++) {
        const mlt_coll_job *job = call->jobs[r];
        if (!is_within(call, r, device_given(job)) ||
            (job->out.type && !is_within(call, r, &job->out)) ||
            (r >= MLT_GPU_TURN && is_in_place(job) &&
             job->what.collective == MLT_COLL_REDUCE)) // `out` is a late operand
            return false;
    }
    return true;
}

static void reduce_here(const mlt_device_call *call)
{
    const mlt_coll_what *what = &call->jobs[0]->what;
    mlt_collective collective = (mlt_collective)what->collective;
    uint64_t bytes = what->count * what->op->element;
    uint32_t size = call->place->size;
    char *own = mlt_xcalloc(size + 1, bytes), *sum = own + size * bytes;
    for (uint32_t r = 0; r < size; r++)
        mlt_coll_load(&call->jobs[r]->op, own + r * bytes, device_given(call->jobs[r])->buf,
                      what->count);
    memcpy(sum, own, bytes);
    for (uint32_t r = 0; r < size; r++) {
        const mlt_coll_job *job = call->jobs[r];
        if (r > 0)
            what->op->kernel(sum, own + r * bytes, what->count);
        if (collective == MLT_COLL_SCAN)
            mlt_coll_store(&job->op, job->out.buf, sum, what->count);
    }
    for (uint32_t r = 0; r < size && collective != MLT_COLL_SCAN; r++)
        if (collective == MLT_COLL_ALLREDUCE || r == what->root)
            mlt_coll_store(&call->jobs[r]->op, call->jobs[r]->out.buf, sum, what->count);
    free(own);
}

// ---- all together

// False: ranks disagree.
static bool agree(mlt_device_call *call)
{
    const mlt_coll_what *first = &call->jobs[0]->what;
    for (uint32_t r = 1; r < call->place->size; r++) {
        const mlt_coll_what *what = &call->jobs[r]->what;
        const char *differs = call->jobs[r]->copies_in != call->jobs[0]->copies_in
                                  ? "answers to whether it is in place"
                              : what->collective != first->collective ? "functions"
                              : what->root != first->root             ? "roots"
                              : what->element * what->count != first->element * first->count
                                  ? "numbers of bytes"
                              : first->op && !mlt_coll_op_same(what->op, first->op) ? "operations"
                                                                                    : NULL;
        if (differs)
            return mlt_deny(call->why, sizeof call->why, "ranks 0 and %u gave different %s", r,
                            differs);
    }
    return true;
}

static void give_all(mlt_device_call *call)
{
    uint32_t root = call->jobs[0]->what.root;
    switch ((mlt_collective)call->jobs[0]->what.collective) {
    case MLT_COLL_BCAST:
        bcast_from(call, root);
        break;
    case MLT_COLL_GATHER:
        gather_to(call, root);
        break;
    case MLT_COLL_SCATTER:
        scatter_from(call, root);
        break;
    case MLT_COLL_ALLGATHER:
        for (uint32_t r = 0; r < call->place->size; r++)
            gather_to(call, r);
        break;
    case MLT_COLL_ALLTOALL:
        exchange_all(call);
        break;
    case MLT_COLL_REDUCE:
        reduce_to(call, root);
        break;
    case MLT_COLL_ALLREDUCE:
        reduce_to_all(call);
        break;
    default:
        scan(call);
        break;
    }
}

static void end(mlt_device_call *call)
{
    uint32_t size = call->place->size;
    for (uint32_t r = 0; r < size; r++) {
        mlt_req *req = call->reqs[r]; // gone as soon as its rank knows
        mlt_worker *w = req->rank->worker;
        req->status = call->status;
        if (w == call->worker)
            mlt_req_complete(req);
        else
            mlt_p2p_note(call->worker, w->index, note_over, (uintptr_t)req);
    }
}

static void look_whether_done(mlt_work *work)
{
    mlt_device_call *call = mlt_container_of(work, mlt_device_call, work);
    if (!mlt_gpu_batch_is_done(call->batch)) {
        mlt_worker_again(call->worker, work);
        return;
    }
    mlt_p2p_copied_call(call->worker, call->batch);
    mlt_gpu_batch_close(call->batch);
    end(call);
}

// Something of a device's that some rank gives or gets; false: nobody has any bytes.
static bool find_some(const mlt_device_call *call, mlt_gpu_transfer *out)
{
    bool any = false;
    for (uint32_t r = 0; r < call->place->size; r++) {
        const mlt_coll_side *sides[] = {&call->jobs[r]->in, &call->jobs[r]->out};
        for (int i = 0; i < 2; i++)
            if (sides[i]->type && is_on_device(sides[i]) && device_side_bytes(sides[i])) {
                stretch s = stretch_of(sides[i], 0);
                *out = (mlt_gpu_transfer){.from_type = s.type, .from = s.buf};
                if (mlt_gpu_transfer_look(out))
                    return true;
                any = true;
            }
    }
    if (any) // the program has freed it meanwhile
        mlt_fatal(
            "%s cannot copy: a buffer that was memory of a GPU when the call was made, at %p, is "
            "none now",
            call->jobs[0]->call, out->from);
    return false;
}

static void start(mlt_device_call *call, mlt_worker *w)
{
    call->worker = w;
    call->work.run = look_whether_done;
    if (!agree(call)) {
        call->status = MLT_ERR_TRUNCATED;
        end(call);
        return;
    }
    bool reduces = mlt_collective_reduces((mlt_collective)call->jobs[0]->what.collective);
    mlt_gpu_transfer some;
    if (!find_some(call, &some)) {
        end(call);
        return;
    }
    call->batch = mlt_gpu_batch_open(&some);
    if (reduces && !can_combine(call))
        reduce_here(call);
    else
        give_all(call);
    mlt_gpu_batch_start(call->batch);
    mlt_worker_later(w, &call->work);
}

// Each rank asks for its own memory: they do so at the same time.
static void look_within(mlt_gpu_transfer *known, const mlt_coll_side *s)
{
    if (!s->type || s->types || !device_side_bytes(s))
        return;
    stretch t = stretch_of(s, 0);
    *known = (mlt_gpu_transfer){.to_type = t.type, .to = t.buf, .from_type = t.type, .from = t.buf};
    (void)mlt_gpu_transfer_look(known);
}

void mlt_device_join(mlt_device_call *call, const mlt_coll_job *job, mlt_req *req)
{
    place *p = call->place;
    look_within(&call->known[2 * job->comm->rank], &job->in);
    look_within(&call->known[2 * job->comm->rank + 1], &job->out);
    pthread_mutex_lock(&p->lock);
    call->jobs[job->comm->rank] = job;
    call->reqs[job->comm->rank] = req;
    bool last = ++call->come == p->size;
    pthread_mutex_unlock(&p->lock);
    if (last)
        start(call, req->rank->worker);
}

const char *mlt_device_why(const mlt_device_call *call)
{
    return call->why;
}

void mlt_device_leave(mlt_device_call *call)
{
    if (atomic_fetch_sub_explicit(&call->stays, 1, memory_order_acq_rel) > 1)
        return;
    free(call->jobs);
    free(call->reqs);
    free(call->known);
    free(call);
}

uint32_t mlt_device_missing(const mlt_device_call *call)
{
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
