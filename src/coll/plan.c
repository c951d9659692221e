// SPDX-License-Identifier: BSD-3-Clause
#include "coll/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/upcalls.h"
#include "coll/alg/alg.h"
#include "coll/alg/hosts/stage.h"
#include "coll/ledger.h"
#include "coll/level.h"
#include "coll/team_data.h"
#include "coll/where.h"
#include "fiber/deep.h"
#include "p2p/kind.h"
#include "p2p/match.h"

// How many shapes a communicator keeps, and how much memory of those that do not run. Programs that
// go through more sizes than this in turn pay for compiling (some microseconds) again.
enum { MOST_PLANS = 64, LINE = 64 };
static const uint64_t most_bytes = 64u << 20;

enum { KEY_WORDS = sizeof(mlt_plan_key) / 8 };
_Static_assert(KEY_WORDS * 8 == sizeof(mlt_plan_key), "keys are compared word by word");
enum { IN_PLACE = 1, PLAN_COMMUTES = 2, UNEVEN = 4, PLAIN = 8 }; // mlt_plan_key.flags

// ---- keys

static uint64_t hash_bytes(const void *bytes, uint64_t count)
{
    const unsigned char *at = bytes;
    uint64_t hash = count;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mlt_hash_mix(hash, word);
    }
    for (; count; count--, at++)
        hash = mlt_hash_mix(hash, *at);
    return hash | 1;
}

static inline uint64_t starts_bytes(const mlt_team *team)
{
    return (team->ranks + 1ull) * sizeof(uint64_t);
}

// same: a plan with the very same lists (same_lists), whose hashes need not be computed again; or
// NULL.
static inline mlt_plan_key key_of(const mlt_team *team, const mlt_coll_what *what,
                                  const mlt_plan *same)
{
    mlt_plan_key key = {
        .count = what->count,
        .root = mlt_level_root(team, what->root), // all roots of a worker have one plan
        .element = what->element,
        .collective = what->collective,
        .flags = (what->in_place ? IN_PLACE : 0) | (what->plain ? PLAIN : 0),
    };
    if (what->op) {
        key.op = (uint8_t)what->op->op;
        key.type = (uint8_t)what->op->type;
        key.flags |= what->op->commutes ? PLAN_COMMUTES : 0;
    }
    if (MLT_UNLIKELY(what->starts != NULL)) {
        key.starts = same ? same->key.starts : hash_bytes(what->starts, starts_bytes(team));
        key.flags |= UNEVEN;
    }
    if (MLT_UNLIKELY(what->key_bytes > 0))
        key.custom = same ? same->key.custom : hash_bytes(what->key, what->key_bytes);
    return key;
}

// The plan's starts and key are those of the call.
static inline bool same_lists(const mlt_team *team, const mlt_plan *plan, const mlt_coll_what *what)
{
    if (MLT_UNLIKELY(!plan->starts != !what->starts || plan->custom_bytes != what->key_bytes))
        return false;
    return (MLT_LIKELY(!plan->starts) ||
            memcmp(plan->starts, what->starts, starts_bytes(team)) == 0) &&
           (MLT_LIKELY(!plan->custom) || memcmp(plan->custom, what->key, what->key_bytes) == 0);
}

static inline bool same_key(const mlt_plan_key *x, const mlt_plan_key *y)
{
    uint64_t a[KEY_WORDS], b[KEY_WORDS], differ = 0;
    memcpy(a, x, sizeof a);
    memcpy(b, y, sizeof b);
    for (int i = 0; i < KEY_WORDS; i++)
        differ |= a[i] ^ b[i];
    return !differ;
}

// ---- plans that go

static void instance_free(mlt_instance *i)
{
    mlt_run_free(i->run);
    free(i->memory);
    free(i);
}

static void plan_free(mlt_plans *plans, mlt_plan *plan)
{
    mlt_team *team = mlt_container_of(plans, mlt_team, plans);
    mlt_assert(!plan->busy);
    mlt_ledger_note_plan(team->ledger, team, plan);
    mlt_list_remove(&plan->link);
    plans->count--;
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++)
        if (plans->recent[c] == plan)
            plans->recent[c] = NULL;
    for (mlt_instance *i = plan->free, *next; i; i = next) {
        next = i->next;
        plans->bytes -= plan->memory;
        instance_free(i);
    }
    if (plan->sched)
        mlt_goal_sched_free(plan->sched);
    free(plan->starts);
    free(plan->custom);
    free(plan->at);
    free(plan->stages);
    free(plan->far);
    free(plan);
}

// Makes room for one more; those that run stay.
static void make_room(mlt_plans *plans)
{
    for (mlt_list_node *l = plans->all.prev, *before; l != &plans->all; l = before) {
        before = l->prev;
        mlt_plan *plan = mlt_container_of(l, mlt_plan, link);
        bool full = plans->count >= MOST_PLANS || plans->bytes > most_bytes;
        if (!plan->busy && (full || plan->stale))
            plan_free(plans, plan);
    }
}

