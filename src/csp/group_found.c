// SPDX-License-Identifier: BSD-3-Clause
// Founding of groups, their rules, and their end.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/export.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "boot/job.h"
#include "coll/choice.h"
#include "coll/ledger.h"
#include "coll/settings.h"
#include "csp/group.h"
#include "csp/intercept.h"
#include "csp/net/route.h"
#include "csp/wait.h"
#include "p2p/context.h"
#include "p2p/live.h"
#include "p2p/worker.h"

// A worker's.
struct mlt_csp_groups {
    uint64_t *founded;    // [ranks of the worker]: groups of all nodes that it has begun to found
    mlt_list_node views;  // csp_group.node
    mlt_list_node bodies; // mlt_csp_body.node
    mlt_list_node foundings; // under way: founding.node
    mlt_team *workers;       // of all workers of the job, a member each; NULL: there is one only
    mlt_coll_sources no;     // rules: none
    mlt_coll_rule *forced;   // what the job forces; NULL: nothing
    uint32_t forced_count;
    mlt_ledger ledger;
};

// A group of all nodes on its way: from the first rank of the worker that comes until all have
// gone.
typedef struct founding {
    mlt_list_node node;
    uint64_t number;
    uint32_t came, gone;
    mlt_csp_body *body;  // NULL: not yet
    uint32_t size;       // of all nodes
    uint32_t *members;   // [ranks of the worker]: how many; then the first of them
    mlt_fiber **waiting; // [ranks of the worker]; NULL: it does not wait
    const char *name;    // of the first one to come
} founding;

// What workers tell each other of one.
typedef struct share {
    uint32_t members;
    uint32_t speaker; // which of its ranks has the first of them
    uint32_t name;    // a hash
} share;

// ---- what a worker keeps

static struct mlt_csp_groups *groups_of(mlt_csp *csp)
{
    struct mlt_csp_groups *g = csp->groups;
    if (MLT_LIKELY(g != NULL))
        return g;
    const mlt_job *job = csp->worker->boot->job;
    g = csp->groups = mlt_xcalloc(1, sizeof *g);
    g->founded = mlt_xcalloc(csp->worker->count, sizeof *g->founded);
    mlt_list_init(&g->views);
    mlt_list_init(&g->bodies);
    mlt_list_init(&g->foundings);
    mlt_ledger_init(&g->ledger);
    mlt_coll_rulebook *rulebook = csp->worker->rulebook;
    g->ledger.shown = mlt_live_here();
    g->ledger.measures = mlt_coll_conf_now.paths;
    g->ledger.choices = job->profile || g->ledger.measures || (rulebook && rulebook->paths_count);
    char why[512];
    const char *force = mlt_coll_conf_now.force;
    if (force && force[0] && // if it is wrong, MPI's side has said so
        mlt_coll_force_parse(force, rulebook, &g->forced, why, sizeof why) == MLT_OK)
        while (g->forced[g->forced_count].alg)
            g->forced_count++;
    return g;
}

// ---- teams

static int32_t speaker(const void *at, int32_t place)
{
    return ((const mlt_team_worker *)at)[place].speaker;
}

// True if the speakers are base + place * stride.
static bool is_linear(const mlt_team_worker *at, uint32_t workers, int32_t *base, int32_t *stride)
{
    *base = at[0].speaker;
    *stride = workers > 1 ? at[1].speaker - at[0].speaker : 1;
    for (uint32_t w = 2; w < workers; w++)
        if (at[w].speaker != *base + (int32_t)w * *stride)
            return false;
    return true;
}

static mlt_team *make_team(mlt_csp *csp, const mlt_team_worker *at, uint32_t workers,
                           uint32_t place, const mlt_coll_sources *sources, uint32_t context,
                           const char *name)
{
    mlt_worker *w = csp->worker;
    mlt_team_facts f = {
        .worker = w,
        .ranks = at[workers - 1].first + at[workers - 1].present,
        .workers = workers,
        .place = place,
        .at = at,
        .contiguous = true,
        .combines = true,
        .crowded = !w->boot->job->membarrier,
        .sources = sources,
        .name = name,
        .member = "member",
        .ledger = &csp->groups->ledger,
    };
    f.ordinary = (mlt_run_place){
        .rank = &w->ranks[at[place].speaker - w->first_rank],
        .context = context,
        .self = (int32_t)place,
    };
    bool linear = is_linear(at, workers, &f.ordinary.base, &f.ordinary.stride);
    if (!linear)
        f.ordinary.world = speaker;
    f.fixed = f.ordinary; // nobody uses it
    mlt_team *team = mlt_team_new(&f);
    if (!linear)
        team->ordinary.group = team->fixed.group = team->at;
    return team;
}

