// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/ledger.h"
#include "coll/level.h"
#include "coll/path.h"
#include "coll/where.h"
#include "fiber/policy.h"
#include "os/apart.h"
#include "p2p/kind.h"

enum { FIRST_CALLS = 8 };

// A call of a worker of several ranks: from the first that joins until all are done.
struct mlt_team_call {
    mlt_team *team;
    union {
        mlt_team_call *next; // in a pool
        mlt_list_node link;  // in fixed_calls
    };
    uint64_t number;
    bool fixed;
    mlt_status disagreed; // MLT_OK: nobody did
    uint32_t came;
    uint32_t first;     // of the ranks to come
    mlt_coll_what what; // its
    mlt_coll_op op;     // its operation
    mlt_level level;
    mlt_span span;
    mlt_instance *instance;
    mlt_req run;                   // of the schedule
    struct mlt_stand_in *stand_in; // NULL: none
    mlt_arrival at[];
};

// ---- memory for calls

// A record has 24 bytes for each rank of the worker, which may have a million. So the teams of a worker
// that have as many of its ranks share what is free: most are in no call most of the time.
typedef struct mlt_call_pool {
    struct mlt_call_pool *next; // of the worker
    mlt_team_call *free;
    uint32_t present; // ranks of a call
    uint32_t users;   // teams, and calls that are ending
} mlt_call_pool;

static mlt_call_pool *pool_hold(mlt_worker *worker, uint32_t present)
{
    mlt_call_pool *pool = worker->calls;
    while (pool && pool->present != present)
        pool = pool->next;
    if (!pool) {
        pool = mlt_os_apart_new(sizeof *pool);
        *pool = (mlt_call_pool){.next = worker->calls, .present = present};
        worker->calls = pool;
    }
    pool->users++;
    return pool;
}

static void pool_trim(mlt_call_pool *pool, uint32_t kept)
{
    mlt_team_call **at = &pool->free, *c;
    while (*at && kept-- > 0)
        at = &(*at)->next;
    while ((c = *at)) {
        *at = c->next;
        mlt_os_apart_free(c);
    }
}

static MLT_COLD void pool_free(mlt_worker *worker, mlt_call_pool *pool)
{
    mlt_call_pool *before = worker->calls;
    if (before == pool)
        worker->calls = pool->next;
    else {
        while (before->next != pool)
            before = before->next;
        before->next = pool->next;
    }
    pool_trim(pool, 0);
    mlt_os_apart_free(pool);
}

static inline void pool_drop(mlt_worker *worker, mlt_call_pool *pool)
{
    if (MLT_UNLIKELY(--pool->users == 0))
        pool_free(worker, pool);
}

static mlt_team_call *call_take(mlt_team *t)
{
    mlt_team_call *c = t->calls->free;
    if (MLT_UNLIKELY(!c))
        c = mlt_os_apart_new(sizeof *c + t->present * sizeof *c->at);
    else
        t->calls->free = c->next;
    c->team = t;
    c->came = 0;
    c->disagreed = MLT_OK;
    return c;
}

static inline void call_give(mlt_call_pool *pool, mlt_team_call *c)
{
    c->next = pool->free;
    pool->free = c;
}

// ---- teams

static uint32_t worker_of(const void *team, uint32_t place)
{
    return mlt_team_worker_of(team, place);
}

// Of a flat team it is not worth looking at every rank.
static mlt_coll_reach reach_of(const mlt_team *t)
{
    mlt_job *job = t->worker->boot->job;
    if (t->flat || job->procs == 1)
        return job->procs > 1 ? MLT_REACH_HOST : MLT_REACH_PROCESS;
    uint32_t own = mlt_job_location_at(job, t->worker->index)->proc;
    for (uint32_t w = 0; w < t->workers; w++) // all are of this host, and so of this job
        if (mlt_job_location_at(job, mlt_team_worker_of(t, w))->proc != own)
            return MLT_REACH_HOST;
    return MLT_REACH_PROCESS;
}

static void locate(mlt_team *t, const mlt_team_facts *f)
{
    t->hosts = f->hosts;
    if (!t->hosts)
        t->hosts = t->own_hosts = mlt_coll_locate(t->worker, t->workers, worker_of, t);
    t->reach = (uint8_t)(t->hosts ? MLT_REACH_NETWORK : reach_of(t));
    t->crowded = f->crowded && !t->hosts;
    t->reads = f->reads && t->reach == MLT_REACH_HOST;
}

