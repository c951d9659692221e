// SPDX-License-Identifier: BSD-3-Clause
// What is said between ranks and their copier: see device.h, which has the whole of it.
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "gpu/gpu.h"
#include "gpu/share.h"
#include "mpi/coll/device_int.h"
#include "mpi/self.h"
#include "p2p/worker.h"
#include "type/reduce.h"

// A packet's object and word are the communicator's context and first rank; src: the rank.
enum {
    DEVICE_LOOK = MLT_PACKET_DEVICE, // dst: the communicator's size
    DEVICE_TURN,                     // a uint32_t: the number of the turn
    DEVICE_SINCE,                    // a since_message
    DEVICE_JOB,                      // a job_message
    DEVICE_PASS,                     // a uint32_t: the number of the call
    DEVICE_BYE,
    DEVICE_ORDINARY, // the call of the job_message
    DEVICE_OVER,     // an over_message, without `why` if it went well
};
_Static_assert((int)DEVICE_OVER == (int)MLT_PACKET_DEVICE_LAST, "mlt_device_packet_is");

typedef struct since_message {
    uint32_t turn, number;
} since_message;

// Where a side lies.
typedef struct side_message {
    uint64_t bytes, offset; // offset: in the allocation of the key
    mlt_gpu_key key;
    bool is_given;
} side_message;

typedef struct job_message {
    uint64_t call; // an `asked` of the sender's process
    uint64_t count;
    uint32_t number, root, element, op;
    uint8_t collective;
    bool copies_in;
    side_message in, out; // of another process
} job_message;

typedef struct over_message {
    uint64_t call;
    int32_t status;
    char why[MLT_DEVICE_WHY];
} over_message;

// A call that the copier knows of, or is about to; or one that has to wait for such a call.
typedef struct mlt_device_asked {
    struct mlt_device_asked *next; // of the rank
    mlt_device_call call;
    bool is_ordinary; // it begins when it is the first
    mlt_coll_job *job;
    mlt_req *req;
    mlt_gpu_transfer known[2]; // in, out; in the copier's own process
    job_message message;
    mlt_work work; // that begins the ordinary schedule
} asked;

// ---- a rank

static mlt_device_member *member_of(const asked *a)
{
    return &a->call.place->members[a->job->comm->rank];
}

static void put_asked(asked *a)
{
    mlt_device_member *member = member_of(a);
    if (!member->first)
        member->last = &member->first;
    *member->last = a;
    member->last = &a->next;
}

static void remove_asked(asked *a)
{
    mlt_device_member *member = member_of(a);
    asked **link = &member->first;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    if (!*link)
        member->last = link;
}

static uint32_t process_at(const mlt_worker *w, uint32_t worker)
{
    return mlt_job_location_at(w->boot->job, worker)->proc;
}

bool mlt_device_ask_finds(const mlt_comm *comm, uint32_t *copier)
{
    mlt_worker *w = comm->owner->worker;
    mlt_job *job = w->boot->job;
    *copier = UINT32_MAX;
    for (int32_t r = 0; r < comm->size; r++) {
        int32_t world = mlt_comm_world_rank(comm, r);
        if ((uint32_t)world >= job->ranks)
            return false;
        uint32_t worker = mlt_worker_of_rank(w, world);
        if (!mlt_job_is_here(job, worker))
            return false;
        if (worker < *copier)
            *copier = worker;
    }
    return true;
}

static void tell_copier(const mlt_device_place *p, mlt_worker *w, uint32_t rank, uint16_t kind,
                        const void *data, uint64_t bytes)
{
    mlt_packet packet = {.kind = kind,
                         .object = p->context,
                         .word = p->first,
                         .src = (int32_t)rank,
                         .dst = (int32_t)p->size};
    mlt_p2p_packet(w, p->copier, &packet, data, bytes);
}

// The same number in all processes for operations of the same result; 0: none.
static uint32_t number_of_op(const mlt_coll_op *op)
{
    enum { BITS = 8 };
    mlt_reduce_form form;
    if (!op || !mlt_reduce_find_form(op->kernel, &form))
        return 0;
    return (((uint32_t)form.shape + 1) << 3 * BITS) | ((uint32_t)form.op << 2 * BITS) |
           ((uint32_t)form.number << BITS) | (uint32_t)form.index;
}

