// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "boot/job.h"
#include "fiber/wait.h"
#include "gpu/gpu.h"
#include "mpi/coll/device.h"
#include "mpi/coll/op.h"
#include "mpi/coll/outside.h"
#include "mpi/coll/signature.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi/p2p/copies.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "p2p/match.h"
#include "wire/wire.h"

// ---- memory for copies: a list of free pieces for each power of two

// 256 bytes to 2 GiB. All that is kept together has no more than so many bytes, except two pieces
// of a class: what one call needs.
enum { SMALLEST = 8, CLASSES = 24, ALWAYS_KEPT = 2 };
static const uint64_t most_kept_bytes = 64u << 20;

typedef struct coll_room {
    struct coll_room *next;
    uint64_t class;
    _Alignas(64) unsigned char bytes[];
} coll_room;

struct mlt_coll_rooms {
    coll_room *free[CLASSES];
    uint32_t kept[CLASSES];
    uint64_t kept_bytes;
};

static inline uint64_t bytes_of_class(uint64_t class)
{
    return UINT64_C(1) << (SMALLEST + class);
}

static uint32_t coll_class_of(uint64_t bytes)
{
    uint32_t class = 0;
    while (class < CLASSES && bytes_of_class(class) < bytes)
        class ++;
    return class;
}

void *mlt_coll_memory_take(mlt_rank *me, uint64_t bytes)
{
    if (!bytes)
        return NULL;
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (!w->rooms)
        w->rooms = mlt_xcalloc(1, sizeof *w->rooms);
    uint32_t class = coll_class_of(bytes);
    coll_room *r = class < CLASSES ? w->rooms->free[class] : NULL;
    if (r) {
        w->rooms->free[class] = r->next;
        w->rooms->kept[class]--;
        w->rooms->kept_bytes -= bytes_of_class(class);
        return r->bytes;
    }
    uint64_t size = class < CLASSES ? bytes_of_class(class) : (bytes + 63) & ~63ull;
    r = aligned_alloc(64, sizeof *r + size);
    if (!r)
        mlt_no_room("%llu bytes, a copy of what %s was given", (unsigned long long)bytes,
                    mlt_mpi_call(me));
    r->class = class;
    return r->bytes;
}

void mlt_coll_memory_give(mlt_rank *me, void *memory)
{
    if (!memory)
        return;
    struct mlt_coll_rooms *rooms = mlt_mpi_worker_of(me)->rooms;
    coll_room *r = (coll_room *)((unsigned char *)memory - offsetof(coll_room, bytes));
    if (r->class >= CLASSES || (rooms->kept[r->class] >= ALWAYS_KEPT &&
                                rooms->kept_bytes + bytes_of_class(r->class) > most_kept_bytes)) {
        free(r);
        return;
    }
    rooms->kept_bytes += bytes_of_class(r->class);
    r->next = rooms->free[r->class];
    rooms->free[r->class] = r;
    rooms->kept[r->class]++;
}

void mlt_coll_rooms_free(struct mlt_coll_rooms *rooms)
{
    for (uint32_t c = 0; rooms && c < CLASSES; c++)
        for (coll_room *r = rooms->free[c], *next; r; r = next) {
            next = r->next;
            free(r);
        }
    free(rooms);
}

// ---- sides

static inline uint64_t elements_of(const mlt_coll_side *s, uint64_t block)
{
    return s->counts ? s->counts[block] : s->count;
}

static inline const mlt_type *coll_type_of(const mlt_coll_side *s, uint64_t block)
{
    return s->types ? s->types[block] : s->type;
}

static inline uint64_t element_bytes(const mlt_coll_job *job, const mlt_type *type)
{
    return job->layout ? job->op.element : type->size;
}

static uint64_t side_bytes(const mlt_coll_job *job, const mlt_coll_side *s)
{
    if (!s->counts)
        return s->blocks * s->count * element_bytes(job, s->type);
    uint64_t bytes = 0;
    for (uint64_t b = 0; b < s->blocks; b++)
        bytes += s->counts[b] * element_bytes(job, coll_type_of(s, b));
    return bytes;
}

// True if the team can work on the user's buffer: its bytes lie one after the other.
static inline bool coll_is_plain(const mlt_coll_job *job, const mlt_coll_side *s)
{
    return MLT_LIKELY(job->what.op ? !job->layout : s->type->contiguous) &&
           MLT_LIKELY(!s->displs) && MLT_LIKELY(!s->copied);
}