// The ranks of its workers.
static void take_workers(mlt_team *t, const mlt_team_worker *from)
{
    mlt_team_worker *at = mlt_os_apart_new(t->workers * sizeof *at);
    memcpy(at, from, t->workers * sizeof *at);
    t->at = at;
    t->present = at[t->place].present;
    t->first = at[t->place].first;
    for (uint32_t w = 0; w < t->workers; w++)
        t->even = t->even && at[w].present == t->present;
    t->mask = FIRST_CALLS - 1;
    t->ring = mlt_os_apart_new(FIRST_CALLS * sizeof(mlt_team_call *));
    t->calls = pool_hold(t->worker, t->present);
}

mlt_team *mlt_team_new(const mlt_team_facts *f)
{
    mlt_team *t = mlt_os_apart_new(sizeof *t);
    *t = (mlt_team){
        .worker = f->worker,
        .ranks = f->ranks,
        .workers = f->workers,
        .place = f->place,
        .present = 1,
        .first = f->place,
        .flat = f->flat,
        .contiguous = f->contiguous,
        .even = true,
        .reproducible = f->reproducible,
        .combines = f->combines,
        .apart = f->apart,
        .watched = f->watched,
        .ordinary = f->ordinary,
        .fixed = f->fixed,
        .sources = f->sources,
        .ledger = f->ledger,
        .member = f->member ? f->member : "rank",
    };
    t->fixed.wide = true; // persistent calls start in any order
    if (f->at)
        take_workers(t, f->at);
    locate(t, f);
    mlt_plans_init(&t->plans);
    mlt_team_rename(t, f->name);
    mlt_list_init(&t->fixed_calls);
    mlt_team_refresh(t);
    return t;
}

void mlt_team_refresh(mlt_team *t)
{
    const mlt_coll_sources *s = t->sources;
    t->simple = t->contiguous && !t->reproducible && !t->apart && !s->forced && !s->own &&
                !s->own_rulebook && !s->rulebook;
    mlt_plans_forget(&t->plans);
    mlt_paths_refresh(t);
}

void mlt_team_rename(mlt_team *t, const char *name)
{
    if (t->name && strcmp(t->name, name) == 0)
        return; // another rank of the worker has said so before
    char *copy = mlt_xcalloc(strlen(name) + 1, 1);
    strcpy(copy, name);
    if (t->plans.count)
        mlt_plans_forget(&t->plans); // told by the old name
    mlt_paths_tell(t);
    free(t->name);
    t->name = copy;
    mlt_paths_refresh(t);
}

void mlt_team_tell(mlt_team *t)
{
    MLT_LIST_EACH(mlt_plan, plan, &t->plans.all, link) {
        mlt_ledger_note_plan(t->ledger, t, plan);
        plan->runs = 0;
    }
    mlt_paths_tell(t);
}

bool mlt_team_is_idle(const mlt_team *t)
{
    for (uint64_t i = 0; t->ring && i <= t->mask; i++)
        if (t->ring[i])
            return false;
    MLT_LIST_EACH(const mlt_team_call, c, &t->fixed_calls, link)
        if (c->came)
            return false;
    return mlt_plans_are_idle(&t->plans);
}

void mlt_team_free(mlt_team *t)
{
    if (!t)
        return;
    mlt_assert(mlt_team_is_idle(t));
    MLT_LIST_EACH_SAFE(mlt_team_call, c, &t->fixed_calls, link)
        mlt_os_apart_free(c);
    if (t->calls) {
        pool_trim(t->calls, 1); // for the teams that stay, however many there were at a time
        pool_drop(t->worker, t->calls);
    }
    mlt_plans_fini(&t->plans);
    mlt_paths_free(t);
    mlt_coll_hosts_free(t->own_hosts);
    free(t->told_far);
    mlt_os_apart_free((void *)(uintptr_t)t->at);
    mlt_os_apart_free(t->ring);
    free(t->name);
    mlt_os_apart_free(t);
}

// True if the ranks of a worker can combine only if they follow each other: where blocks or
// operands have an order, or a root must be found.
static bool order_matters(const mlt_team *t, const mlt_coll_what *what)
{
    switch ((mlt_collective)what->collective) {
    case MLT_COLL_BARRIER:
        return false;
    case MLT_COLL_ALLREDUCE:
        return !what->op->commutes || mlt_path_keeps_order(t, what);
    default:
        return true;
    }
}