// Bytes of a device that lie one after the other, where the copier reaches them.
static bool show_side(const mlt_coll_side *s, bool own, side_message *out, mlt_gpu_transfer *known)
{
    mlt_gpu_spot spot;
    out->is_given = s->type != NULL;
    out->bytes = mlt_device_side_bytes(s);
    if (!out->bytes)
        return true;
    if (s->counts || s->displs || s->types || !s->type->device || !mlt_type_is_dense(s->type))
        return false;
    if (own) {
        mlt_device_look_within(known, s);
        return known->to_device;
    }
    if (!mlt_gpu_show(s->buf, &spot))
        return false;
    out->offset = spot.offset;
    return mlt_gpu_key_of(spot.id, &out->key);
}

static bool show_job(const mlt_device_place *p, const mlt_worker *w, const mlt_coll_job *job,
                     asked *a)
{
    bool own = process_at(w, w->index) == process_at(w, p->copier);
    return show_side(&job->in, own, &a->message.in, &a->known[0]) &&
           show_side(&job->out, own, &a->message.out, &a->known[1]);
}

mlt_device_call *mlt_device_ask(mlt_device_place *p, const mlt_coll_job *job, uint32_t number)
{
    uint32_t rank = (uint32_t)job->comm->rank;
    mlt_worker *w = job->comm->owner->worker;
    mlt_device_member *member = &p->members[rank];
    member->next = number + 1;
    if (!atomic_load_explicit(&member->worker, memory_order_relaxed) &&
        (mlt_device_side_is_there(&job->in) || mlt_device_side_is_there(&job->out))) {
        atomic_store_explicit(&member->worker, w, memory_order_relaxed);
        tell_copier(p, w, rank, DEVICE_LOOK, NULL, 0);
    }
    if (!member->asks)
        return NULL;
    asked *a = mlt_xcalloc(1, sizeof *a);
    a->call = (mlt_device_call){.asks = true, .place = p, .number = number};
    if (mlt_device_can_take(job) && show_job(p, w, job, a))
        return &a->call;
    tell_copier(p, w, rank, DEVICE_PASS, &number, sizeof number);
    a->is_ordinary = true;
    if (member->first) // which has to begin before it
        return &a->call;
    free(a);
    return NULL;
}

static asked *asked_of(const mlt_device_call *call)
{
    return mlt_container_of(call, asked, call);
}

void mlt_device_ask_join(mlt_device_call *call, mlt_coll_job *job, mlt_req *req)
{
    asked *a = asked_of(call);
    const mlt_coll_what *what = &job->what;
    uint32_t rank = (uint32_t)job->comm->rank;
    a->job = job;
    a->req = req;
    put_asked(a);
    if (a->is_ordinary)
        return;
    a->message.call = (uintptr_t)a;
    a->message.number = call->number;
    a->message.collective = what->collective;
    a->message.copies_in = job->copies_in;
    a->message.root = what->root;
    a->message.element = what->element;
    a->message.count = what->count;
    a->message.op = number_of_op(what->op);
    tell_copier(call->place, req->rank->worker, rank, DEVICE_JOB, &a->message, sizeof a->message);
}

void mlt_device_ask_free(mlt_device_call *call)
{
    free(asked_of(call));
}

void mlt_device_ask_bye(mlt_device_place *p, mlt_worker *worker)
{
    bool looked = false;
    for (uint32_t r = 0; worker && r < p->size; r++)
        if (atomic_load_explicit(&p->members[r].worker, memory_order_relaxed) == worker) {
            atomic_store_explicit(&p->members[r].worker, NULL, memory_order_relaxed);
            looked = true;
        }
    if (looked)
        tell_copier(p, worker, 0, DEVICE_BYE, NULL, 0);
}

void mlt_device_settle(mlt_rank *me, const mlt_comm *comm)
{
    const mlt_device_place *p = comm->shared ? comm->shared->device : NULL;
    while (p && p->is_here && p->members[comm->rank].first)
        mlt_p2p_poll(me);
}

