// SPDX-License-Identifier: BSD-3-Clause
#include "coll/walk.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/callsig.h"
#include "coll/ledger.h"
#include "coll/plan.h"
#include "os/os.h"

// ---- what ranks say, for `check`

// Equal on all ranks of a call, except rank and call.
typedef struct say {
    mlt_coll_callsig callsig; // without kind: the signature is finer
    uint64_t signature;
    uint32_t rank;
    char call[36];
} say;

// What a set of ranks says: its lowest rank, and the lowest one that says something else (rank
// NOBODY: none does). Two sets make one in any order and with any brackets.
typedef struct both {
    say one, other;
} both;

#define NOBODY UINT32_MAX
_Static_assert(sizeof(say) == 80, "no holes: compared as bytes");

static void better(both *all, const say *s)
{
    if (s->rank != NOBODY && memcmp(&all->one, s, offsetof(say, rank)) && s->rank < all->other.rank)
        all->other = *s;
}

static void unite(void *arg, const mlt_run_operands *operands)
{
    both *result = operands->result;
    const both *second = operands->second;
    for (uint64_t n = operands->bytes / sizeof *result; n > 0; n--, result++, second++) {
        both low = *result, high = *second;
        if (high.one.rank < low.one.rank) {
            low = *second;
            high = *result;
        }
        better(&low, &high.one);
        better(&low, &high.other);
        *result = low;
    }
}

static const mlt_coll_op unite_op = {
    .op = MLT_OPS,
    .type = MLT_OP_UINT8,
    .function = unite,
    .element = sizeof(both),
    .commutes = true,
    .exact = true,
    .direct = true,
    .same = (uintptr_t)MLT_WRAP_CHECK,
};

static const mlt_coll_what unite_what = {
    .collective = MLT_COLL_ALLREDUCE,
    .element = sizeof(both),
    .count = 1,
    .op = &unite_op,
    .plain = true,
};

static say say_of(const mlt_walk_args *args, const mlt_coll_what *what)
{
    say s = {.callsig = mlt_coll_callsig_of(args->team, what, false),
             .rank = args->rank,
             .signature = args->signature};
    s.callsig.kind = 0;
    snprintf(s.call, sizeof s.call, "%s", args->call);
    return s;
}

// "rank 2 says MPI_Reduce (sum of 4 Float64), root 2"
static void tell_say(const say *s, const say *than, char *text, size_t size)
{
    char words[160];
    bool typed = s->signature != than->signature && s->callsig.count == than->callsig.count;
    mlt_coll_callsig_words(&s->callsig, &than->callsig, s->call, words, sizeof words);
    snprintf(text, size, "rank %u says %s%s", s->rank, words, typed ? " of another type" : "");
}

static void walk_tell_both(const both *b, char *why, size_t size)
{
    char one[192], other[192];
    tell_say(&b->one, &b->other, one, sizeof one);
    tell_say(&b->other, &b->one, other, sizeof other);
    snprintf(why, size, "%s, but %s", one, other);
}

// ---- the walk

typedef struct walk {
    mlt_path_idle idle; // first: where it is kept
    mlt_walk_args args;
    mlt_path *path;
    uint32_t stage;
    mlt_status status;
    const mlt_coll_what *asked, *what; // the call's; the one that is joined
    const void *in;
    void *out;
    mlt_req *done;
    mlt_req own; // of the check, then of the call
    mlt_work work;
    both mine, all;
    // What wrappers have changed (alter.h): a copy of the operand (NULL: none), and what the call is
    // about if it has another operation.
    unsigned char *operand;
    mlt_coll_what other_what;
    mlt_coll_op other_op;
    uint64_t alter_ns;
    uint64_t came_ns, counted_ns, since_ns, until_ns, joined_ns, delay_ns, check_ns;
    const char *alg;
} walk;

static void walk_step(walk *w);

static walk *walk_take(mlt_team *team)
{
    walk *w = (walk *)team->paths->free;
    if (!w)
        return mlt_xcalloc(1, sizeof *w);
    team->paths->free = w->idle.next;
    return w;
}

static void open_request(walk *w, void (*on_done)(mlt_req *req))
{
    mlt_req_init(&w->own, w->done->rank, MLT_REQ_OTHER);
    w->own.on_done = on_done;
}

static void trace_walk(const walk *w, uint64_t now)
{
    mlt_team *team = w->args.team;
    mlt_path_line l;
    mlt_path_line_begin(&l, "rank", w->args.rank, w->came_ns);
    mlt_path_line_call(&l, team, w->what, w->args.number, team->at ? NULL : w->alg);
    mlt_text_add(&l.text, " call %.3f", (double)(now - w->came_ns) / 1e3);
    if (w->delay_ns)
        mlt_text_add(&l.text, ", delay %.3f", (double)w->delay_ns / 1e3);
    if (w->check_ns)
        mlt_text_add(&l.text, ", check %.3f", (double)w->check_ns / 1e3);
    mlt_path_line_time(&l, team->at ? "joined" : "exchange", w->joined_ns, now);
    mlt_path_line_end(&l, team, w->status != MLT_OK);
}