bool mlt_team_wants_flat(mlt_team *t, const mlt_coll_what *what)
{
    if (what->emit || what->parts || (t->apart && !what->plain) || mlt_path_is_flat(t, what) ||
        (!t->contiguous && order_matters(t, what)) ||
        (t->reproducible && mlt_collective_reduces((mlt_collective)what->collective)))
        return true;
    if (t->simple)
        return false; // no built-in rule says so
    const mlt_plan *plan = mlt_plan_of(t, what, t->why, sizeof t->why);
    return plan && plan->flat;
}

// ---- calls

static MLT_COLD void ring_grow(mlt_team *t)
{
    uint64_t mask = 2 * t->mask + 1;
    mlt_team_call **ring = mlt_os_apart_new((mask + 1) * sizeof *ring);
    for (uint64_t i = 0; i <= t->mask; i++)
        if (t->ring[i])
            ring[t->ring[i]->number & mask] = t->ring[i];
    mlt_os_apart_free(t->ring);
    t->ring = ring;
    t->mask = mask;
}

static inline __attribute__((always_inline)) mlt_team_call *open_ordinary(mlt_team *t,
                                                                          uint64_t number)
{
    for (;;) {
        mlt_team_call **slot = &t->ring[number & t->mask];
        if (MLT_LIKELY(*slot != NULL) && MLT_LIKELY((*slot)->number == number))
            return *slot;
        if (!*slot) {
            mlt_team_call *c = call_take(t);
            c->number = number;
            c->fixed = false;
            *slot = c;
            return c;
        }
        ring_grow(t);
    }
}

static MLT_COLD mlt_team_call *open_fixed(mlt_team *t, uint64_t number)
{
    MLT_LIST_EACH(mlt_team_call, c, &t->fixed_calls, link)
        if (c->number == number)
            return c;
    mlt_team_call *c = call_take(t);
    c->number = number;
    c->fixed = true;
    mlt_list_push_back(&t->fixed_calls, &c->link);
    return c;
}

void mlt_team_forget(mlt_team *t, uint64_t number)
{
    MLT_LIST_EACH(mlt_team_call, c, &t->fixed_calls, link) {
        if (c->number != number)
            continue;
        mlt_list_remove(&c->link);
        call_give(t->calls, c);
        return;
    }
}

static const mlt_team_call *find_call(const mlt_team *t, uint64_t number, bool fixed)
{
    if (!fixed) {
        const mlt_team_call *c = t->ring[number & t->mask];
        return c && c->number == number ? c : NULL;
    }
    MLT_LIST_EACH(const mlt_team_call, c, &t->fixed_calls, link)
        if (c->number == number)
            return c;
    return NULL;
}

bool mlt_team_look(const mlt_team *t, uint64_t number, bool fixed, uint32_t *missing,
                   int32_t *awaits)
{
    const mlt_team_call *c = t->at ? find_call(t, number, fixed) : NULL;
    *missing = c ? t->present - c->came : 0;
    *awaits = mlt_plans_awaits(&t->plans, number, fixed);
    return c || *awaits >= 0;
}

// A call of mlt_team_meet that failed for a rank.
struct mlt_team_failure {
    struct mlt_team_failure *next;
    uint64_t number;
    mlt_status status;
};

static MLT_COLD void note_failure(mlt_team *t, uint64_t number, mlt_status status)
{
    struct mlt_team_failure *f = mlt_xcalloc(1, sizeof *f);
    *f = (struct mlt_team_failure){t->failures, number, status};
    t->failures = f;
}

mlt_status mlt_team_met_badly(mlt_team *t, uint64_t number)
{
    for (struct mlt_team_failure **at = &t->failures, *f; (f = *at); at = &f->next)
        if (f->number == number) { // one for each rank that asks
            mlt_status status = f->status;
            *at = f->next;
            free(f);
            return status;
        }
    return MLT_OK;
}