static void be_ordinary(mlt_work *work)
{
    asked *a = mlt_container_of(work, asked, work);
    mlt_device_member *member = member_of(a);
    mlt_comm *comm = a->job->comm; // with which the member goes
    mlt_comm_hold(comm);
    while ((a = member->first) && a->is_ordinary) {
        remove_asked(a);
        mlt_coll_go_ordinary(a->job, a->req);
        free(a);
    }
    mlt_comm_drop(comm);
}

// It may be the first now.
static void begin_ordinary(mlt_worker *w, asked *a)
{
    if (!a || !a->is_ordinary || member_of(a)->first != a)
        return;
    a->work.run = be_ordinary;
    mlt_worker_later(w, &a->work);
}

static void end_asked(mlt_worker *w, asked *a, const over_message *message)
{
    mlt_device_member *member = member_of(a);
    bool was_first = member->first == a;
    remove_asked(a);
    if (was_first)
        begin_ordinary(w, member->first);
    a->req->status = (mlt_status)message->status;
    if (a->req->status != MLT_OK)
        memcpy(a->call.copies.why, message->why, sizeof message->why);
    mlt_req_complete(a->req);
}

// ---- the copier

typedef struct attendee {
    uint32_t worker;
    bool looks, is_known; // known: `next` is, in this turn
    uint32_t next;        // it has asked for all its calls before this one, or passed
} attendee;

// A call for which some ranks have asked.
typedef struct gathered {
    struct gathered *next;
    mlt_worker *worker;
    uint32_t number, come;
    mlt_device_copies copies;
    mlt_coll_job *jobs;    // [size], as if it were of this process
    job_message *messages; // [size]; call 0: it has not come
    uint32_t *workers;     // [size]
    uint64_t *seen;        // [2 * size] ids of what was opened; 0: nothing
} gathered;

// A communicator, as the worker that copies for it knows it.
typedef struct meeting {
    struct meeting *next;
    uint32_t context, size;
    int32_t first;
    uint32_t lookers;
    uint32_t turn;
    bool is_turn;  // all ranks look
    uint32_t most; // the largest `next`
    attendee *ranks;
    gathered *open;
} meeting;

struct mlt_device_meetings {
    meeting *first;
};

static void tell_rank(mlt_worker *w, const meeting *m, uint32_t rank, uint32_t worker,
                      uint16_t kind, const void *data, uint64_t bytes)
{
    mlt_packet packet = {
        .kind = kind, .object = m->context, .word = m->first, .src = (int32_t)rank};
    mlt_p2p_packet(w, worker, &packet, data, bytes);
}

static void free_gathered(gathered *g)
{
    mlt_device_copies_fini(&g->copies);
    free(g->jobs);
    free(g->messages);
    free(g->workers);
    free(g->seen);
    free(g);
}

static void unlink_gathered(meeting *m, gathered *g)
{
    gathered **link = &m->open;
    while (*link != g)
        link = &(*link)->next;
    *link = g->next;
}

static void unsee_all(gathered *g)
{
    for (uint32_t i = 0; i < 2 * g->copies.size; i++)
        if (g->seen[i])
            mlt_gpu_unsee(process_at(g->worker, g->workers[i / 2]), g->seen[i]);
}

// Nobody's call is taken; it is no longer among the open ones.
static void give_up(const meeting *m, gathered *g)
{
    unsee_all(g);
    for (uint32_t r = 0; r < g->copies.size; r++)
        if (g->messages[r].call)
            tell_rank(g->worker, m, r, g->workers[r], DEVICE_ORDINARY, &g->messages[r].call,
                      sizeof g->messages[r].call);
    free_gathered(g);
}

// A rank takes no part in the calls from `from` on, up to before `to`.
static void refuse_calls(meeting *m, uint32_t from, uint32_t to)
{
    for (gathered *g = m->open, *next; g; g = next) {
        next = g->next;
        if (g->number >= from && g->number < to) {
            unlink_gathered(m, g);
            give_up(m, g);
        }
    }
}