void mlt_plans_forget(mlt_plans *plans)
{
    plans->generation++;
    memset(plans->recent, 0, sizeof plans->recent);
    MLT_LIST_EACH_SAFE(mlt_plan, plan, &plans->all, link) {
        plan->stale = true;
        if (!plan->busy)
            plan_free(plans, plan);
    }
}

// ---- making one

static inline bool is_rooted(const mlt_coll_what *what)
{
    return what->collective == MLT_COLL_GATHER || what->collective == MLT_COLL_SCATTER ||
           what->collective == MLT_COLL_REDUCE;
}

// Bytes of a message of the rank's lists, in the mean. Other ranks may have another answer, and
// with it another algorithm: those for lists get along with each other (coll/alg/exchange.h).
static uint64_t plan_mean_of(const mlt_goal_messages *parts)
{
    uint64_t bytes = 0, messages = (uint64_t)parts->sends + parts->recvs;
    for (uint32_t i = 0; i < parts->sends; i++)
        bytes += parts->send[i].bytes;
    for (uint32_t i = 0; i < parts->recvs; i++)
        bytes += parts->recv[i].bytes;
    return messages ? bytes / messages : 0;
}

static bool is_far(const mlt_team *team, uint32_t place)
{
    return team->hosts && team->hosts->of[place] != team->hosts->of[team->place];
}

// Of a schedule between `ranks`: the team's workers, or all its ranks.
static mlt_coll_question plan_question_of(const mlt_team *team, uint32_t ranks,
                                          const mlt_coll_what *what)
{
    uint64_t mean = what->starts ? what->starts[ranks] / ranks : what->count;
    if (what->starts && what->collective == MLT_COLL_ALLTOALL)
        mean = mean * mean * what->count; // they are weights
    if (what->parts)
        mean = plan_mean_of(what->parts);
    return (mlt_coll_question){
        .collective = (mlt_collective)what->collective,
        .ranks = ranks,
        .all_ranks = team->ranks,
        .bytes = mean * what->element,
        .op = what->op ? what->op->op : MLT_OP_COPY,
        .type = what->op && what->op->op != MLT_OPS ? what->op->type : MLT_OP_UINT8,
        .element = what->element,
        .commutes = !what->op || what->op->commutes,
        .in_place = what->in_place && !is_rooted(what), // only the root may know
        .uneven = what->starts != NULL,
        .reproducible = team->reproducible && !what->plain,
        .combines = team->combines,
        .crowded = team->crowded,
        .sharing = mlt_team_sharing(team),
        .cores = mlt_team_cores(team),
        .reach = team->reach,
        .reads = team->reads,
        // The map is one of the team's workers; of all ranks only the flat team knows more.
        .hosts = ranks == team->workers ? team->hosts : NULL,
        .comm = team->name,
    };
}

static mlt_goal_program *plan_emit(mlt_plan *plan, const mlt_team *team, const mlt_coll_what *what)
{
    mlt_goal_program *program = mlt_goal_program_new(1);
    if (what->emit)
        what->emit(what, program, team->place);
    else
        mlt_coll_emit(plan->choice.alg, &plan->shape, program, team->place);
    return program;
}

// The program is of one rank, which the compiler takes for rank `place` of so many.
static bool compile(mlt_plan *plan, const mlt_team *team, mlt_goal_program *program, char *why,
                    size_t why_size)
{
    mlt_goal_program view = *program;
    mlt_goal_sched_options options = {.window = 0};
    view.ranks = team->workers;
    view.rank = (mlt_goal_rank *)((uintptr_t)program->rank - team->place * sizeof *program->rank);
    return mlt_goal_sched_compile(&view, team->place, &options, &plan->sched, why, why_size) ==
           MLT_OK;
}

static inline uint64_t round_up(uint64_t bytes)
{
    return (bytes + LINE - 1) & ~(uint64_t)(LINE - 1);
}

static void lay_out(mlt_plan *plan)
{
    const mlt_goal_sched *sched = plan->sched;
    plan->in = plan->out = -1;
    plan->acc_at = plan->memory;
    plan->memory += round_up(plan->acc);
    plan->shadow_at = plan->memory;
    plan->memory += round_up(plan->shadow);
    plan->scratch_at = plan->memory;
    plan->memory += round_up(plan->scratch);
    if (!sched)
        return;
    plan->at = mlt_xcalloc(sched->buffers, sizeof *plan->at);
    for (uint32_t b = 0; b < sched->buffers; b++) {
        const char *name = sched->buffer[b].name;
        if (strcmp(name, "in") == 0)
            plan->in = (int32_t)b;
        else if (strcmp(name, "out") == 0 || strcmp(name, "buf") == 0)
            plan->out = (int32_t)b;
        plan->at[b] = plan->memory;
        if (plan->in != (int32_t)b && plan->out != (int32_t)b)
            plan->memory += round_up(sched->buffer[b].size);
    }
}