// The rank is woken, or is the one that runs.
static inline void team_release(mlt_team *t, mlt_sched *sched, mlt_fiber *fiber, uint64_t number,
                                mlt_status status)
{
    if (MLT_UNLIKELY(status != MLT_OK))
        note_failure(t, number, status);
    if (fiber->state == MLT_FIBER_RUNNING)
        t->at_once = true;
    else if (MLT_LIKELY(sched->plain && fiber->state == MLT_FIBER_PARKED))
        mlt_policy_wake_plain(sched, fiber);
    else
        mlt_fiber_wake(sched, fiber);
}

// The call is over. Its requests go last: what completes one may free the communicator, and with it
// the team, or begin a call of another team, which must not get this record yet.
static void finish(mlt_team_call *c, mlt_status status)
{
    mlt_team *t = c->team;
    mlt_worker *worker = t->worker;
    mlt_call_pool *pool = c->fixed ? NULL : t->calls;
    uint32_t present = t->present;
    c->came = 0;
    if (MLT_UNLIKELY(c->span.path != NULL))
        mlt_span_close(&c->span, t, &c->what, c->number);
    if (pool) {
        t->ring[c->number & t->mask] = NULL;
        pool->users++;
    }
    for (uint32_t i = 0; i < present; i++) {
        uintptr_t who = c->at[i].who;
        if (MLT_LIKELY(who & MLT_ARRIVAL_FIBER)) {
            uintptr_t fiber = who & ~(uintptr_t)(MLT_ARRIVAL_FIBER | MLT_ARRIVAL_SMALL);
            team_release(t, worker->sched, (mlt_fiber *)fiber, c->number, status);
        } else {
            mlt_req *req = (mlt_req *)who;
            req->status = status;
            mlt_req_complete(req);
        }
    }
    if (pool) {
        call_give(pool, c);
        pool_drop(worker, pool);
    }
}

static void exchanged(mlt_req *run)
{
    mlt_team_call *c = mlt_container_of(run, mlt_team_call, run);
    if (MLT_UNLIKELY(c->span.path != NULL)) {
        c->span.exchanged_ns = mlt_span_stamp(&c->span);
        if (run->status == MLT_OK)
            mlt_span_alter(&c->span, c->team, &c->what, &c->level, MLT_ALTER_RESULT);
    }
    if (run->status == MLT_OK)
        mlt_level_spread(&c->level);
    finish(c, run->status);
}

static void run_schedule(mlt_team_call *c, mlt_instance *i, const mlt_coll_what *what,
                         const void *in, void *out, void (*done)(mlt_req *))
{
    mlt_team *t = c->team;
    mlt_req_init(&c->run, t->ordinary.rank, MLT_REQ_OTHER);
    c->run.on_done = done;
    mlt_instance_start(i, what, in, out, c->number, c->fixed, &c->run);
}

static void team_exchange(mlt_team_call *c)
{
    run_schedule(c, c->instance, &c->what, c->level.in, c->level.out, exchanged);
}

static inline void share(mlt_team_call *c)
{
    mlt_level_spread(&c->level);
    mlt_instance_give(c->instance);
    finish(c, MLT_OK);
}

// The ranks have combined, and the call has a path.
static MLT_COLD void go_on_by_path(mlt_team_call *c)
{
    if (c->team->workers > 1) {
        team_exchange(c);
        return;
    }
    mlt_span_alter(&c->span, c->team, &c->what, &c->level, MLT_ALTER_RESULT);
    share(c);
}

static void delayed(mlt_work *work)
{
    mlt_team_call *c = mlt_container_of(work, mlt_team_call, span.work);
    if (mlt_span_waited(&c->span, c->team))
        go_on_by_path(c);
}

// ---- calls that ranks of the worker do not agree about

// Memory instead of the ranks' buffers, and the message: a fault of the run would have another.
struct mlt_stand_in {
    char why[sizeof((mlt_team *)0)->why];
    unsigned char bytes[];
};

static void given_up(mlt_req *run)
{
    mlt_team_call *c = mlt_container_of(run, mlt_team_call, run);
    memcpy(c->team->why, c->stand_in->why, sizeof c->stand_in->why);
    free(c->stand_in);
    c->stand_in = NULL;
    finish(c, c->disagreed);
}

static void compute_nothing(void *arg, const mlt_run_operands *operands)
{
    (void)arg, (void)operands;
}