static void copies_ended(mlt_device_copies *copies)
{
    gathered *g = mlt_container_of(copies, gathered, copies);
    mlt_worker *w = g->worker;
    over_message over = {.status = copies->status};
    uint64_t bytes = offsetof(over_message, why);
    if (over.status != MLT_OK) {
        memcpy(over.why, copies->why, sizeof over.why);
        bytes = sizeof over;
    }
    unsee_all(g);
    for (uint32_t r = 0; r < copies->size; r++) {
        over.call = g->messages[r].call;
        mlt_packet packet = {.kind = DEVICE_OVER, .src = (int32_t)r};
        mlt_p2p_packet(w, g->workers[r], &packet, &over, bytes);
    }
    free_gathered(g);
}

static void put_side(mlt_coll_side *side, const side_message *message, const void *at)
{
    if (message->is_given)
        *side = (mlt_coll_side){.buf = (void *)(uintptr_t)at,
                                .type = mlt_gpu_twin_of_code(MLT_TYPE_BYTE),
                                .blocks = 1,
                                .count = message->bytes};
}

// Of another process; `like`: memory of this one.
static bool see_side(gathered *g, uint32_t rank, int i, const void *like)
{
    const job_message *message = &g->messages[rank];
    const side_message *side = i ? &message->out : &message->in;
    mlt_gpu_transfer *known = &g->copies.known[2 * rank + (uint32_t)i];
    mlt_gpu_spot spot = {side->key.id, side->offset};
    uint32_t process = process_at(g->worker, g->workers[rank]);
    if (side->bytes) {
        if (!like)
            return false;
        mlt_gpu_seen seen = mlt_gpu_see_known(process, &spot, known);
        if (seen == MLT_GPU_UNSEEN) {
            mlt_gpu_open(process, &side->key, like);
            seen = mlt_gpu_see_known(process, &spot, known);
        }
        if (seen != MLT_GPU_SEEN)
            return false;
        g->seen[2 * rank + (uint32_t)i] = spot.id;
        if (!known->to_device)
            return false;
    }
    put_side(i ? &g->jobs[rank].out : &g->jobs[rank].in, side, known->to);
    return true;
}

// Every rank's job as this process would see it. False: some memory cannot be reached.
static bool see_all(gathered *g)
{
    uint32_t own = process_at(g->worker, g->worker->index);
    const asked *mine = NULL; // of some rank of this process: the copier's worker has one
    const void *like = NULL;
    for (uint32_t r = 0; r < g->copies.size; r++) {
        if (process_at(g->worker, g->workers[r]) != own)
            continue;
        const asked *a = (const asked *)(uintptr_t)g->messages[r].call;
        mine = a;
        memcpy(&g->copies.known[2 * r], a->known, sizeof a->known);
        put_side(&g->jobs[r].in, &a->message.in, a->job->in.buf);
        put_side(&g->jobs[r].out, &a->message.out, a->job->out.buf);
        like = a->known[0].to_device   ? a->known[0].to
               : a->known[1].to_device ? a->known[1].to
                                       : like;
    }
    for (uint32_t r = 0; r < g->copies.size; r++) {
        const job_message *message = &g->messages[r];
        mlt_coll_job *job = &g->jobs[r];
        if (process_at(g->worker, g->workers[r]) != own &&
            (!see_side(g, r, 0, like) || !see_side(g, r, 1, like)))
            return false;
        mlt_coll_op_copy(&job->op, &mine->job->op);
        job->op.same = message->op;
        job->op.element = message->element;
        job->call = mine->job->call;
        job->copies_in = message->copies_in;
        job->what = (mlt_coll_what){.collective = message->collective,
                                    .root = message->root,
                                    .element = message->element,
                                    .count = message->count,
                                    .op = message->op ? &job->op : NULL};
        g->copies.jobs[r] = job;
    }
    return true;
}

static void begin_copies(meeting *m, gathered *g)
{
    unlink_gathered(m, g);
    g->copies.gives_up = true;
    g->copies.ended = copies_ended;
    if (!see_all(g) || !mlt_device_copies_start(&g->copies, g->worker))
        give_up(m, g);
}