// An algorithm that cannot work in place is given a copy of what lies in out.
static void need_shadow(mlt_plan *plan, const mlt_team *team, const mlt_coll_what *what)
{
    if (!what->in_place || plan->shape.in_place || what->emit)
        return;
    if (is_rooted(what) && what->root != team->place)
        return; // only the root's data lies elsewhere
    bool blocks = what->collective == MLT_COLL_GATHER || what->collective == MLT_COLL_SCATTER ||
                  what->collective == MLT_COLL_ALLGATHER;
    const uint64_t *s = what->starts;
    uint64_t first = s ? s[team->place] : blocks ? team->place * what->count : 0;
    uint64_t count = s ? s[team->place + 1] - first : what->count;
    plan->shadow = count * what->element;
    plan->shadow_of = first * what->element;
}

// An algorithm of a user's is proven for exactly this shape before it runs.
static bool is_proven(const mlt_coll_sources *s, const mlt_plan *plan, char *why, size_t why_size)
{
    mlt_coll_rulebook *rulebooks[2] = {s->own_rulebook, s->rulebook};
    for (int i = 0; i < 2; i++)
        if (rulebooks[i] && rulebooks[i]->prove(rulebooks[i], plan->choice.alg, &plan->shape, why,
                                                why_size) != MLT_OK)
            return false;
    return true;
}

// True if the rules say so of a schedule between all ranks, which is what they would be asked then.
// One worker, too: it has no schedule otherwise.
static bool is_flat(mlt_team *team, const mlt_coll_what *what)
{
    if (team->simple || what->plain || what->emit || what->parts)
        return false;
    char why[512] = "";
    mlt_coll_choice choice;
    mlt_coll_question q = plan_question_of(team, team->ranks, what);
    mlt_coll_ask(team->sources, &q, &choice, why, sizeof why);
    return !why[0] && choice.flat;
}

static void *copy_of(const void *bytes, uint64_t count)
{
    void *copy = mlt_xcalloc(count, 1);
    memcpy(copy, bytes, count);
    return copy;
}

static void tell_stages(mlt_plan *plan, const mlt_team *team)
{
    char text[512];
    if (team->ledger->choices && team->place == 0 &&
        mlt_hierarchy_tell(plan->choice.alg, &plan->shape, text, sizeof text))
        plan->stages = copy_of(text, strlen(text) + 1);
}

// Whether it has messages with other hosts, and the workers of these that it sends to.
static void find_far(mlt_plan *plan, const mlt_team *team, const mlt_goal_rank *rank)
{
    if (!team->hosts)
        return;
    uint32_t workers = team->worker->boot->job->workers; // those of other jobs are not told
    uint8_t *seen = mlt_xcalloc(workers, 1);
    plan->near = true;
    for (uint32_t a = 0; a < rank->count; a++) {
        const mlt_goal_action *action = &rank->actions[a];
        if (!mlt_goal_is_message(action) || !is_far(team, (uint32_t)action->peer))
            continue;
        plan->near = false;
        uint32_t to = mlt_team_worker_of(team, (uint32_t)action->peer);
        if (action->kind != MLT_GOAL_SEND || to >= workers || seen[to]++)
            continue;
        plan->far = mlt_xrealloc(plan->far, plan->far_count + 1ull, sizeof *plan->far);
        plan->far[plan->far_count++] = to;
    }
    free(seen);
}

static void choose_tree(mlt_coll_choice *out)
{
    char why[128];
    *out = (mlt_coll_choice){.by = "MPIX_Treereduce", .why = "the program wants a tree"};
    out->alg = mlt_coll_find("reduce.binomial", why, sizeof why);
    if (!out->alg)
        mlt_fatal("%s", why);
}

// The call's path, if it says on which host the stage between hosts combines.
static const mlt_coll_path *remote_path(const mlt_team *team, const mlt_coll_what *what)
{
    const mlt_coll_sources *s = team->sources;
    const mlt_coll_path *path = NULL;
    if (!team->hosts)
        return NULL;
    path = mlt_coll_rulebook_path(s->own_rulebook, (mlt_collective)what->collective, team->name);
    if (!path)
        path = mlt_coll_rulebook_path(s->rulebook, (mlt_collective)what->collective, team->name);
    return path && mlt_coll_remote_stage(path->stages, path->count) ? path : NULL;
}