// ---- what wrappers change

// MPI_Exscan in place leaves the buffer of rank 0 as it is: then the copy is what it was.
static bool keeps_buffer(const walk *w)
{
    return w->what->collective == MLT_COLL_EXSCAN && w->args.rank == 0 && !w->in;
}

// The rank's operand, in memory that may be changed. NULL: it brings nothing.
static unsigned char *own_operand(walk *w, uint64_t *bytes)
{
    unsigned char *at;
    const mlt_walk_args *args = &w->args;
    if (!mlt_alter_region(w->what, args->team->ranks, args->rank, MLT_ALTER_OPERAND, w->in, w->out,
                          &at, bytes))
        return NULL;
    bool bcast = w->what->collective == MLT_COLL_BCAST;
    if (w->operand || (!w->in && !bcast && !keeps_buffer(w)))
        return at; // a copy already, or in place
    w->operand = mlt_xcalloc(*bytes, 1);
    memcpy(w->operand, at, *bytes);
    if (keeps_buffer(w))
        return at;
    if (bcast)
        w->out = w->operand; // the root's buffer stays as it is
    else
        w->in = w->operand;
    return w->operand;
}

static mlt_coll_passing passing_of(const walk *w, uint32_t stage, uint64_t bytes)
{
    return (mlt_coll_passing){.name = w->args.team->name,
                              .collective = w->what->collective,
                              .worker = stage > w->path->combine,
                              .rank = w->args.rank,
                              .ranks = w->args.team->ranks,
                              .root = w->what->root,
                              .bytes = bytes};
}

static void alter_operand(walk *w, uint32_t stage)
{
    uint64_t bytes;
    uint64_t began = mlt_os_now_ns();
    unsigned char *data = own_operand(w, &bytes);
    if (data) {
        mlt_coll_passing passing = passing_of(w, stage, bytes);
        mlt_path_alter(w->path, stage, MLT_ALTER_OPERAND, &passing, w->asked, data);
    }
    w->alter_ns += mlt_os_now_ns() - began;
}

static void alter_op(walk *w, uint32_t stage)
{
    if (!mlt_path_op(w->path, stage, w->asked, &w->other_op))
        return;
    w->other_what = *w->what;
    w->other_what.op = &w->other_op;
    w->what = &w->other_what;
}

// The innermost first.
static void alter_results(walk *w)
{
    const mlt_path *path = w->path;
    uint32_t end = w->args.team->at ? path->combine : path->count;
    uint64_t bytes, began = mlt_os_now_ns();
    unsigned char *data;
    if (!mlt_alter_region(w->what, w->args.team->ranks, w->args.rank, MLT_ALTER_RESULT, w->in,
                          w->out, &data, &bytes))
        end = 0;
    for (uint32_t i = end; i-- > 0;)
        if (mlt_alter_is(&path->stages[i])) {
            mlt_coll_passing passing = passing_of(w, i, bytes);
            mlt_path_alter(w->path, i, MLT_ALTER_RESULT, &passing, w->asked, data);
        }
    mlt_path_note(w->path, MLT_TIME_MAP, w->alter_ns + mlt_os_now_ns() - began);
}

// The last of the walk: the team may be gone when `done` is done.
static void walk_leave(walk *w, mlt_status status)
{
    mlt_path *path = w->path;
    mlt_team *team = w->args.team;
    mlt_req *done = w->done;
    if (MLT_UNLIKELY(path->alters) && status == MLT_OK)
        alter_results(w);
    if (w->operand && keeps_buffer(w))
        memcpy(w->out, w->operand, w->what->count * w->what->element);
    free(w->operand);
    w->operand = NULL;
    uint64_t now = path->measured ? mlt_os_now_ns() : 0;
    w->status = status;
    if (status == MLT_OK && w->counted_ns)
        mlt_path_count(path, team, w->what, now - w->counted_ns);
    if (status == MLT_OK && path->measured && !team->at)
        mlt_path_note(path, MLT_TIME_EXCHANGE, now - w->joined_ns);
    if (status == MLT_OK && path->measured && !team->at)
        mlt_path_keep(path, w->args.number,
                      (uint64_t[]){w->came_ns, w->joined_ns, w->joined_ns, now, now});
    if (path->traces && (!team->at || path->traces_at < path->combine))
        trace_walk(w, now);
    mlt_path_drop(team, path);
    w->idle.next = team->paths->free;
    team->paths->free = &w->idle;
    done->status = status;
    mlt_req_complete(done);
}

