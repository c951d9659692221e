// SPDX-License-Identifier: BSD-3-Clause
// What each rank of a worker waits for, as records for the launcher (which words and groups them),
// or in words of our own when the program was started alone.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/upcalls.h"
#include "fiber/delegate.h"
#include "fiber/gate.h"
#include "p2p/context.h"
#include "p2p/p2p_int.h"

enum {
    MOST_OPERATIONS = MLT_WORKER_PARTS,
    BATCH = MLT_CTL_MAX_BODY / sizeof(mlt_ctl_wait),
    MOST_HELD = 3, // messages of a rank that are told
};

typedef struct batch {
    mlt_worker *worker;
    uint16_t thread, others; // of the rank at hand, as mlt_ctl_wait has them
    uint32_t count;
    mlt_ctl_wait waits[BATCH];
    size_t length; // of what its processes say
    char procs[MLT_CTL_PROCS_TEXT];
} batch;

static void say(const mlt_ctl_wait *wait)
{
    char peer[32] = "any rank", tag[32] = "any tag";
    if (wait->peer >= 0)
        snprintf(peer, sizeof peer, "rank %d", wait->peer);
    if (wait->tag >= 0)
        snprintf(tag, sizeof tag, "tag %d", wait->tag);
    static const char *const relations[] = {
        [MLT_WAIT_RECV] = "from", [MLT_WAIT_SEND] = "to", [MLT_WAIT_PROBE] = "from"};
    if (wait->kind == MLT_WAIT_HELD) {
        mlt_log("rank %d holds a message from %s, %s (%llu bytes), that it does not receive",
                wait->rank, peer, tag, (unsigned long long)wait->bytes);
        return;
    }
    const char *relation = wait->kind <= MLT_WAIT_PROBE ? relations[wait->kind] : NULL;
    char who[48];
    snprintf(who, sizeof who, wait->thread ? "rank %d (thread %u)" : "rank %d", wait->rank,
             (unsigned)wait->thread);
    if (relation && wait->action)
        mlt_log("%s: %s: %s %llu bytes %s %s (action %u%s%s)", who, wait->call,
                wait->kind == MLT_WAIT_RECV ? "recv" : "send", (unsigned long long)wait->bytes,
                relation, peer, wait->action - 1, wait->label[0] ? ", " : "", wait->label);
    else if (relation && wait->label[0])
        mlt_log("%s: %s for %spartitions %s%s%s, %s", who, wait->call,
                wait->label[0] == MLT_CTL_UNREADY ? "its own MPI_Pready of " : "",
                wait->label + (wait->label[0] == MLT_CTL_UNREADY),
                wait->label[0] == MLT_CTL_UNREADY ? ""
                : wait->kind == MLT_WAIT_RECV     ? " from "
                                                  : " to ",
                wait->label[0] == MLT_CTL_UNREADY ? "" : peer, tag);
    else if (relation)
        mlt_log("%s: %s %s %s, %s (%llu bytes)", who, wait->call, relation, peer, tag,
                (unsigned long long)wait->bytes);
    else if (wait->kind == MLT_WAIT_FD && wait->tag >= 0)
        mlt_log("%s: %s of descriptor %d", who, wait->call, wait->tag);
    else
        mlt_log("%s: %s", who, wait->call);
}

static void send_batch(batch *b)
{
    if (b->count == 0)
        return;
    int ctl = b->worker->boot->ctl;
    if (ctl < 0) {
        for (uint32_t i = 0; i < b->count; i++)
            say(&b->waits[i]);
    } else {
        mlt_ctl head = {
            .type = MLT_CTL_WAITS,
            .rank = MLT_CTL_NO_RANK,
            .value = b->count,
            .detail = b->worker->index,
            .length = (uint32_t)(b->count * sizeof *b->waits),
        };
        (void)mlt_ctl_send(ctl, &head, b->waits); // a launcher that is gone needs no report
    }
    b->count = 0;
}

static mlt_ctl_wait *next_wait(batch *b, const mlt_rank *rank)
{
    if (b->count == BATCH)
        send_batch(b);
    mlt_ctl_wait *wait = &b->waits[b->count++];
    *wait = (mlt_ctl_wait){.rank = rank->world,
                           .peer = MLT_WAIT_ANYONE,
                           .tag = MLT_WAIT_ANY_TAG,
                           .open = 1,
                           .all = 1,
                           .thread = b->thread,
                           .others = b->others};
    return wait;
}