// Where block b begins in the user's buffer.
static inline unsigned char *coll_block_at(const mlt_coll_side *s, uint64_t b)
{
    int64_t at = s->displs ? s->displs[b] : (int64_t)(b * s->count);
    int64_t unit = s->types ? 1 : s->type->extent;
    return (unsigned char *)((uintptr_t)s->buf + (uintptr_t)(at * unit));
}

static void coll_pack(const mlt_coll_job *job, const mlt_coll_side *s)
{
    unsigned char *to = s->packed;
    for (uint64_t b = 0; b < s->blocks; b++) {
        const mlt_type *type = coll_type_of(s, b);
        uint64_t count = elements_of(s, b), bytes = count * type->size;
        if (job->layout)
            mlt_coll_load(&job->op, to, coll_block_at(s, b), count);
        else
            mlt_type_pack(type, coll_block_at(s, b), 0, to, bytes);
        to += count * element_bytes(job, type);
    }
}

static void unpack(const mlt_coll_job *job, const mlt_coll_side *s)
{
    unsigned char *from = s->packed;
    for (uint64_t b = 0; b < s->blocks; b++) {
        const mlt_type *type = coll_type_of(s, b);
        uint64_t count = elements_of(s, b), bytes = count * type->size;
        if (job->layout)
            mlt_coll_store(&job->op, coll_block_at(s, b), from, count);
        else
            mlt_type_unpack(type, coll_block_at(s, b), 0, from, bytes);
        from += count * element_bytes(job, type);
    }
}

static MLT_COLD void take_copy(mlt_rank *me, mlt_coll_job *job, mlt_coll_side *s)
{
    s->bytes = side_bytes(job, s);
    s->packed = mlt_coll_memory_take(me, s->bytes);
    if (job->layout && s->bytes) // gaps have some value
        memset(s->packed, 0, s->bytes);
}

static inline bool has_data(const mlt_coll_side *s)
{
    return s->type != NULL;
}

// ---- a job's way

// Memory for copies, once for each job.
static inline void furnish(mlt_rank *me, mlt_coll_job *job)
{
    if (has_data(&job->in) && MLT_UNLIKELY(!coll_is_plain(job, &job->in)))
        take_copy(me, job, &job->in);
    if (has_data(&job->out) && MLT_UNLIKELY(!coll_is_plain(job, &job->out)))
        take_copy(me, job, &job->out);
    if (MLT_UNLIKELY(job->copies_in)) {
        job->in.bytes = side_bytes(job, &job->out);
        job->in.packed = mlt_coll_memory_take(me, job->in.bytes);
    }
}

static inline mlt_team *choose_team(const mlt_coll_job *job)
{
    mlt_comm *comm = job->comm;
    if (MLT_UNLIKELY(comm->inter))
        return mlt_comm_flat(comm);
    mlt_team *team = mlt_comm_team(comm);
    if (MLT_UNLIKELY(mlt_team_may_want_flat(team, &job->what)) &&
        mlt_team_wants_flat(team, &job->what))
        return mlt_comm_flat(comm);
    return team;
}

// ---- paths

typedef struct hash {
    uint64_t value, code, n; // n of the type `code` have been seen last, and are not in it yet
} hash;

static void hash_end(hash *h)
{
    h->value = (h->value ^ h->code) * 0xff51afd7ed558ccdu;
    h->value = (h->value ^ (h->value >> 29) ^ h->n) * 0x9e3779b97f4a7c15u;
}

static void hash_run(void *user, const mlt_type *basic, uint64_t n)
{
    hash *h = user;
    if (h->n && h->code != basic->code)
        hash_end(h);
    h->n = (h->code == basic->code ? h->n : 0) + n;
    h->code = basic->code;
}

// The types of a block, for calls where those of all ranks must agree; 0: none. A reduction says
// its type with its operation.
static uint64_t signature_of(const mlt_coll_job *job)
{
    const mlt_coll_side *first = &job->in, *second = &job->out;
    switch ((mlt_collective)job->what.collective) {
    case MLT_COLL_SCATTER: // what a rank receives; the root may do so in place
        first = &job->out;
        second = &job->in;
        break;
    case MLT_COLL_BCAST:
    case MLT_COLL_GATHER:
    case MLT_COLL_ALLGATHER:
    case MLT_COLL_ALLTOALL:
        break;
    default:
        return 0;
    }
    const mlt_coll_side *s = has_data(first) ? first : second;
    if (job->what.emit || job->what.parts || job->what.starts || !has_data(s) || s->counts ||
        s->types || s->displs)
        return 0;
    hash h = {.value = 1};
    mlt_signature_walk(s->type, s->count, hash_run, &h);
    hash_end(&h);
    return h.value | 1;
}