// The team that founds: every worker of the job is a member.
static mlt_team *all_workers(mlt_csp *csp)
{
    struct mlt_csp_groups *g = csp->groups;
    mlt_job *job = csp->worker->boot->job;
    if (g->workers || job->workers == 1)
        return g->workers;
    mlt_team_worker *at = mlt_xcalloc(job->workers, sizeof *at);
    for (uint32_t w = 0; w < job->workers; w++)
        at[w] = (mlt_team_worker){
            .first = w, .present = 1, .speaker = (int32_t)mlt_job_location_at(job, w)->first_rank};
    g->workers = make_team(csp, at, job->workers, csp->worker->index, &g->no, MLT_CONTEXT_CSP,
                           "all workers");
    free(at);
    return g->workers;
}

// ---- views and bodies

static csp_group *view_new(mlt_csp *csp, const char *call, const char *name, int members)
{
    if (members < 0)
        mlt_csp_fault(call, "a group of %d members", members);
    csp_group *group = mlt_xcalloc(1, sizeof *group);
    char number[32];
    if (!name) {
        snprintf(number, sizeof number, "group %llu", (unsigned long long)++csp->numbers);
        name = number;
    }
    group->csp = csp;
    group->name = mlt_xcalloc(strlen(name) + 1, 1);
    strcpy(group->name, name);
    group->wrapped = mlt_csp_has_interceptor(MLT_INTERCEPT_CSP_GROUP, name);
    group->members = (uint32_t)members;
    mlt_list_init(&group->of_body);
    mlt_list_push_back(&groups_of(csp)->views, &group->node);
    return group;
}

static void view_free(csp_group *group)
{
    mlt_list_remove(&group->node);
    mlt_list_remove(&group->of_body);
    free(group->name);
    free(group->calls);
    mlt_csp *csp = group->csp;
    *group = (csp_group){0};
    mlt_csp_bury(csp, group);
}

// The job's rules, then the group's own.
static void set_rules(const struct mlt_csp_groups *g, mlt_csp_body *body, const mlt_coll_rule *own,
                      uint32_t count)
{
    mlt_coll_rule *before = body->forced;
    body->forced = NULL;
    if (g->forced_count + count) {
        body->forced = mlt_xcalloc(g->forced_count + count + 1ull, sizeof *body->forced);
        if (g->forced_count)
            memcpy(body->forced, g->forced, g->forced_count * sizeof *body->forced);
        for (uint32_t r = 0; r < count; r++) {
            body->forced[g->forced_count + r] = own[r];
            body->forced[g->forced_count + r].by = "csp_group_force";
        }
    }
    body->sources.forced = body->forced;
    body->sources.generation++;
    if (body->team)
        mlt_team_refresh(body->team);
    free(before);
}

static mlt_csp_body *body_new(mlt_csp *csp, uint32_t ranks)
{
    mlt_csp_body *body = mlt_xcalloc(1, sizeof *body);
    body->refs = ranks;
    body->sources.rulebook = csp->worker->rulebook;
    mlt_list_init(&body->views);
    mlt_list_push_back(&csp->groups->bodies, &body->node);
    set_rules(csp->groups, body, NULL, 0);
    return body;
}

static void body_free(mlt_csp_body *body)
{
    mlt_list_remove(&body->node);
    mlt_team_free(body->team);
    free(body->forced);
    free(body);
}

// It is founded.
static void join_body(csp_group *group, mlt_csp_body *body)
{
    group->calls = mlt_xcalloc(group->members, sizeof *group->calls);
    group->body = body;
    group->wrapped |= body->team && body->team->paths;
    mlt_list_push_back(&body->views, &group->of_body);
}