// That host as the team numbers it, and 1; 0: none of its workers is there.
static uint32_t center_of(mlt_team *team, const mlt_coll_path *path)
{
    uint32_t host = 0;
    if (!mlt_coll_host_named(mlt_coll_remote_stage(path->stages, path->count)->host, &host))
        return 0;
    for (uint32_t w = 0; w < team->workers; w++)
        if (mlt_coll_host_of(team->worker->boot->job, mlt_team_worker_of(team, w)) == host)
            return team->hosts->of[w] + 1;
    return 0;
}

static bool make_schedule(mlt_plan *plan, mlt_team *team, const mlt_coll_what *what, char *why,
                          size_t why_size)
{
    static const mlt_coll_sources built_in;
    if (!what->emit) {
        mlt_coll_question q = plan_question_of(team, team->workers, what);
        if (what->tree)
            choose_tree(&plan->choice);
        else
            mlt_coll_ask(what->plain ? &built_in : team->sources, &q, &plan->choice, why, why_size);
        if (why[0])
            return false;
        const mlt_coll_path *remote = what->plain ? NULL : remote_path(team, what);
        uint32_t center = remote ? center_of(team, remote) : 0;
        if (center)
            mlt_coll_remote(remote, &q, &plan->choice);
        q.in_place = what->in_place;
        plan->shape = mlt_coll_choice_shape(&q, &plan->choice);
        plan->shape.center = center;
        plan->shape.count = what->count;
        plan->shape.root = what->root;
        plan->shape.starts = what->starts;
        plan->shape.parts = what->parts;
        plan->flat = plan->choice.flat && !team->flat && team->at;
        need_shadow(plan, team, what);
    }
    if (plan->flat)
        return true;
    if (!what->emit && !is_proven(team->sources, plan, why, why_size))
        return false;
    if (!what->emit)
        tell_stages(plan, team);
    mlt_goal_program *program = plan_emit(plan, team, what);
    for (uint32_t a = 0; a < program->rank->count; a++) {
        const mlt_goal_action *action = &program->rank->actions[a];
        if (action->kind == MLT_GOAL_USER && action->size[0] > plan->scratch)
            plan->scratch = action->size[0];
    }
    find_far(plan, team, program->rank);
    bool fine = compile(plan, team, program, why, why_size);
    mlt_goal_program_free(program);
    plan->shape.starts = NULL; // the caller's
    plan->shape.parts = NULL;
    return fine;
}

// The place of an algorithm in mlt_coll_algs; -1: it is none of these.
static int32_t plan_place_of(const mlt_coll_alg *alg)
{
    for (int32_t i = 0; alg && mlt_coll_algs[i]; i++)
        if (mlt_coll_algs[i] == alg)
            return i;
    return -1;
}

static void tell_watcher(const mlt_team *team, const mlt_plan *plan)
{
    mlt_event event = {.kind = MLT_EVENT_PLANNED,
                       .how = plan->key.collective,
                       .algorithm = plan_place_of(plan->choice.alg),
                       .ranks = (int32_t)team->ranks,
                       .bytes = plan->said};
    if (team->worker->watched && mlt_upcalls.event && !plan->plain)
        mlt_upcalls.event(team->worker, NULL, &event);
}

static MLT_COLD mlt_plan *plan_make(mlt_team *team, const mlt_plan_key *key,
                                    const mlt_coll_what *what, char *why, size_t why_size)
{
    mlt_plans *plans = &team->plans;
    make_room(plans);
    mlt_plan *plan = mlt_xcalloc(1, sizeof *plan);
    plan->key = *key;
    plan->plain = what->plain;
    plan->said = (what->starts ? what->starts[team->ranks] : what->count) * what->element;
    if (what->starts)
        plan->starts = copy_of(what->starts, starts_bytes(team));
    if (what->key_bytes) {
        plan->custom = copy_of(what->key, what->key_bytes);
        plan->custom_bytes = what->key_bytes;
    }
    mlt_list_push_front(&plans->all, &plan->link);
    plans->count++;
    bool fine = true;
    char said[sizeof team->why] = ""; // why stays as it is unless this fails
    if (team->at) {
        uint64_t *room = mlt_xcalloc(team->workers + 1ull, sizeof *room);
        mlt_coll_what between = mlt_level_between(team, what, room);
        plan->acc = mlt_level_acc_bytes(team, what);
        plan->flat = is_flat(team, what);
        if (team->workers > 1 && !plan->flat)
            fine = make_schedule(plan, team, &between, said, sizeof said);
        free(room);
    } else {
        fine = make_schedule(plan, team, what, said, sizeof said);
    }
    if (!fine) {
        snprintf(why, why_size, "%s", said);
        plan_free(plans, plan);
        return NULL;
    }
    lay_out(plan);
    tell_watcher(team, plan);
    return plan;
}

// Takes kilobytes of a stack, which is much where ranks have 4 KiB each.
typedef struct plan_order {
    mlt_team *team;
    const mlt_plan_key *key;
    const mlt_coll_what *what;
    char *why;
    size_t why_size;
    mlt_plan *made;
} plan_order;