static MLT_COLD void start_along_path(mlt_coll_job *job, const void *in, void *out, mlt_req *req)
{
    mlt_comm *comm = job->comm;
    // A persistent call that was made before there was a check has no number for it.
    bool checks = !comm->inter && job->check != job->number && job->team->paths->checks;
    mlt_team *level = checks ? mlt_comm_team(comm) : NULL;
    mlt_walk_args mode = {
        .team = job->team,
        .level = level,
        .number = job->number,
        .check_number = job->check,
        .fixed = job->fixed,
        .local = job->team->flat ? 0 : comm->local,
        .level_local = comm->local,
        .rank = (uint32_t)mlt_comm_order(comm),
        .signature = checks ? signature_of(job) : 0,
        .call = job->call,
    };
    mlt_path_join(&mode, &job->what, in, out, req);
}

static inline void coll_start(mlt_coll_job *job, mlt_req *req)
{
    if (MLT_UNLIKELY(job->device != NULL)) {
        mlt_device_join(job->device, job, req);
        return;
    }
    const void *in = job->in.buf;
    void *out = job->out.buf;
    if (MLT_UNLIKELY(job->in.packed != NULL)) {
        if (!job->copies_in)
            coll_pack(job, &job->in);
        in = job->in.packed;
    }
    if (MLT_UNLIKELY(job->out.packed != NULL)) {
        if (job->reads_out)
            coll_pack(job, &job->out);
        out = job->out.packed;
    }
    if (MLT_UNLIKELY(job->copies_in) && job->in.packed)
        memcpy(job->in.packed, out, job->in.bytes);
    if (MLT_UNLIKELY(mlt_path_of(job->team, &job->what) != NULL)) {
        start_along_path(job, in, out, req);
        return;
    }
    mlt_team_join(job->team, job->number, job->fixed, job->team->flat ? 0 : job->comm->local,
                  &job->what, in, out, req);
}

void mlt_coll_go_ordinary(mlt_coll_job *job, mlt_req *req)
{
    job->device = NULL;
    furnish(req->rank, job);
    coll_start(job, req);
}

// The schedule is over.
static inline void land(const mlt_coll_job *job, mlt_status status)
{
    if (MLT_UNLIKELY(job->out.packed != NULL) && job->writes_out && status == MLT_OK)
        unpack(job, &job->out);
}

static inline void clear(mlt_rank *me, mlt_coll_job *job)
{
    mlt_coll_memory_give(me, job->in.packed);
    mlt_coll_memory_give(me, job->out.packed);
    if (MLT_UNLIKELY(job->memory != NULL))
        mlt_coll_memory_give(me, job->memory);
}

// ---- requests

// A job of a nonblocking or persistent call: what it needs after the user's handles are gone.
typedef struct kept {
    mlt_coll_job job;
    struct mlt_fortran_copy *copies; // of its buffers, if the flags say so
} kept;

const size_t mlt_coll_job_bytes = sizeof(kept);

static void hold_types(const mlt_coll_side *s)
{
    mlt_dtype_hold(s->type);
    for (uint64_t b = 0; s->types && b < s->blocks; b++)
        mlt_dtype_hold(s->types[b]);
}

static void drop_types(const mlt_coll_side *s)
{
    mlt_dtype_drop(s->type);
    for (uint64_t b = 0; s->types && b < s->blocks; b++)
        mlt_dtype_drop(s->types[b]);
}

static void hold(const mlt_coll_job *job)
{
    mlt_comm_hold(job->comm);
    hold_types(&job->in);
    hold_types(&job->out);
    mlt_op_hold(job->op_object);
}

static void coll_drop(const mlt_coll_job *job)
{
    mlt_op_drop(job->op_object);
    drop_types(&job->out);
    drop_types(&job->in);
    mlt_comm_drop(job->comm);
}

struct mlt_fortran_copy **mlt_coll_request_copies(const mlt_req *req)
{
    kept *k = req->extra;
    return &k->copies;
}