MLT_EXPORT csp_group *csp_group_here(const char *name, int members)
{
    mlt_csp *csp = mlt_csp_enter("csp_group_here");
    csp_group *group = view_new(csp, "csp_group_here", name, members);
    mlt_csp_body *body = body_new(csp, 1);
    group->size = group->members;
    join_body(group, body);
    if (!members)
        return group;
    mlt_team_worker at = {.present = group->members, .speaker = mlt_csp_rank()->world};
    body->team = make_team(csp, &at, 1, 0, &body->sources, MLT_CONTEXT_CSP, group->name);
    return group;
}

// ---- founding

static uint32_t group_found_hash_of(const char *name)
{
    return mlt_hash_bytes(name, name ? strlen(name) : 0);
}

static founding *founding_of(mlt_csp *csp, uint64_t number, const char *name)
{
    struct mlt_csp_groups *g = csp->groups;
    MLT_LIST_EACH(founding, f, &g->foundings, node)
        if (f->number == number)
            return f;
    founding *f = mlt_xcalloc(1, sizeof *f);
    f->number = number;
    f->name = name;
    f->members = mlt_xcalloc(csp->worker->count, sizeof *f->members);
    f->waiting = mlt_xcalloc(csp->worker->count, sizeof *f->waiting);
    mlt_list_push_back(&g->foundings, &f->node);
    return f;
}

static void founding_free(founding *f)
{
    mlt_list_remove(&f->node);
    free(f->members);
    free(f->waiting);
    free(f);
}

static void park(mlt_csp *csp, const csp_group *group)
{
    mlt_csp_wait w;
    mlt_fiber_park(csp->sched, mlt_csp_wait_for(&w, "csp_group_of_nodes", MLT_CSP_GROUP, group, 0));
}

// All ranks of this worker have come. all[w]: what worker w tells.
static void tell_workers(mlt_csp *csp, const csp_group *group, const founding *f, const share *own,
                         share *all)
{
    mlt_team *team = all_workers(csp);
    if (!team) {
        *all = *own;
        return;
    }
    mlt_coll_what what = {
        .collective = MLT_COLL_ALLGATHER, .element = 1, .count = sizeof *own, .plain = true};
    mlt_status status = mlt_team_meet(team, f->number, 0, &what, own, all, csp->sched->current);
    if (status == MLT_PENDING) {
        park(csp, group);
        status = mlt_team_met(team, f->number);
    }
    if (status != MLT_OK)
        mlt_csp_fault("csp_group_of_nodes", "the nodes cannot found group '%s': %s", group->name,
                      team->why);
}

static mlt_csp_body *group_found(mlt_csp *csp, const csp_group *group, founding *f)
{
    mlt_job *job = csp->worker->boot->job;
    uint32_t ranks = csp->worker->count;
    uint64_t sum = 0;
    share own = {.speaker = ranks, .name = group_found_hash_of(f->name)};
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t members = f->members[r];
        f->members[r] = (uint32_t)sum; // how many are before it
        sum += members;
        if (members && own.speaker == ranks)
            own.speaker = r;
    }
    own.members = sum > INT_MAX ? UINT32_MAX : (uint32_t)sum;
    share *all = mlt_xcalloc(job->workers, sizeof *all);
    tell_workers(csp, group, f, &own, all);
    mlt_team_worker *at = mlt_xcalloc(job->workers, sizeof *at);
    uint32_t workers = 0, place = 0, before = 0;
    sum = 0;
    for (uint32_t w = 0; w < job->workers; w++) {
        uint32_t rank = mlt_job_location_at(job, w)->first_rank;
        if (all[w].name != own.name)
            mlt_csp_fault("csp_group_of_nodes",
                          "this is group '%s', but rank %u founds one of another name: all nodes "
                          "make their groups in the same order",
                          group->name, rank);
        if (w == csp->worker->index) {
            before = (uint32_t)sum;
            place = workers;
        }
        if (all[w].members)
            at[workers++] = (mlt_team_worker){.first = (uint32_t)sum,
                                              .present = all[w].members,
                                              .speaker = (int32_t)(rank + all[w].speaker)};
        sum += all[w].members;
        if (sum > INT_MAX)
            mlt_csp_fault("csp_group_of_nodes", "group '%s' has more than %d members", group->name,
                          INT_MAX);
    }
    for (uint32_t r = 0; r < ranks; r++)
        f->members[r] += before;
    f->size = (uint32_t)sum;
    mlt_csp_body *body = body_new(csp, ranks);
    if (own.members)
        body->team = make_team(csp, at, workers, place, &body->sources,
                               MLT_CONTEXT_CSP + 1 + (uint32_t)f->number, group->name);
    free(at);
    free(all);
    return body;
}