static void plan_deliver(void *arg)
{
    plan_order *o = arg;
    o->made = plan_make(o->team, o->key, o->what, o->why, o->why_size);
}

static MLT_COLD mlt_plan *plan_new(mlt_team *team, const mlt_plan_key *key,
                                   const mlt_coll_what *what, char *why, size_t why_size)
{
    plan_order order = {team, key, what, why, why_size, NULL};
    mlt_deep_call(team->worker ? team->worker->sched : NULL, plan_deliver, &order);
    return order.made;
}

mlt_plan *mlt_plan_of(mlt_team *team, const mlt_coll_what *what, char *why, size_t why_size)
{
    mlt_plans *plans = &team->plans;
    mlt_plan *recent = plans->recent[what->collective];
    bool same = MLT_LIKELY(recent != NULL) && MLT_LIKELY(same_lists(team, recent, what));
    mlt_plan_key key = key_of(team, what, same ? recent : NULL);
    if (same && MLT_LIKELY(same_key(&recent->key, &key)))
        return recent;
    mlt_plan *found = NULL;
    MLT_LIST_EACH(mlt_plan, plan, &plans->all, link)
        if (!plan->stale && same_key(&plan->key, &key) && same_lists(team, plan, what)) {
            found = plan;
            break;
        }
    if (!found && !(found = plan_new(team, &key, what, why, why_size)))
        return NULL;
    mlt_list_remove(&found->link);
    mlt_list_push_front(&plans->all, &found->link);
    plans->recent[what->collective] = found;
    return found;
}

// ---- instances

// "rank 4 and those of its worker"
static void name_place(const mlt_team *team, uint32_t place, char *text, size_t size)
{
    snprintf(text, size, "%s %u%s", team->member, team->at ? team->at[place].first : place,
             team->at && team->at[place].present > 1 ? " and those of its worker" : "");
}

// Both sides of a call: the one that sent a message with code `other`, and this one. False: they
// say the same, or one is not on the board.
static bool plan_tell_both(mlt_team *team, uint32_t from, uint16_t other, uint16_t own,
                           const char *when)
{
    mlt_coll_callsig theirs, mine;
    char who[2][64];
    if (other == own || !mlt_coll_callsig_find(team->worker, other, &theirs) ||
        !mlt_coll_callsig_find(team->worker, own, &mine))
        return false;
    name_place(team, from, who[0], sizeof who[0]);
    name_place(team, team->place, who[1], sizeof who[1]);
    size_t n = (size_t)snprintf(team->why, sizeof team->why, "%s", when);
    mlt_coll_callsigs_tell(team, who[0], &theirs, who[1], &mine, team->why + n,
                           sizeof team->why - n);
    return true;
}

// Only what this side says is known.
static void tell_own(mlt_team *team, uint32_t from, uint16_t own, const char *when)
{
    static const mlt_coll_callsig nothing = {.collective = MLT_COLLECTIVES};
    mlt_coll_callsig mine;
    char who[2][64], words[160] = "";
    name_place(team, from, who[0], sizeof who[0]);
    name_place(team, team->place, who[1], sizeof who[1]);
    if (mlt_coll_callsig_find(team->worker, own, &mine))
        mlt_coll_callsig_words(&mine, &nothing, NULL, words, sizeof words);
    snprintf(team->why, sizeof team->why,
             "%s%s%s is in another call, or says another root, operation or type%s%s%s%s", when,
             who[0], is_far(team, from) ? ", on another host," : "", *words ? ", but " : "",
             *words ? who[1] : "", *words ? " says " : "", words);
}

static MLT_COLD void tell_fault(mlt_team *team, const mlt_run *run)
{
    uint32_t from = (uint32_t)run->fault_from;
    char who[64];
    if (plan_tell_both(team, from, run->fault_code, run->received.code, ""))
        return;
    if (run->status == MLT_ERR_DISAGREE) {
        tell_own(team, from, run->received.code, "");
        return;
    }
    name_place(team, from, who, sizeof who);
    snprintf(team->why, sizeof team->why,
             "a message of it from %s has %llu bytes, but %llu were expected", who,
             (unsigned long long)run->fault_bytes,
             (unsigned long long)mlt_act_message_of(run->fault)->size);
}

// A message has the size but not the code that was expected.
static bool differs(mlt_run *run, const mlt_req *req)
{
    const mlt_instance *i = run->user;
    mlt_team *team = i->team;
    mlt_coll_callsig theirs, mine;
    if (!mlt_coll_callsig_find(team->worker, req->sent_type, &theirs) ||
        !mlt_coll_callsig_find(team->worker, run->received.code, &mine))
        return true;
    mlt_coll_callsigs same = mlt_coll_callsigs_compare(&theirs, &mine);
    if (same != MLT_CLAIMS_KIND)
        return same == MLT_CLAIMS_DIFFER;
    if (mlt_kind_is_error())
        return true;
    char who[64];
    name_place(team, (uint32_t)req->from, who, sizeof who);
    mlt_coll_callsig_note_kinds(team, &mine, &theirs, who);
    return false;
}