static void landed(mlt_req *req)
{
    const kept *k = req->extra;
    land(&k->job, req->status);
}

static mlt_req *coll_open_request(mlt_rank *me, const mlt_coll_job *job, uint32_t flags)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    kept *k = mlt_pool_take(&w->jobs);
    k->job = *job;
    if (job->what.op)
        k->job.what.op = &k->job.op;
    mlt_coll_op_copy(&k->job.op, &job->op);
    hold(&k->job);
    mlt_req *req = mlt_req_new(me);
    mlt_req_fill_other(req, me, job->comm);
    req->flags = MLT_REQF_COLL | flags;
    req->extra = k;
    return req;
}

void mlt_coll_request_end(mlt_req *req)
{
    kept *k = req->extra;
    mlt_rank *me = req->rank;
    if (MLT_UNLIKELY(req->flags & MLT_REQF_COPIES))
        mlt_copies_free(req);
    if (k->job.fixed) {
        mlt_team_forget(k->job.team, k->job.number);
        if (k->job.check != k->job.number && !k->job.comm->inter)
            mlt_team_forget(mlt_comm_team(k->job.comm), k->job.check);
    }
    if (k->job.device)
        mlt_device_leave(k->job.device);
    coll_drop(&k->job);
    clear(me, &k->job); // after it: types are listed in the job's memory
    mlt_pool_give(&mlt_mpi_worker_of(me)->jobs, k);
    mlt_req_free(req);
}

// Rules that have changed since may want ranks to combine, or not to.
static void choose_again(mlt_coll_job *job)
{
    mlt_team *team = choose_team(job);
    if (team == job->team)
        return;
    mlt_team_forget(job->team, job->number);
    job->team = team;
}

int mlt_coll_request_start(mlt_rank *me, mlt_req *req)
{
    kept *k = req->extra;
    if (MLT_UNLIKELY(k->job.chosen) && k->job.fixed)
        choose_again(&k->job);
    req->done = false;
    req->waiter = NULL;
    req->on_done = landed;
    coll_start(&k->job, req);
    return MPI_SUCCESS;
}

static int failure_by(mlt_rank *me, const mlt_comm *comm, const char *why, mlt_status status)
{
    mlt_mpi_worker_of(me)->coll_failed = true;
    if (status == MLT_ERR_UNSUPPORTED)
        return mlt_mpi_code(me, me->fn, MPI_ERR_OTHER, "%s", why);
    if (status == MLT_ERR_DISAGREE)
        return mlt_mpi_code(me, me->fn, MPI_ERR_ARG,
                            "the ranks of %s do not agree about the call: %s",
                            mlt_comm_name(me, comm), why);
    return mlt_mpi_code(me, me->fn, MPI_ERR_TRUNCATE,
                        "the ranks of %s do not agree about the call: %s", mlt_comm_name(me, comm),
                        why);
}

static int failure(mlt_rank *me, const mlt_comm *comm, const mlt_team *team, mlt_status status)
{
    return failure_by(me, comm, team->why, status);
}

static int failure_of(mlt_rank *me, const mlt_coll_job *job, mlt_status status)
{
    return failure_by(me, job->comm, job->device ? mlt_device_why(job->device) : job->team->why,
                      status);
}

int mlt_coll_request_code(mlt_rank *me, const mlt_req *req)
{
    const kept *k = req->extra;
    return failure_of(me, &k->job, req->status);
}

// For hang reports: mlt_upcalls.collective.
void mlt_coll_look(const mlt_wait *wait, const mlt_req *req, mlt_ctl_wait *out)
{
    if (req && !(req->flags & MLT_REQF_COLL))
        return;
    const mlt_coll_job *job = req ? req->extra : NULL; // with which a kept one begins
    const mlt_team *team = req ? job->team : wait->team;
    uint64_t number = req ? job->number : wait->number;
    bool fixed = req && job->fixed;
    const char *call = req ? job->call : wait->call;
    uint32_t missing = 0;
    int32_t awaits = -1;
    // Along a path it may not have come further than to its check.
    if (job && job->device)
        missing = mlt_device_missing(job->device, &awaits);
    else if (!mlt_team_look(team, number, fixed, &missing, &awaits) && team->paths &&
             team->paths->checks)
        (void)mlt_team_look(team, number - 1, fixed, &missing, &awaits);
    out->kind = MLT_WAIT_COLLECTIVE;
    out->context = req ? job->comm->context : wait->context;
    out->number = (uint32_t)number;
    out->root = mlt_team_root(team, number, fixed);
    out->missing = missing;
    out->awaited = awaits >= 0 ? (uint32_t)awaits + 1 : 0;
    snprintf(out->label, sizeof out->label, "%s", strncmp(call, "MPI_", 4) == 0 ? call + 4 : call);
}