static void collective(const mlt_wait *wait, const mlt_req *req, mlt_ctl_wait *out)
{
    if (mlt_upcalls.collective)
        mlt_upcalls.collective(wait, req, out);
}

static uint32_t parts_of(const mlt_req *req, mlt_worker_part *out, uint32_t most)
{
    return mlt_upcalls.parts ? mlt_upcalls.parts(req, out, most) : 0;
}

int32_t mlt_worker_world_rank(const mlt_rank *rank, uint32_t context, int32_t peer)
{
    return mlt_upcalls.world_rank ? mlt_upcalls.world_rank(rank, context, peer) : peer;
}

// The launcher knows world ranks only; receives and probes name ranks of their communicator.
static int32_t world_rank(const mlt_rank *rank, const mlt_ctl_wait *wait, int32_t peer)
{
    bool named = peer >= 0 && (wait->kind == MLT_WAIT_RECV || wait->kind == MLT_WAIT_PROBE);
    return named ? mlt_worker_world_rank(rank, wait->context, peer) : peer;
}

static bool is_message(mlt_wait_kind kind)
{
    return kind == MLT_WAIT_RECV || kind == MLT_WAIT_SEND || kind == MLT_WAIT_PROBE;
}

static void add_message(mlt_ctl_wait *out, const mlt_rank *rank, int32_t peer, int32_t tag,
                        uint64_t bytes)
{
    out->peer = world_rank(rank, out, peer);
    out->tag = tag;
    out->bytes = bytes;
}

static mlt_ctl_wait *add_operation(batch *b, const mlt_rank *rank, const mlt_wait *wait,
                                   const mlt_req *req, uint32_t open)
{
    mlt_ctl_wait *out = next_wait(b, rank);
    snprintf(out->call, sizeof out->call, "%s", wait->call ? wait->call : "a call");
    out->open = (uint16_t)(open < UINT16_MAX ? open : UINT16_MAX);
    out->all = wait->kind != MLT_WAIT_ANY;
    if (wait->kind == MLT_WAIT_CSP) { // told with the processes
        out->kind = MLT_WAIT_OTHER;
        return out;
    }
    if (!req) {
        out->kind = (uint8_t)wait->kind;
        out->context = wait->context;
        if (is_message(wait->kind))
            add_message(out, rank, wait->peer, wait->tag, wait->bytes);
        else if (wait->kind == MLT_WAIT_COLLECTIVE && wait->team)
            collective(wait, NULL, out);
        else if (wait->kind == MLT_WAIT_FD)
            out->tag = wait->fd;
        else if (wait->kind == MLT_WAIT_WINDOW && mlt_upcalls.window)
            mlt_upcalls.window(wait, out);
        return out;
    }
    out->kind = (uint8_t)wait_kind(req);
    out->context = req->context;
    if (req->kind == MLT_REQ_OTHER)
        collective(wait, req, out);
    else
        add_message(out, rank, req->peer, req->tag, req->count * req->type->size);
    return out;
}

// A request that stands for others is shown as those of them that are open. Returns how many lines
// that took.
static uint32_t add_request(batch *b, const mlt_rank *rank, const mlt_wait *wait,
                            const mlt_req *req, uint32_t open, uint32_t most)
{
    mlt_worker_part parts[MLT_WORKER_PARTS];
    uint32_t n = parts_of(req, parts, MLT_WORKER_PARTS);
    if (n == 0) {
        add_operation(b, rank, wait, req, open);
        return 1;
    }
    n = n < MLT_WORKER_PARTS ? n : MLT_WORKER_PARTS;
    n = n < most ? n : most;
    for (uint32_t i = 0; i < n; i++) {
        mlt_ctl_wait *out = add_operation(b, rank, wait, parts[i].req, open);
        out->action = parts[i].action + 1;
        snprintf(out->label, sizeof out->label, "%s", parts[i].label);
    }
    return n;
}