// ---- messages that no call receives

static bool is_active(const mlt_plans *plans, uint32_t number)
{
    MLT_LIST_EACH(const mlt_instance, i, &plans->active[0], active)
        if ((uint32_t)i->number % MLT_RUN_NUMBERS == number)
            return true;
    return false;
}

static inline bool is_recent(const mlt_team *team, uint32_t number)
{
    uint32_t place = number % MLT_TEAM_RECENTS;
    return team->recent[place].some && team->recent[place].number == number;
}

static inline void remember(mlt_team *team, uint32_t number, uint16_t code, bool told)
{
    team->recent[number % MLT_TEAM_RECENTS] =
        (mlt_team_recent){.number = number, .code = code, .some = true, .told = told};
}

uint32_t mlt_team_root(const mlt_team *team, uint64_t number, bool fixed)
{
    mlt_coll_callsig callsig;
    if (fixed || !is_recent(team, (uint32_t)number) ||
        !mlt_coll_callsig_find(team->worker, team->recent[number % MLT_TEAM_RECENTS].code,
                               &callsig) ||
        !mlt_coll_callsig_has_root(&callsig))
        return 0;
    return callsig.root + 1;
}

void mlt_team_refuse(mlt_team *team, uint64_t number)
{
    remember(team, (uint32_t)number, 0, true);
}

// The message is of a call that is over here, and said something else: the other side has made
// another call. (A sender that is a whole round of numbers ahead has sent messages of the calls
// between before, or says the same again.) A message that is not known here may be of a call that
// is yet to come.
static bool is_stray(const mlt_team *team, uint32_t last, const mlt_msg *msg, uint32_t *age)
{
    if (msg->context != team->ordinary.context || msg->tag >= 0)
        return false;
    uint32_t number = mlt_run_number(msg->tag);
    *age = (last - number) % MLT_RUN_NUMBERS;
    return *age < MLT_TEAM_RECENTS && is_recent(team, last - *age) &&
           team->recent[number % MLT_TEAM_RECENTS].code != msg->type &&
           !is_active(&team->plans, number);
}

static bool is_ahead(const mlt_list_node *all, const mlt_msg *msg)
{
    for (const mlt_list_node *l = msg->all.prev; l != all; l = l->prev) {
        const mlt_msg *m = mlt_container_of(l, mlt_msg, all);
        if (m->context == msg->context && m->src == msg->src)
            return true;
    }
    return false;
}

// Its sender must not wait for ever.
static void swallow(mlt_rank *rank, mlt_msg *msg)
{
    mlt_req nowhere;
    mlt_req_init(&nowhere, rank, MLT_REQ_RECV);
    mlt_req_message(&nowhere, NULL, 0, MLT_TYPE_BYTE, msg->context, 0, msg->src, msg->tag);
    mlt_match_unhold(rank, msg);
    mlt_p2p_recv_msg(&nowhere, msg);
    mlt_assert(nowhere.done);
}

static void tell_stray(mlt_instance *i, const mlt_msg *msg, uint32_t number)
{
    mlt_team *team = i->team;
    uint32_t place = number % MLT_TEAM_RECENTS;
    char when[64] = "";
    if (team->recent[place].told)
        return;
    if (number != (uint32_t)i->number)
        snprintf(when, sizeof when, "in an earlier call, number %u, ", number + 1);
    if (!plan_tell_both(team, (uint32_t)msg->src, msg->type, team->recent[place].code, when))
        tell_own(team, (uint32_t)msg->src, team->recent[place].code, when);
    i->done->status = MLT_ERR_DISAGREE;
    team->recent[place].told = true;
}

static MLT_COLD void look_for_strays(mlt_instance *i)
{
    mlt_team *team = i->team;
    mlt_rank *rank = team->ordinary.rank;
    mlt_list_node *all = &rank->unexpected.all;
    uint32_t last = (uint32_t)i->number, age;
    MLT_LIST_EACH_SAFE(mlt_msg, msg, all, all) {
        if (!is_stray(team, last, msg, &age) || is_ahead(all, msg))
            continue;
        tell_stray(i, msg, last - age);
        swallow(rank, msg);
    }
}

// Looking costs as much as there are messages, so it is not done at every call if they are many.
static inline void watch(mlt_instance *i)
{
    enum { FEW = 16 };
    uint32_t size = i->team->ordinary.rank->unexpected.size;
    if (MLT_LIKELY(!size) || !i->team->watched || i->place != &i->team->ordinary)
        return;
    if (size <= FEW || i->number % (size / FEW) == 0)
        look_for_strays(i);
}