// ---- the three ways

static inline void park(mlt_rank *me, const mlt_comm *comm, const mlt_team *team, uint32_t number)
{
    mlt_wait wait = {
        .call = mlt_mpi_call(me),
        .kind = MLT_WAIT_COLLECTIVE,
        .context = comm->context,
        .team = team,
        .number = number,
    };
    mlt_fiber_park(me->worker->sched, &wait);
}

static void coll_await(mlt_rank *me, const mlt_comm *comm, const mlt_team *team, uint32_t number,
                       mlt_req *req)
{
    mlt_waiter waiter = {.fiber = mlt_rank_fiber(me), .need = 1};
    req->waiter = &waiter;
    park(me, comm, team, number);
    mlt_assert(req->done);
}

static inline void coll_fill(mlt_rank *me, mlt_req *req)
{
    mlt_req_init(req, me, MLT_REQ_OTHER);
    req->flags = 0;
}

// Apart: its request does not belong on the stacks of ranks that share a worker, which may be a
// million.
static __attribute__((noinline)) mlt_status join_alone(mlt_rank *me, mlt_comm *comm, mlt_team *team,
                                                       uint32_t number, const mlt_coll_what *what,
                                                       const void *in, void *out)
{
    mlt_req req;
    coll_fill(me, &req);
    mlt_team_join(team, number, false, 0, what, in, out, &req);
    if (!req.done)
        coll_await(me, comm, team, number, &req);
    return req.status;
}

// A rank of a shared worker: what it says need not stay (reduce.c).
static MLT_COLD mlt_status join_flat(mlt_rank *me, mlt_comm *comm, mlt_team *team, uint32_t number,
                                     const mlt_coll_what *what, const void *in, void *out)
{
    mlt_coll_what own = *what;
    mlt_coll_op op;
    if (what->op) {
        mlt_coll_op_copy(&op, what->op);
        own.op = &op;
    }
    return join_alone(me, comm, team, number, &own, in, out);
}

static inline mlt_status meet(mlt_rank *me, mlt_comm *comm, mlt_team *team, uint32_t number,
                              uint32_t local, const mlt_coll_what *what, const void *in, void *out)
{
    mlt_status status = mlt_team_meet(team, number, local, what, in, out, mlt_rank_fiber(me));
    if (status == MLT_PENDING) {
        park(me, comm, team, number);
        status = mlt_team_met(team, number);
    }
    return status;
}

// The only frame between those of the caller and of the switch: what lies there is cold when a rank
// goes on, where there are many.
static __attribute__((noinline)) int meet_small(mlt_rank *me, mlt_comm *comm, mlt_team *team,
                                                const mlt_coll_what *what, const void *in,
                                                void *out)
{
    uint32_t number = comm->coll_calls++;
    mlt_status status =
        mlt_team_meet_small(team, number, comm->local, what, in, out, mlt_rank_fiber(me));
    if (MLT_LIKELY(status == MLT_PENDING)) {
        uint32_t fetches = mlt_team_fetches(team, comm->local, what);
        park(me, comm, team, number);
        status = mlt_team_met(team, number);
        if (MLT_LIKELY(status == MLT_OK))
            mlt_team_fetch(team, out, fetches);
    }
    if (MLT_LIKELY(status == MLT_OK))
        return MPI_SUCCESS;
    return mlt_mpi_raise_code(me, comm, me->fn, failure(me, comm, team, status));
}

int mlt_coll_quick_small(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what, const void *in,
                         void *out)
{
    mlt_team *team = comm->team;
    if (MLT_UNLIKELY(!team || !team->at || !team->simple))
        return mlt_coll_quick(me, comm, what, in, out);
    return meet_small(me, comm, team, what, in, out);
}