MLT_EXPORT csp_group *csp_group_of_nodes(const char *name, int members)
{
    const char *call = "csp_group_of_nodes";
    mlt_csp *csp = mlt_csp_enter(call);
    mlt_worker *worker = csp->worker;
    uint32_t rank = (uint32_t)(mlt_csp_rank()->world - worker->first_rank);
    csp_group *group = view_new(csp, call, name, members);
    uint64_t number = csp->groups->founded[rank]++;
    if (number >= MLT_CONTEXT_CSP_LAST - MLT_CONTEXT_CSP)
        mlt_csp_fault(call, "all numbers of groups are used up");
    founding *f = group->founding = founding_of(csp, number, name);
    if (group_found_hash_of(f->name) != group_found_hash_of(name))
        mlt_csp_fault(call,
                      "this is group '%s', but another rank founds '%s': all nodes make their "
                      "groups in the same order",
                      group->name, f->name ? f->name : "");
    f->members[rank] = (uint32_t)members;
    if (++f->came < worker->count) {
        f->waiting[rank] = csp->sched->current;
        park(csp, group);
    } else {
        f->body = group_found(csp, group, f);
        for (uint32_t r = 0; r < worker->count; r++)
            if (f->waiting[r])
                mlt_fiber_wake(csp->sched, f->waiting[r]);
    }
    mlt_assert(f->body);
    group->founding = NULL;
    group->first = f->members[rank];
    group->size = f->size;
    join_body(group, f->body);
    if (++f->gone == worker->count)
        founding_free(f);
    return group;
}

// ---- rules

MLT_EXPORT bool csp_group_force(csp_group *group, const char *what)
{
    mlt_csp *csp = mlt_csp_enter("csp_group_force");
    if (!group || group->csp != csp)
        mlt_csp_group_fault(group, "csp_group_force");
    mlt_coll_rule *rules = NULL;
    uint32_t count = 0;
    if (what && what[strspn(what, " \t")]) {
        if (mlt_coll_force_parse(what, csp->worker->rulebook, &rules, csp->why, sizeof csp->why) !=
            MLT_OK)
            return false;
        for (; rules[count].alg; count++)
            if (rules[count].flat) {
                free(rules);
                return mlt_csp_why(
                    csp, "'%s': members of a group on one worker always combine first", what);
            }
    }
    set_rules(csp->groups, group->body, rules, count);
    free(rules);
    return true;
}

// ---- the end

MLT_EXPORT void csp_group_free(csp_group *group)
{
    if (!group)
        return;
    if (group->csp != mlt_csp_enter("csp_group_free"))
        mlt_csp_group_fault(group, "csp_group_free");
    if (group->inside)
        mlt_csp_fault("csp_group_free", "%u of the members of group '%s' are in an operation of it",
                      group->inside, group->name);
    mlt_csp_body *body = group->body;
    view_free(group);
    if (--body->refs == 0)
        body_free(body);
}

void mlt_csp_groups_end(mlt_csp *csp)
{
    struct mlt_csp_groups *g = csp->groups;
    if (!g)
        return;
    bool busy = !mlt_list_empty(&g->foundings) || (g->workers && !mlt_team_is_idle(g->workers));
    MLT_LIST_EACH(const mlt_csp_body, body, &g->bodies, node) {
        if (body->team && g->ledger.choices)
            mlt_team_tell(body->team);
        busy = busy || (body->team && !mlt_team_is_idle(body->team));
    }
    mlt_ledger_send(&g->ledger, csp->worker->boot->ctl, csp->worker->index);
    csp->groups = NULL;
    if (busy)
        return; // processes that nobody waited for are inside
    MLT_LIST_DRAIN(csp_group, group, &g->views, node)
        view_free(group);
    MLT_LIST_DRAIN(mlt_csp_body, body, &g->bodies, node)
        body_free(body);
    mlt_team_free(g->workers);
    mlt_ledger_fini(&g->ledger);
    free(g->forced);
    free(g->founded);
    free(g);
}

// ---- reports

const mlt_list_node *mlt_csp_groups_views(mlt_csp *csp)
{
    return &groups_of(csp)->views;
}