static void ended(mlt_run *run)
{
    mlt_instance *i = run->user;
    i->team->worker->together--;
    i->team->worker->sheltered -= i->plan->near;
    mlt_list_remove(&i->active);
    if (MLT_UNLIKELY(run->status != MLT_OK)) {
        tell_fault(i->team, run);
        if (i->place == &i->team->ordinary)
            i->team->recent[i->number % MLT_TEAM_RECENTS].told = true;
    }
    watch(i);
    mlt_instance_give(i);
}

static MLT_COLD mlt_instance *instance_new(mlt_team *team, mlt_plan *plan)
{
    mlt_instance *i = mlt_xcalloc(1, sizeof *i);
    char why[256];
    *i = (mlt_instance){.plan = plan, .team = team};
    if (plan->memory && !(i->memory = aligned_alloc(LINE, plan->memory)))
        mlt_no_room("%llu bytes of a collective call", (unsigned long long)plan->memory);
    team->plans.bytes += plan->memory;
    if (!plan->sched)
        return i;
    if (mlt_run_new(plan->sched, UINT64_MAX, &i->run, why, sizeof why) != MLT_OK)
        mlt_fatal("a schedule of a collective call cannot run: %s", why);
    for (uint32_t b = 0; b < plan->sched->buffers; b++)
        i->run->base[b] = i->memory ? i->memory + plan->at[b] : NULL;
    i->run->scratch = i->memory ? i->memory + plan->scratch_at : NULL;
    i->run->user = i;
    i->run->ended = ended;
    i->run->differs = differs;
    return i;
}

mlt_instance *mlt_instance_take(mlt_team *team, mlt_plan *plan)
{
    mlt_instance *i = plan->free;
    if (MLT_LIKELY(i != NULL))
        plan->free = i->next;
    else
        i = instance_new(team, plan);
    plan->busy++;
    plan->runs++;
    return i;
}

static void start_held(mlt_work *work);

void mlt_instance_give(mlt_instance *i)
{
    mlt_plan *plan = i->plan;
    mlt_plans *plans = &i->team->plans;
    i->next = plan->free;
    plan->free = i;
    plan->busy--; // a stale one goes when the next is made: its run may be telling that it is over
    if (MLT_UNLIKELY(!mlt_list_empty(&plans->held)) && !plans->queued) {
        plans->queued = true;
        plans->work.run = start_held;
        mlt_worker_later(i->team->worker, &plans->work);
    }
}

// Numbers come again after MLT_RUN_NUMBERS: not while the older one is under way. Only for ordinary
// calls, which all ranks make in the same order. Persistent ones start in any order: a rank that
// held one back would wait for a rank that holds back another.
static inline bool may_start(mlt_plans *plans, const mlt_instance *i)
{
    mlt_list_node *oldest = plans->active[0].next;
    return MLT_LIKELY(oldest == &plans->active[0]) ||
           i->number - mlt_container_of(oldest, mlt_instance, active)->number < MLT_RUN_NUMBERS;
}

// What calls of one plan may say differently, in three words.
static inline void read_said(const mlt_coll_what *what, uint64_t said[3])
{
    memcpy(&said[0], what, sizeof said[0]); // up to the kinds
    said[1] = what->root;
    said[2] = what->op ? what->op->same : 0;
}
_Static_assert(offsetof(mlt_coll_what, kind_sent) + sizeof(uint16_t) == sizeof(uint64_t),
               "the first word has no padding, and all that a call signature says");

// Their boards are not this one. Some may take another call signature for this one and not be told, if there
// are many: then their errors say less.
static MLT_COLD void tell_far(mlt_team *team, const mlt_plan *plan, const mlt_coll_callsig *sent,
                              uint16_t code)
{
    enum { BITS = 4096 };
    if (!team->told_far)
        team->told_far = mlt_xcalloc(BITS / 64, sizeof *team->told_far);
    for (uint32_t i = 0; i < plan->far_count; i++) {
        uint64_t bit = mlt_hash_mix(code, plan->far[i]) >> 32;
        uint64_t *word = &team->told_far[bit % BITS / 64], mask = UINT64_C(1) << bit % 64;
        if (!(*word & mask))
            mlt_coll_callsig_send(team->worker, plan->far[i], sent, code);
        *word |= mask;
    }
}