static void left(mlt_req *own)
{
    walk *w = mlt_container_of(own, walk, own);
    walk_leave(w, own->status);
}

static void walk_join(walk *w)
{
    const mlt_walk_args *args = &w->args;
    args->team->paths->walking--;
    open_request(w, left);
    if (w->path->measured)
        w->joined_ns = mlt_os_now_ns();
    if (w->path->traces && !args->team->at) {
        char why[8];
        const mlt_plan *plan = mlt_plan_of(args->team, w->what, why, sizeof why);
        w->alg = plan && plan->choice.alg ? plan->choice.alg->name : NULL;
    }
    mlt_team_join(args->team, args->number, args->fixed, args->local, w->what, w->in, w->out,
                  &w->own);
}

// ---- delay

static void waited(mlt_work *work)
{
    walk *w = mlt_container_of(work, walk, work);
    uint64_t now = mlt_os_now_ns();
    if (now < w->until_ns) {
        mlt_worker_again(w->args.team->worker, work);
        return;
    }
    w->delay_ns = now - w->since_ns;
    if (w->path->measured)
        mlt_path_note(w->path, MLT_TIME_DELAY, w->delay_ns);
    walk_step(w);
}

static void delay(walk *w)
{
    w->since_ns = mlt_os_now_ns();
    w->until_ns = w->since_ns + w->path->delay_us * 1000;
    w->work.run = waited;
    mlt_worker_later(w->args.team->worker, &w->work);
}

// ---- check

static void judge(mlt_work *work)
{
    walk *w = mlt_container_of(work, walk, work);
    mlt_team *team = w->args.team, *level = w->args.level;
    if (w->path->measured) {
        w->check_ns = mlt_os_now_ns() - w->since_ns;
        mlt_path_note(w->path, MLT_TIME_CHECK, w->check_ns);
    }
    if (w->own.status != MLT_OK) {
        if (team != level)
            snprintf(team->why, sizeof team->why, "%s", level->why);
        team->paths->walking--;
        walk_leave(w, w->own.status);
    } else if (w->all.other.rank != NOBODY) {
        walk_tell_both(&w->all, team->why, sizeof team->why);
        team->paths->walking--;
        walk_leave(w, MLT_ERR_DISAGREE);
    } else {
        walk_step(w);
    }
}

static void checked(mlt_req *own)
{
    walk *w = mlt_container_of(own, walk, own);
    w->work.run = judge;
    mlt_worker_later(w->args.team->worker, &w->work);
}

static void check(walk *w)
{
    const mlt_walk_args *args = &w->args;
    w->mine = (both){.one = say_of(args, w->what), .other.rank = NOBODY};
    open_request(w, checked);
    w->since_ns = mlt_os_now_ns();
    mlt_team_join(args->level, args->check_number, args->fixed, args->level_local, &unite_what,
                  &w->mine, &w->all, &w->own);
}

// ---- along the path

static void walk_step(walk *w)
{
    const mlt_path *path = w->path;
    const mlt_team *team = w->args.team;
    while (w->stage < path->count) {
        uint32_t stage = w->stage++;
        switch ((mlt_coll_wrapper)path->stages[stage].wrapper) {
        case MLT_WRAP_COUNT:
            w->counted_ns = mlt_os_now_ns();
            break;
        case MLT_WRAP_DELAY:
            delay(w);
            return;
        case MLT_WRAP_MAP:
        case MLT_WRAP_DROP:
            alter_operand(w, stage);
            break;
        case MLT_WRAP_OP:
            alter_op(w, stage);
            break;
        case MLT_WRAP_CHECK:
            if (!w->args.level)
                break;
            check(w);
            return;
        case MLT_WRAP_COMBINE:
            if (team->at) // the rest is the worker's
                w->stage = path->count;
            break;
        default:
            break;
        }
    }
    walk_join(w);
}

void mlt_path_join(const mlt_walk_args *args, const mlt_coll_what *what, const void *in, void *out,
                   mlt_req *done)
{
    mlt_path *path = mlt_path_of(args->team, what);
    walk *w = walk_take(args->team);
    path->busy++;
    if (MLT_UNLIKELY(!path->sheet.records))
        mlt_ledger_show_path(args->team->ledger, args->team, path);
    args->team->paths->walking++;
    w->args = *args;
    w->path = path;
    w->stage = 0;
    w->asked = w->what = what;
    w->in = in;
    w->out = out;
    w->done = done;
    w->came_ns = path->measured ? mlt_os_now_ns() : 0;
    w->operand = NULL;
    w->alter_ns = 0;
    w->counted_ns = w->joined_ns = w->delay_ns = w->check_ns = 0;
    w->alg = NULL;
    walk_step(w);
}