static uint32_t open_operations(const mlt_req *req)
{
    uint32_t parts = parts_of(req, NULL, 0);
    return parts ? parts : 1;
}

// The list is the user's, and another rank may have written into it: what is no request of the
// rank's is left out.
static bool is_open(const mlt_rank *rank, const mlt_req *req)
{
    enum { FIRST_ADDRESS = 4096 }; // below are the ABI's own handles
    return (uintptr_t)req >= FIRST_ADDRESS && (uintptr_t)req % sizeof(void *) == 0 &&
           req->magic == MLT_REQ_MAGIC && req->rank == rank && !req->done;
}

static void add_parked(batch *b, const mlt_rank *rank, const mlt_wait *wait)
{
    if (wait->kind == MLT_WAIT_OTHER && wait->request) {
        const mlt_req *req = wait->request;
        uint32_t open = open_operations(req);
        add_request(b, rank, wait, req, open, MOST_OPERATIONS);
        return;
    }
    if (wait->kind != MLT_WAIT_ALL && wait->kind != MLT_WAIT_ANY) {
        add_operation(b, rank, wait, NULL, 1);
        return;
    }
    mlt_req *const *reqs = wait->list;
    uint32_t open = 0, said = 0;
    for (uint32_t i = 0; i < wait->n; i++)
        open += is_open(rank, reqs[i]) ? open_operations(reqs[i]) : 0;
    if (open == 0)
        add_operation(b, rank, wait, NULL, 1);
    for (uint32_t i = 0; i < wait->n && said < MOST_OPERATIONS; i++)
        if (is_open(rank, reqs[i]))
            said += add_request(b, rank, wait, reqs[i], open, MOST_OPERATIONS - said);
}

// What has come for a rank but matches no receive: often what it should have received.
static void add_held(batch *b, const mlt_rank *rank)
{
    uint32_t told = 0;
    const mlt_list_node *all = &rank->unexpected.all;
    for (const mlt_list_node *l = all->next; l && l != all && told < MOST_HELD; l = l->next) {
        const mlt_msg *msg = mlt_container_of(l, mlt_msg, all);
        // The first context of a communicator is that of the program's own messages.
        if (msg->context % MLT_CONTEXTS != 0 || msg->context > MLT_CONTEXT_ABROAD_LAST)
            continue;
        mlt_ctl_wait *out = next_wait(b, rank);
        out->kind = MLT_WAIT_HELD;
        out->peer = mlt_worker_world_rank(rank, msg->context, msg->src);
        out->tag = msg->tag;
        out->context = msg->context;
        out->bytes = msg->bytes;
        out->all = msg->kind != MLT_MSG_EAGER;
        out->open =
            (uint16_t)(rank->unexpected.size < UINT16_MAX ? rank->unexpected.size : UINT16_MAX);
        told++;
    }
}

static bool is_parked(const mlt_fiber *fiber)
{
    return fiber->state == MLT_FIBER_PARKED && fiber->wait;
}

// All threads of a rank that have called MPI. Called inside the gate. False if none is blocked.
static bool add_threads(batch *b, const mlt_rank *rank, const mlt_gate *gate)
{
    uint32_t threads = 0, blocked = 0;
    MLT_LIST_EACH(const mlt_thread, thread, &gate->threads, all) {
        threads += !thread->helper;
        blocked += !thread->helper && is_parked(thread->fiber);
    }
    b->others = (uint16_t)(threads - blocked < UINT16_MAX ? threads - blocked : UINT16_MAX);
    MLT_LIST_EACH(const mlt_thread, thread, &gate->threads, all) {
        b->thread = (uint16_t)(threads > 1 ? thread->number : 0);
        if (!thread->helper && is_parked(thread->fiber))
            add_parked(b, rank, thread->fiber->wait);
    }
    b->thread = b->others = 0;
    return blocked > 0;
}

typedef struct threads_seen {
    batch *b;
    const mlt_rank *rank;
    uint32_t threads, blocked;
    bool tells;
} threads_seen;

static void see_thread(void *arg, const mlt_delegate *thread)
{
    threads_seen *seen = arg;
    bool blocked = is_parked(&thread->fiber);
    seen->threads++;
    seen->blocked += blocked;
    if (!blocked || !seen->tells)
        return;
    seen->b->thread = (uint16_t)thread->number;
    add_parked(seen->b, seen->rank, thread->fiber.wait);
}