// Other workers must not wait for ever: the schedule runs on other memory, which no function of the
// user's sees.
static MLT_COLD void give_up(mlt_team_call *c)
{
    mlt_team *t = c->team;
    char why[sizeof t->why];
    mlt_plan *plan = t->workers > 1 ? mlt_plan_of(t, &c->what, why, sizeof why) : NULL;
    if (!plan || !plan->sched) {
        finish(c, c->disagreed);
        return;
    }
    const mlt_goal_sched_buffer *buffer = plan->sched->buffer;
    uint64_t in = plan->in >= 0 ? (buffer[plan->in].size + 63) & ~63ull : 0;
    uint64_t out = plan->out >= 0 ? buffer[plan->out].size : 0;
    c->stand_in = mlt_xcalloc(sizeof *c->stand_in + in + out, 1);
    memcpy(c->stand_in->why, t->why, sizeof t->why);
    mlt_coll_what what = c->what;
    mlt_coll_op op;
    if (what.op) {
        op = *what.op;
        op.function = compute_nothing;
        what.op = &op;
    }
    unsigned char *bytes = c->stand_in->bytes;
    run_schedule(c, mlt_instance_take(t, plan), &what, bytes, bytes + in, given_up);
}

// The path has another operation between the workers: c->op becomes it, and *combining the one for
// the ranks of the worker.
static MLT_COLD bool take_other_op(mlt_team_call *c, mlt_coll_op *combining)
{
    mlt_coll_op other;
    if (!mlt_span_op(&c->span, &c->what, &other))
        return false;
    mlt_coll_op_copy(combining, &c->op);
    mlt_coll_op_copy(&c->op, &other);
    return true;
}

// What the ranks have brought, combined by `op` instead of the call's own (NULL: the call's). False:
// there is no plan, and the call has ended.
static inline __attribute__((always_inline)) bool combine_ranks(mlt_team_call *c,
                                                                const mlt_coll_op *op)
{
    mlt_team *t = c->team;
    mlt_plan *plan = mlt_plan_of(t, &c->what, t->why, sizeof t->why);
    if (MLT_UNLIKELY(!plan)) {
        finish(c, MLT_ERR_UNSUPPORTED);
        return false;
    }
    mlt_instance *i = mlt_instance_take(t, plan);
    c->level = (mlt_level){.team = t,
                           .what = &c->what,
                           .at = c->at,
                           .acc = i->memory ? i->memory + plan->acc_at : 0,
                           .result = t->result};
    c->instance = i;
    if (op)
        c->what.op = op;
    mlt_level_combine(&c->level);
    return true;
}

static MLT_COLD void begin_by_path(mlt_team_call *c)
{
    mlt_team *t = c->team;
    c->span.all_ns = mlt_span_stamp(&c->span);
    if (c->disagreed != MLT_OK) {
        give_up(c);
        return;
    }
    mlt_coll_op combining;
    if (!combine_ranks(c, take_other_op(c, &combining) ? &combining : NULL))
        return;
    c->what.op = c->what.op ? &c->op : NULL;
    mlt_span_alter(&c->span, t, &c->what, &c->level, MLT_ALTER_OPERAND);
    c->span.combined_ns = mlt_span_stamp(&c->span);
    const mlt_coll_alg *alg = c->instance->plan->choice.alg;
    c->span.alg = alg ? alg->name : NULL;
    if (!mlt_span_waits(&c->span, t, delayed))
        go_on_by_path(c);
}

// All ranks of the worker are there.
static void team_begin(mlt_team_call *c)
{
    if (MLT_UNLIKELY(c->span.path != NULL)) {
        begin_by_path(c);
        return;
    }
    if (MLT_UNLIKELY(c->disagreed != MLT_OK)) {
        give_up(c);
        return;
    }
    if (!combine_ranks(c, NULL))
        return;
    if (c->team->workers == 1)
        share(c);
    else
        team_exchange(c);
}

// Blocks that differ: all of them together, and the one that the rank brings or gets. Nobody writes
// beyond a buffer then.
static MLT_COLD bool starts_agree(const uint64_t *a, const uint64_t *b, uint32_t ranks,
                                  uint32_t rank)
{
    if (!a || !b)
        return a == b;
    return a[ranks] == b[ranks] && a[rank] == b[rank] && a[rank + 1] == b[rank + 1];
}