int mlt_coll_quick(mlt_rank *me, mlt_comm *comm, const mlt_coll_what *what, const void *in,
                   void *out)
{
    mlt_team *team = mlt_comm_team(comm);
    if (MLT_UNLIKELY(mlt_team_may_want_flat(team, what)) && mlt_team_wants_flat(team, what))
        team = mlt_comm_flat(comm);
    if (team->at && mlt_team_is_small(what))
        return meet_small(me, comm, team, what, in, out);
    uint32_t number = comm->coll_calls++;
    mlt_status status;
    if (!team->at)
        status = MLT_LIKELY(me->worker->count == 1)
                     ? join_alone(me, comm, team, number, what, in, out)
                     : join_flat(me, comm, team, number, what, in, out);
    else
        status = meet(me, comm, team, number, comm->local, what, in, out);
    if (MLT_LIKELY(status == MLT_OK))
        return MPI_SUCCESS;
    return mlt_mpi_raise_code(me, comm, me->fn, failure(me, comm, team, status));
}

void mlt_coll_barrier_as(mlt_rank *me, int32_t rank, mlt_comm *comm, uint32_t number)
{
    static const mlt_coll_what what = {.collective = MLT_COLL_BARRIER, .element = 1, .plain = true};
    mlt_team *team = mlt_comm_team(comm);
    mlt_status status;
    if (!team->at)
        status = join_alone(me, comm, team, number, &what, NULL, NULL);
    else
        status =
            meet(me, comm, team, number, mlt_comm_local_of(comm, team, rank), &what, NULL, NULL);
    mlt_assert(status == MLT_OK); // nobody calls anything else on this communicator
}

static int coll_run(mlt_rank *me, mlt_coll_job *job)
{
    mlt_req req;
    coll_fill(me, &req);
    if (MLT_UNLIKELY(job->device != NULL)) { // for mlt_coll_look
        req.flags = MLT_REQF_COLL;
        req.extra = job;
        req.context = job->comm->context;
    }
    coll_start(job, &req);
    bool waits = !req.done;
    if (waits) {
        hold(job); // another thread may free them meanwhile
        if (job->device)
            mlt_req_wait(&req, job->call);
        else
            coll_await(me, job->comm, job->team, job->number, &req);
    }
    land(job, req.status);
    int code = MPI_SUCCESS;
    if (MLT_UNLIKELY(req.status != MLT_OK))
        code = mlt_mpi_raise_code(me, job->comm, me->fn, failure_of(me, job, req.status));
    if (job->device)
        mlt_device_leave(job->device);
    if (waits)
        coll_drop(job);
    clear(me, job); // after it: types are listed in the job's memory
    return code;
}

// `check`: the number of the check that goes before it along a path; `number` if there is none.
static inline int coll_go(mlt_rank *me, mlt_coll_job *job, mlt_team *team, uint32_t number,
                          uint32_t check, const mlt_how *how)
{
    bool persistent = mlt_how_is_persistent(how);
    job->team = team;
    job->number = number;
    job->check = check;
    job->call = mlt_mpi_call(me);
    job->fixed = persistent;
    if (MLT_LIKELY(!job->device))
        furnish(me, job);
    if (MLT_LIKELY(!how))
        return coll_run(me, job);
    mlt_req *req = coll_open_request(me, job, persistent ? MLT_REQF_PERSISTENT : 0);
    *how->request = mlt_req_handle(req);
    if (persistent)
        req->done = true;
    else
        mlt_coll_request_start(me, req);
    return MPI_SUCCESS;
}

int mlt_coll_go_on(mlt_rank *me, mlt_coll_job *job, mlt_team *team, uint32_t number,
                   const mlt_how *how)
{
    return coll_go(me, job, team, number, number, how);
}

int mlt_coll_go(mlt_rank *me, mlt_coll_job *job, const mlt_how *how)
{
    mlt_comm *comm = job->comm;
    int code = mlt_coll_check_request(me, comm, how);
    if (MLT_UNLIKELY(code != MPI_SUCCESS)) {
        clear(me, job);
        return code;
    }
    mlt_team *team = choose_team(job);
    uint32_t *calls = mlt_how_is_persistent(how) ? &comm->fixed_calls : &comm->coll_calls;
    uint32_t check = *calls;
    bool agreements =
        MLT_UNLIKELY(mlt_mpi_worker_of(me)->change != 0) && mlt_outside_meets(job, how);
    if (agreements)
        mlt_outside_decide(me, comm, check);
    if (MLT_UNLIKELY(team->paths != NULL) && team->paths->checks)
        (*calls)++;
    uint32_t number = (*calls)++;
    job->chosen = true;
    if (mlt_gpu_is_on() && !comm->inter && !job->fixed && !team->paths &&
        !mlt_how_is_persistent(how))
        job->device = mlt_device_look(job, number);
    code = coll_go(me, job, team, number, check, how);
    if (agreements)
        mlt_outside_take(me, comm, check);
    return code;
}