static gathered *find_gathered(const meeting *m, uint32_t number)
{
    gathered *g = m->open;
    while (g && g->number != number)
        g = g->next;
    return g;
}

static gathered *new_gathered(mlt_worker *w, meeting *m, uint32_t number)
{
    gathered *g = mlt_xcalloc(1, sizeof *g);
    *g = (gathered){.next = m->open, .worker = w, .number = number};
    mlt_device_copies_init(&g->copies, m->size);
    g->jobs = mlt_xcalloc(m->size, sizeof *g->jobs);
    g->messages = mlt_xcalloc(m->size, sizeof *g->messages);
    g->workers = mlt_xcalloc(m->size, sizeof *g->workers);
    g->seen = mlt_xcalloc(2 * (size_t)m->size, sizeof *g->seen);
    m->open = g;
    return g;
}

static void job_came(mlt_worker *w, meeting *m, uint32_t rank, const void *data)
{
    attendee *a = &m->ranks[rank];
    job_message message;
    memcpy(&message, data, sizeof message);
    uint32_t number = message.number;
    if (a->is_known) {
        refuse_calls(m, a->next, number);
        a->next = number + 1;
    }
    gathered *g = find_gathered(m, number);
    // Some rank has passed it; or this one asked in a turn that is over.
    if (!a->is_known || (!g && number < m->most)) {
        tell_rank(w, m, rank, a->worker, DEVICE_ORDINARY, &message.call, sizeof message.call);
        return;
    }
    if (!g)
        g = new_gathered(w, m, number);
    if (m->most <= number)
        m->most = number + 1;
    g->messages[rank] = message;
    g->workers[rank] = a->worker;
    if (++g->come == m->size)
        begin_copies(m, g);
}

static void passed(meeting *m, uint32_t rank, uint32_t number)
{
    attendee *a = &m->ranks[rank];
    if (!a->is_known)
        return;
    refuse_calls(m, a->next, number + 1);
    a->next = number + 1;
    if (m->most < a->next)
        m->most = a->next;
}

static void since_came(meeting *m, uint32_t rank, const since_message *since)
{
    attendee *a = &m->ranks[rank];
    if (!m->is_turn || since->turn != m->turn || a->is_known)
        return;
    a->is_known = true;
    a->next = since->number;
    refuse_calls(m, 0, a->next);
    if (m->most < a->next)
        m->most = a->next;
}

static void begin_turn(mlt_worker *w, meeting *m)
{
    uint32_t turn = ++m->turn;
    m->is_turn = true;
    m->most = 0;
    for (uint32_t r = 0; r < m->size; r++)
        m->ranks[r].is_known = false;
    for (uint32_t r = 0; r < m->size; r++)
        tell_rank(w, m, r, m->ranks[r].worker, DEVICE_TURN, &turn, sizeof turn);
}

static void looked(mlt_worker *w, meeting *m, uint32_t rank, uint32_t from)
{
    attendee *a = &m->ranks[rank];
    if (a->looks)
        return;
    a->looks = true;
    a->worker = from;
    if (++m->lookers == m->size)
        begin_turn(w, m);
}

static meeting *find_meeting(const mlt_mpi_worker *w, uint32_t context, int32_t first)
{
    meeting *m = w->meetings ? w->meetings->first : NULL;
    while (m && (m->context != context || m->first != first))
        m = m->next;
    return m;
}

static meeting *new_meeting(mlt_mpi_worker *w, const mlt_packet *packet)
{
    if (!w->meetings)
        w->meetings = mlt_xcalloc(1, sizeof *w->meetings);
    meeting *m = mlt_xcalloc(1, sizeof *m);
    *m = (meeting){.next = w->meetings->first,
                   .context = packet->object,
                   .first = packet->word,
                   .size = (uint32_t)packet->dst};
    m->ranks = mlt_xcalloc(m->size, sizeof *m->ranks);
    w->meetings->first = m;
    return m;
}

static void free_meeting(meeting *m)
{
    for (gathered *g = m->open, *next; g; g = next) {
        next = g->next;
        free_gathered(g);
    }
    free(m->ranks);
    free(m);
}