static inline bool agrees(const mlt_team *t, uint32_t local, const mlt_coll_what *a,
                          const mlt_coll_what *b)
{
    const mlt_coll_op *p = a->op, *q = b->op;
    return a->collective == b->collective && a->root == b->root && a->count == b->count &&
           a->element == b->element && a->kind == b->kind &&
           (MLT_LIKELY(a->starts == b->starts) ||
            starts_agree(a->starts, b->starts, t->ranks, t->first + local)) &&
           (p == q || (p && q && mlt_coll_op_same(p, q)));
}

// Predefined operations on signed and on unsigned numbers may meet (callsig.h).
static bool ops_fit(const mlt_coll_op *p, const mlt_coll_op *q)
{
    return p == q || (p && q && (mlt_coll_op_same(p, q) || (p->op != MLT_OPS && p->op == q->op)));
}

// True if nothing is wrong but the kinds of data: a note, unless that is an error.
static bool differs_in_kind(mlt_team_call *c, const mlt_coll_callsig *own,
                            const mlt_coll_callsig *first, const mlt_coll_what *what,
                            const char *who)
{
    if (!ops_fit(c->what.op, what->op))
        return false;
    mlt_coll_callsigs same = mlt_coll_callsigs_compare(own, first);
    if (same == MLT_CLAIMS_KIND && !mlt_kind_is_error())
        mlt_coll_callsig_note_kinds(c->team, first, own, who);
    return same == MLT_CLAIMS_AGREE || (same == MLT_CLAIMS_KIND && !mlt_kind_is_error());
}

// "a rank" if its place in the worker does not tell which.
static void name_local(const mlt_team *t, uint32_t local, char *text, size_t size)
{
    if (t->contiguous)
        snprintf(text, size, "%s %u", t->member, t->first + local);
    else
        snprintf(text, size, "a %s", t->member);
}

static MLT_COLD void differ(mlt_team_call *c, uint32_t local, const mlt_coll_what *what)
{
    mlt_team *t = c->team;
    char who[2][32];
    mlt_coll_callsig own = mlt_coll_callsig_of(t, what, false),
                     first = mlt_coll_callsig_of(t, &c->what, false);
    bool starts = what->starts != c->what.starts &&
                  !starts_agree(c->what.starts, what->starts, t->ranks, t->first + local);
    name_local(t, local, who[0], sizeof who[0]);
    name_local(t, c->first, who[1], sizeof who[1]);
    if (!starts && differs_in_kind(c, &own, &first, what, who[0]))
        return;
    bool sized = !starts && own.count * own.element == first.count * first.element;
    c->disagreed = sized ? MLT_ERR_DISAGREE : MLT_ERR_INVALID;
    mlt_coll_callsigs_tell(t, who[0], &own, who[1], &first, t->why, sizeof t->why);
}

static inline __attribute__((always_inline)) mlt_team_call *open_call(mlt_team *t, uint64_t number,
                                                                      bool fixed)
{
    return MLT_UNLIKELY(fixed) ? open_fixed(t, number) : open_ordinary(t, number);
}

// Its arrival is filled in. Inlined into its callers, as open_call is: the stack of a rank that has
// just been woken is cold below its frames, and each further frame costs a cache miss. That doubles
// the time of a barrier of thousands of ranks.
static inline __attribute__((always_inline)) void join_level(mlt_team_call *c, uint32_t local,
                                                             const mlt_coll_what *what)
{
    mlt_team *t = c->team;
    if (c->came == 0) {
        c->what = *what;
        if (what->op) {
            mlt_coll_op_copy(&c->op, what->op);
            c->what.op = &c->op;
        }
        c->first = local;
        c->span.path = mlt_path_of(t, what);
        if (MLT_UNLIKELY(c->span.path != NULL))
            mlt_span_open(&c->span, t, what);
    } else if (MLT_UNLIKELY(!agrees(t, local, &c->what, what)))
        differ(c, local, what);
    if (++c->came == t->present)
        team_begin(c);
}

// Where blocks are alike: if this is true, `agrees` is.
static inline bool team_says_same(const mlt_coll_what *a, const mlt_coll_what *b)
{
    enum { HEAD = offsetof(mlt_coll_what, starts) };
    _Static_assert(HEAD == 24, "collective, kind, root, element and count, without a gap");
    return memcmp(a, b, HEAD) == 0 && (a->op == b->op || (a->op && mlt_coll_op_same(a->op, b->op)));
}