// ---- messages that nobody has received

// Of a collective call on a communicator: the last four of its eight contexts (comm.h).
static bool is_collective(const mlt_msg *msg)
{
    return msg->tag < 0 && msg->context < UINT32_C(1) << 31 &&
           msg->context % MLT_CONTEXTS >= MLT_CONTEXT_LEVEL;
}

static const mlt_msg *find_lost(const mlt_worker *w, const mlt_rank **to)
{
    for (uint32_t i = 0; i < w->count; i++) {
        *to = &w->ranks[i];
        MLT_LIST_EACH(const mlt_msg, msg, &(*to)->unexpected.all, all)
            if (is_collective(msg))
                return msg;
    }
    return NULL;
}

static MLT_COLD int tell_lost(mlt_rank *me, const mlt_msg *msg, const mlt_rank *to)
{
    static const mlt_coll_callsig nothing = {.collective = MLT_COLLECTIVES};
    mlt_worker *w = me->worker;
    mlt_coll_callsig callsig;
    char call[160] = "a collective call", from[48];
    uint32_t sender = msg->peer ? msg->peer->worker : w->index;
    if (sender >= w->boot->job->workers)
        return mlt_mpi_code(
            me, me->fn, MPI_ERR_OTHER,
            "a rank of another job made a collective call, but rank %d made another "
            "call instead, or none: what was sent to it is lost",
            (int)to->world);
    const mlt_job_location *home = mlt_job_location_at(w->boot->job, sender);
    if (mlt_coll_callsig_find(w, msg->type, &callsig))
        mlt_coll_callsig_words(&callsig, &nothing, NULL, call, sizeof call);
    snprintf(from, sizeof from, home->ranks > 1 ? "a rank from %u to %u" : "rank %u",
             home->first_rank, home->first_rank + home->ranks - 1);
    return mlt_mpi_code(me, me->fn, MPI_ERR_OTHER,
                        "%s called %s on %s, but rank %d made another call instead, or none: what "
                        "was sent to it is lost",
                        from, call,
                        msg->context / MLT_CONTEXTS == MLT_CONTEXT_WORLD / MLT_CONTEXTS
                            ? "MPI_COMM_WORLD"
                            : "a communicator",
                        (int)to->world);
}

void mlt_coll_refused(mlt_comm *comm, uint32_t number)
{
    mlt_team *team = mlt_comm_team(comm);
    mlt_team_refuse(team->at ? mlt_comm_flat(comm) : team, number);
    mlt_mpi_worker_of(comm->owner)->coll_failed = true;
}

int mlt_coll_look_for_lost(mlt_rank *me, MPI_Errhandler handler)
{
    const mlt_rank *to;
    mlt_worker *w = me->worker;
    if (mlt_mpi_worker_of(me)->coll_failed)
        return MPI_SUCCESS;
    for (uint32_t i = 0; i < w->count; i++)
        if (mlt_mpi_of(&w->ranks[i])->sessions)
            return MPI_SUCCESS; // communicators of theirs are in use
    mlt_p2p_last_look(w);
    const mlt_msg *msg = find_lost(w, &to);
    if (MLT_LIKELY(!msg))
        return MPI_SUCCESS;
    int code = tell_lost(me, msg, to);
    if (handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_ABORT)
        mlt_errhandler_call(me, handler, NULL, code);
    return code;
}

// ---- checks

int mlt_coll_check_request(mlt_rank *me, mlt_comm *comm, const mlt_how *how)
{
    if (MLT_UNLIKELY(how) && MLT_UNLIKELY(!how->request))
        return mlt_bad_null(me, comm, me->fn, MPI_ERR_ARG, "request", "where the request goes");
    if (MLT_UNLIKELY(mlt_how_is_persistent(how)) && how->info != MPI_INFO_NULL &&
        !mlt_info_of(how->info))
        return mlt_bad_info(me, comm, me->fn, how->info);
    return MPI_SUCCESS;
}