// The ranks of that worker have no such communicator any more; perhaps others have a new one already.
static void left(mlt_mpi_worker *w, meeting *m, uint32_t from)
{
    m->is_turn = false;
    refuse_calls(m, 0, UINT32_MAX);
    for (uint32_t r = 0; r < m->size; r++) {
        attendee *a = &m->ranks[r];
        a->is_known = false;
        m->lookers -= a->looks && a->worker == from;
        a->looks = a->looks && a->worker != from;
    }
    meeting **link = &w->meetings->first;
    while (*link != m)
        link = &(*link)->next;
    if (m->lookers)
        return;
    *link = m->next;
    free_meeting(m);
}

void mlt_device_worker_fini(mlt_worker *worker)
{
    mlt_mpi_worker *w = worker->mpi;
    for (meeting *m = w->meetings ? w->meetings->first : NULL, *next; m; m = next) {
        next = m->next;
        free_meeting(m);
    }
    free(w->meetings);
}

uint32_t mlt_device_ask_missing(const mlt_device_call *call, int32_t *awaits)
{
    const mlt_device_place *p = call->place;
    const mlt_comm *comm = asked_of(call)->job->comm;
    const mlt_worker *w = comm->owner->worker;
    const meeting *m = p->copier == w->index ? find_meeting(w->mpi, p->context, p->first) : NULL;
    const gathered *g = m ? find_gathered(m, call->number) : NULL;
    for (uint32_t r = 0; g && r < m->size; r++)
        if (!g->messages[r].call) {
            *awaits = mlt_comm_world_rank(comm, (int)r);
            break;
        }
    return 0;
}

// ---- packets

// To a rank. What has come for one that has left is of no use any more.
static void turn_came(mlt_worker *w, const mlt_packet *packet, uint32_t from, const void *data)
{
    uint32_t rank = (uint32_t)packet->src;
    mlt_device_member *member = mlt_device_member_find(w, packet->object, packet->word, rank);
    if (!member)
        return;
    since_message since = {.number = member->next};
    memcpy(&since.turn, data, sizeof since.turn);
    member->asks = true;
    mlt_packet answer = *packet;
    answer.kind = DEVICE_SINCE;
    mlt_p2p_packet(w, from, &answer, &since, sizeof since);
}

static void told_rank(mlt_worker *w, uint32_t from, const mlt_packet *packet, const void *data,
                      uint64_t bytes)
{
    if (packet->kind == DEVICE_TURN) {
        turn_came(w, packet, from, data);
        return;
    }
    over_message over = {0};
    memcpy(&over, data, bytes);
    asked *a = (asked *)(uintptr_t)over.call;
    if (packet->kind == DEVICE_OVER) {
        end_asked(w, a, &over);
        return;
    }
    a->is_ordinary = true;
    begin_ordinary(w, a);
}

void mlt_device_packet(mlt_worker *worker, uint32_t from, const mlt_packet *packet,
                       const void *data, uint64_t bytes)
{
    mlt_mpi_worker *w = worker->mpi;
    uint32_t rank = (uint32_t)packet->src, number;
    since_message since;
    if (!w)
        return; // it has ended
    if (packet->kind == DEVICE_TURN || packet->kind >= DEVICE_ORDINARY) {
        told_rank(worker, from, packet, data, bytes);
        return;
    }
    meeting *m = find_meeting(w, packet->object, packet->word);
    if (!m && packet->kind == DEVICE_LOOK)
        m = new_meeting(w, packet);
    mlt_assert(m && rank < m->size);
    switch (packet->kind) {
    case DEVICE_LOOK:
        looked(worker, m, rank, from);
        break;
    case DEVICE_SINCE:
        memcpy(&since, data, sizeof since);
        since_came(m, rank, &since);
        break;
    case DEVICE_JOB:
        job_came(worker, m, rank, data);
        break;
    case DEVICE_PASS:
        memcpy(&number, data, sizeof number);
        passed(m, rank, number);
        break;
    default:
        left(w, m, from);
        break;
    }
}