// The call that a rank comes to, if that rank is neither the first nor the last, and says what the
// first has said; else NULL. Most ranks do: they need no frame.
static inline mlt_team_call *find_between(mlt_team *t, uint64_t number, const mlt_coll_what *what)
{
    mlt_team_call *c = t->ring[number & t->mask];
    return c && c->number == number && c->came + 1 != t->present && team_says_same(&c->what, what)
               ? c
               : NULL;
}

static __attribute__((noinline)) mlt_status
meet_otherwise(mlt_team *t, uint64_t number, uint32_t local, const mlt_coll_what *what,
               const void *in, void *out, mlt_fiber *fiber)
{
    t->at_once = false;
    mlt_team_call *c = open_call(t, number, false);
    c->at[local] = (mlt_arrival){.in = in, .out = out, .who = (uintptr_t)fiber + MLT_ARRIVAL_FIBER};
    join_level(c, local, what);
    return t->at_once ? mlt_team_met(t, number) : MLT_PENDING;
}

mlt_status mlt_team_meet(mlt_team *t, uint64_t number, uint32_t local, const mlt_coll_what *what,
                         const void *in, void *out, mlt_fiber *fiber)
{
    mlt_team_call *c = find_between(t, number, what);
    if (!c || c->what.starts || what->starts)
        return meet_otherwise(t, number, local, what, in, out, fiber);
    c->came++;
    c->at[local] = (mlt_arrival){.in = in, .out = out, .who = (uintptr_t)fiber + MLT_ARRIVAL_FIBER};
    return MLT_PENDING;
}

// ---- small operands

// Straight into the call's memory: a record that is made on the stack first would be read from
// there, and the stack is cold below the frames of a rank that has just been woken.
static inline void arrive_small(const mlt_team *t, mlt_team_call *c, uint32_t local,
                                const mlt_coll_what *what, const void *in, const void *out,
                                mlt_fiber *fiber)
{
    mlt_arrival *a = &c->at[local];
    a->who = (uintptr_t)fiber + (MLT_ARRIVAL_FIBER | MLT_ARRIVAL_SMALL);
    if (what->collective != MLT_COLL_BCAST || t->first + local == what->root)
        mlt_copy_small(a->small, in ? in : out, what->count * what->element);
}

static __attribute__((noinline)) mlt_status
meet_small_otherwise(mlt_team *t, uint64_t number, uint32_t local, const mlt_coll_what *what,
                     const void *in, void *out, mlt_fiber *fiber)
{
    t->at_once = false;
    mlt_team_call *c = open_call(t, number, false);
    arrive_small(t, c, local, what, in, out, fiber);
    join_level(c, local, what);
    if (!t->at_once)
        return MLT_PENDING;
    mlt_status status = mlt_team_met(t, number);
    if (MLT_LIKELY(status == MLT_OK))
        mlt_team_fetch(t, out, mlt_team_fetches(t, local, what));
    return status;
}

mlt_status mlt_team_meet_small(mlt_team *t, uint64_t number, uint32_t local,
                               const mlt_coll_what *what, const void *in, void *out,
                               mlt_fiber *fiber)
{
    mlt_team_call *c = find_between(t, number, what);
    if (!c)
        return meet_small_otherwise(t, number, local, what, in, out, fiber);
    c->came++;
    arrive_small(t, c, local, what, in, out, fiber);
    return MLT_PENDING;
}

void mlt_team_join(mlt_team *t, uint64_t number, bool fixed, uint32_t local,
                   const mlt_coll_what *what, const void *in, void *out, mlt_req *done)
{
    if (t->at) {
        mlt_team_call *c = open_call(t, number, fixed);
        c->at[local] = (mlt_arrival){.in = in, .out = out, .who = (uintptr_t)done};
        join_level(c, local, what);
        return;
    }
    mlt_coll_what own = *what;
    if (what->collective == MLT_COLL_GATHER || what->collective == MLT_COLL_REDUCE)
        own.in_place = what->root == t->place && !in;
    else if (what->collective == MLT_COLL_SCATTER)
        own.in_place = what->root == t->place && !out;
    mlt_plan *plan = mlt_plan_of(t, &own, t->why, sizeof t->why);
    if (MLT_UNLIKELY(!plan)) {
        done->status = MLT_ERR_UNSUPPORTED;
        mlt_req_complete(done);
        return;
    }
    mlt_instance_start(mlt_instance_take(t, plan), &own, in, out, number, fixed, done);
}