// "recvtype", or "datatype" of functions that have one buffer.
static const char *coll_word(char name[16], const mlt_coll_data *d, const char *of_two,
                             const char *of_one)
{
    snprintf(name, 16, "%s%s", d->which, d->which[0] ? of_two : of_one);
    return name;
}

// NULL or MPI_IN_PLACE.
static int refuse_buffer(mlt_rank *me, mlt_comm *comm, const mlt_coll_data *d)
{
    char name[16];
    coll_word(name, d, "buf", "buffer");
    return d->buf ? mlt_coll_bad_in_place(me, comm, name)
                  : mlt_bad_null(me, comm, me->fn, MPI_ERR_BUFFER, name, "where the data lies");
}

int mlt_coll_check_odd_data(mlt_rank *me, mlt_comm *comm, mlt_coll_data d)
{
    char name[16];
    uint64_t bytes;
    if (mlt_coll_in_place(d.buf))
        return refuse_buffer(me, comm, &d);
    if (!d.type)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_TYPE,
                             "argument %s is no datatype of this rank, or was freed%s",
                             coll_word(name, &d, "type", "datatype"), mlt_dtype_long_double_hint());
    if (!d.type->committed)
        return mlt_bad_uncommitted(me, comm, me->fn, coll_word(name, &d, "type", "datatype"));
    if (d.count < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, coll_word(name, &d, "count", "count"),
                             d.count, "at least 0");
    if (__builtin_mul_overflow((uint64_t)d.count, d.type->size, &bytes) || bytes > INT64_MAX)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, coll_word(name, &d, "count", "count"),
                             d.count, "so few that their bytes fit into 63 bits");
    return d.buf || !bytes || !mlt_coll_needs_address(d.type) ? MPI_SUCCESS
                                                              : refuse_buffer(me, comm, &d);
}

int mlt_coll_check_odd_operands(mlt_rank *me, mlt_comm *comm, mlt_coll_data d, const char *count,
                                uint32_t element)
{
    uint64_t bytes, copied;
    if (mlt_coll_in_place(d.buf))
        return refuse_buffer(me, comm, &d);
    if (d.count < 0)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, count, d.count, "at least 0");
    if (__builtin_mul_overflow((uint64_t)d.count, d.type->size, &bytes) ||
        __builtin_mul_overflow((uint64_t)d.count, element, &copied) || bytes > MLT_COLL_MOST ||
        copied > MLT_COLL_MOST)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_COUNT, count, d.count,
                             "so few that their bytes fit into 60 bits");
    return d.buf || !bytes || !mlt_coll_needs_address(d.type) ? MPI_SUCCESS
                                                              : refuse_buffer(me, comm, &d);
}

int mlt_coll_check_root(mlt_rank *me, mlt_comm *comm, int root)
{
    if (MLT_LIKELY(root >= 0 && root < comm->peers) ||
        (comm->inter && (root == MPI_ROOT || root == MPI_PROC_NULL)))
        return MPI_SUCCESS;
    if (!comm->inter)
        return mlt_bad_rank(me, comm, me->fn, MPI_ERR_ROOT, "root", root, "");
    return mlt_mpi_raise(
        me, comm, me->fn, MPI_ERR_ROOT,
        "argument root is %d, but should be a rank from 0 to %d of the other group "
        "of %s, or MPI_ROOT or MPI_PROC_NULL in the root's own group",
        root, comm->peers - 1, mlt_comm_name(me, comm));
}

int mlt_coll_bad_in_place(mlt_rank *me, mlt_comm *comm, const char *name)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_BUFFER,
                         "argument %s is MPI_IN_PLACE, which it must not be here", name);
}

int mlt_coll_bad_overlap(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_BUFFER,
                         "arguments sendbuf and recvbuf overlap, but should lie apart; if the data "
                         "is to be replaced, say MPI_IN_PLACE");
}

int mlt_coll_bad_sizes(mlt_rank *me, mlt_comm *comm, uint64_t sent, uint64_t received)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_TRUNCATE,
                         "rank %d of %s sends %llu bytes to itself, but receives %llu from itself",
                         comm->rank, mlt_comm_name(me, comm), (unsigned long long)sent,
                         (unsigned long long)received);
}

int mlt_coll_bad_total(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COUNT,
                         "the blocks of all ranks of %s together have more bytes than 63 bits can "
                         "count",
                         mlt_comm_name(me, comm));
}