// The same of a rank whose threads delegate their calls.
static bool add_delegates(batch *b, const mlt_rank *rank, mlt_delegates *to)
{
    threads_seen seen = {.b = b, .rank = rank};
    bool own = is_parked(rank->fiber);
    mlt_delegates_each(to, rank, see_thread, &seen);
    uint32_t others = seen.threads - seen.blocked + !own;
    b->others = (uint16_t)(others < UINT16_MAX ? others : UINT16_MAX);
    b->thread = seen.threads > 0;
    if (own)
        add_parked(b, rank, rank->fiber->wait);
    seen.tells = true;
    mlt_delegates_each(to, rank, see_thread, &seen);
    b->thread = b->others = 0;
    return own || seen.blocked > 0;
}

static void send_procs(const batch *b)
{
    int ctl = b->worker->boot->ctl;
    if (b->length == 0)
        return;
    if (ctl < 0) {
        for (size_t at = 0; at < b->length;) {
            ssize_t n = write(STDERR_FILENO, b->procs + at, b->length - at);
            if (n <= 0)
                return;
            at += (size_t)n;
        }
        return;
    }
    mlt_ctl head = {.type = MLT_CTL_PROCS,
                    .rank = MLT_CTL_NO_RANK,
                    .detail = b->worker->index,
                    .length = (uint32_t)b->length};
    (void)mlt_ctl_send(ctl, &head, b->procs);
}

// The other jobs that the records may speak of.
static void send_jobs(const mlt_worker *w)
{
    enum { MOST = 16 };
    mlt_ctl_job jobs[MOST];
    uint32_t n = 0;
    const mlt_worlds *worlds = w->wire ? w->wire->worlds : NULL;
    for (const mlt_world *at = worlds ? mlt_worlds_last(worlds) : NULL; at && n < MOST;
         at = at->next) {
        jobs[n] = (mlt_ctl_job){.first_rank = at->first_rank, .ranks = at->shape.ranks};
        snprintf(jobs[n++].name, sizeof jobs->name, "%s", at->shape.name);
    }
    mlt_ctl head = {.type = MLT_CTL_JOBS,
                    .rank = MLT_CTL_NO_RANK,
                    .value = n,
                    .detail = w->index,
                    .length = (uint32_t)(n * sizeof *jobs)};
    if (n)
        (void)mlt_ctl_send(w->boot->ctl, &head, jobs);
}

void mlt_worker_report(mlt_worker *w)
{
    batch *b = malloc(sizeof *b); // large: not for a rank's stack, nor for the library's static TLS
    if (!b) {
        mlt_log(MLT_NO_ROOM "a report of what the ranks of worker %u wait for", w->index);
        return;
    }
    b->worker = w;
    b->thread = b->others = 0;
    b->count = 0;
    b->length = mlt_upcalls.procs ? mlt_upcalls.procs(w, b->procs, sizeof b->procs) : 0;
    bool told = b->length > 0 && w->boot->ctl < 0; // with the processes
    int64_t running = 0;
    for (uint32_t i = 0; i < w->count && !told; i++) {
        const mlt_rank *rank = &w->ranks[i];
        if (rank->ended || !rank->fiber || rank->fiber->state == MLT_FIBER_ENDED)
            next_wait(b, rank)->ended = 1;
        else if (w->sched->gate && w->sched->solo)
            running += !add_threads(b, rank, w->sched->gate);
        else if (w->sched->delegates)
            running += !add_delegates(b, rank, w->sched->delegates);
        else if (is_parked(rank->fiber))
            add_parked(b, rank, rank->fiber->wait);
        else
            running++;
        add_held(b, rank);
    }
    send_batch(b);
    send_procs(b);
    send_jobs(w);
    free(b);
    if (w->boot->ctl < 0)
        return;
    mlt_ctl end = {
        .type = MLT_CTL_WAITS_END, .rank = MLT_CTL_NO_RANK, .value = running, .detail = w->index};
    (void)mlt_ctl_send(w->boot->ctl, &end, NULL);
}