// The call says something else than the plan's last one.
static MLT_COLD void callsig(mlt_team *team, mlt_plan *plan, const mlt_coll_what *what)
{
    mlt_coll_callsig received = mlt_coll_callsig_of(team, what, false),
                     sent = mlt_coll_callsig_of(team, what, true);
    plan->callsig.some = true;
    read_said(what, plan->callsig.said);
    plan->callsig.code = mlt_coll_callsig_code(&received);
    plan->callsig.code_sent = mlt_coll_callsig_code(&sent);
    mlt_coll_callsig_publish(team->worker, &received, plan->callsig.code);
    mlt_coll_callsig_publish(team->worker, &sent, plan->callsig.code_sent);
    if (MLT_UNLIKELY(plan->far_count > 0) && team->worker->boot->job->hosts > 1)
        tell_far(team, plan, &sent, plan->callsig.code_sent);
}

static inline void set_codes(mlt_instance *i, const mlt_coll_what *what)
{
    mlt_plan *plan = i->plan;
    uint64_t said[3];
    read_said(what, said);
    if (MLT_UNLIKELY((said[0] ^ plan->callsig.said[0]) | (said[1] ^ plan->callsig.said[1]) |
                     (said[2] ^ plan->callsig.said[2])) ||
        MLT_UNLIKELY(!plan->callsig.some))
        callsig(i->team, plan, what);
    i->run->received.code = plan->callsig.code;
    i->run->sent.code = plan->callsig.code_sent;
}

static inline void start(mlt_plans *plans, mlt_instance *i)
{
    if (MLT_LIKELY(i->place == &i->team->ordinary))
        remember(i->team, (uint32_t)i->number, i->run->received.code, false);
    mlt_list_push_back(&plans->active[i->place == &i->team->fixed], &i->active);
    i->team->worker->together++;
    i->team->worker->sheltered += i->plan->near;
    mlt_run_start(i->run, i->place, (uint32_t)i->number, i->done);
}

static void start_held(mlt_work *work)
{
    mlt_plans *plans = mlt_container_of(work, mlt_plans, work);
    plans->queued = false;
    for (mlt_instance *i; (i = MLT_LIST_FIRST(&plans->held, mlt_instance, active));) {
        if (!may_start(plans, i))
            return;
        mlt_list_remove(&i->active);
        start(plans, i);
    }
}

void mlt_instance_start(mlt_instance *i, const mlt_coll_what *what, const void *in, void *out,
                        uint64_t number, bool fixed, mlt_req *done)
{
    const mlt_plan *plan = i->plan;
    mlt_plans *plans = &i->team->plans;
    if (MLT_UNLIKELY(plan->shadow > 0)) {
        unsigned char *shadow = i->memory + plan->shadow_at;
        if (what->collective == MLT_COLL_SCATTER) {
            out = shadow; // the root's block stays where it is
        } else {
            memcpy(shadow, (unsigned char *)out + plan->shadow_of, plan->shadow);
            in = shadow;
        }
    }
    if (plan->in >= 0)
        i->run->base[plan->in] = (unsigned char *)(uintptr_t)in;
    if (plan->out >= 0)
        i->run->base[plan->out] = out;
    if (what->op && plan->sched->users) {
        i->run->function[0] = what->op->function;
        i->run->argument[0] = what->op->arg;
    }
    set_codes(i, what);
    i->place = fixed ? &i->team->fixed : &i->team->ordinary;
    i->number = number;
    i->done = done;
    if (MLT_UNLIKELY(fixed) ||
        (MLT_LIKELY(mlt_list_empty(&plans->held)) && MLT_LIKELY(may_start(plans, i))))
        start(plans, i);
    else
        mlt_list_push_back(&plans->held, &i->active);
}

int32_t mlt_plans_awaits(const mlt_plans *plans, uint64_t number, bool fixed)
{
    enum { SEEN = 16 };
    const mlt_req *reqs[SEEN];
    MLT_LIST_EACH(const mlt_instance, i, &plans->active[fixed], active) {
        if (i->number != number)
            continue;
        uint32_t n = mlt_run_frontier(i->run, reqs, SEEN);
        for (uint32_t r = 0; r < n && r < SEEN; r++) {
            const mlt_run_place *p = i->place;
            if (reqs[r]->kind == MLT_REQ_RECV && reqs[r]->peer >= 0)
                return p->world ? p->world(p->group, reqs[r]->peer)
                                : p->base + reqs[r]->peer * p->stride;
        }
    }
    return -1;
}

// ---- all of them

void mlt_plans_init(mlt_plans *plans)
{
    *plans = (mlt_plans){0};
    mlt_list_init(&plans->all);
    mlt_list_init(&plans->held);
    mlt_list_init(&plans->active[0]);
    mlt_list_init(&plans->active[1]);
}

bool mlt_plans_are_idle(const mlt_plans *plans)
{
    MLT_LIST_EACH(const mlt_plan, plan, &plans->all, link)
        if (plan->busy)
            return false;
    return true;
}

void mlt_plans_fini(mlt_plans *plans)
{
    mlt_plans_forget(plans);
    mlt_assert(mlt_list_empty(&plans->all));
}
