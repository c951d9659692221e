// SPDX-License-Identifier: BSD-3-Clause
#include "coll/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "coll/ledger.h"
#include "os/os.h"

_Atomic bool mlt_paths_exist;

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

static bool path_says_same(const say *a, const say *b)
{
    return memcmp(a, b, offsetof(say, rank)) == 0;
}

static void better(both *all, const say *s)
{
    if (s->rank != NOBODY && !path_says_same(&all->one, s) && s->rank < all->other.rank)
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

static void path_tell_both(const both *b, char *why, size_t size)
{
    char one[192], other[192];
    tell_say(&b->one, &b->other, one, sizeof one);
    tell_say(&b->other, &b->one, other, sizeof other);
    snprintf(why, size, "%s, but %s", one, other);
}

// ---- paths of a team

static void path_name_stages(mlt_path *path)
{
    size_t at = 0;
    for (uint32_t i = 0; i < path->count && at < sizeof path->sum.stack; i++) {
        const mlt_coll_stage *s = &path->stages[i];
        int n = snprintf(path->sum.stack + at, sizeof path->sum.stack - at, "%s%s", i ? ", " : "",
                         mlt_coll_wrapper_names[s->wrapper]);
        at += (size_t)n;
        if (s->wrapper == MLT_WRAP_DELAY && at < sizeof path->sum.stack)
            at += (size_t)snprintf(path->sum.stack + at, sizeof path->sum.stack - at, " %llu us",
                                   (unsigned long long)s->delay_us);
    }
}

// `check` comes before `combine`, see the head of path.h.
static void copy_stages(mlt_path *path, const mlt_coll_stage *stages, uint32_t count, bool checks)
{
    static const mlt_coll_stage check_stage = {.wrapper = MLT_WRAP_CHECK};
    for (uint32_t i = 0; i < count; i++) {
        bool is_check = stages[i].wrapper == MLT_WRAP_CHECK;
        if (stages[i].wrapper == MLT_WRAP_COMBINE && checks && !path->checks) {
            path->stages[path->count++] = check_stage;
            path->checks = true;
        }
        if (is_check && path->checks)
            continue; // it stands before `combine` now
        path->checks |= is_check;
        path->stages[path->count++] = stages[i];
    }
    if (checks && !path->checks) {
        path->stages[path->count++] = check_stage;
        path->checks = true;
    }
}

static mlt_path *path_new(mlt_collective collective, const mlt_coll_stage *stages, uint32_t count,
                          const char *by, bool checks)
{
    mlt_path *path = mlt_take(1, sizeof *path + (count + 1ull) * sizeof *path->stages);
    path->collective = (uint8_t)collective;
    path->by = by;
    copy_stages(path, stages, count, checks);
    path->combine = path->counts_at = path->delays_at = path->count;
    for (uint32_t i = 0; i < path->count; i++)
        switch ((mlt_coll_wrapper)path->stages[i].wrapper) {
        case MLT_WRAP_COUNT:
            path->counts_at = i;
            break;
        case MLT_WRAP_TRACE:
            path->traces = true;
            path->traces_at = i;
            break;
        case MLT_WRAP_DELAY:
            path->delays_at = i;
            path->delay_us = path->stages[i].delay_us;
            break;
        case MLT_WRAP_COMBINE:
            path->combine = i;
            break;
        default:
            break;
        }
    path->measured = path->traces || path->counts_at < path->count;
    path_name_stages(path);
    return path;
}

static void path_free(mlt_path *path)
{
    mlt_live_sheet_hide(&path->sheet);
    free(path);
}

static void retire(mlt_team *team, mlt_path *path)
{
    mlt_ledger_note_path(team->ledger, team, path);
    path->stale = true;
    mlt_ledger_clear(&path->sum);
    if (!path->busy) {
        path_free(path);
        return;
    }
    path->next = team->paths->stale;
    team->paths->stale = path;
}

static bool rulebook_checks(const mlt_coll_rulebook *rulebook, const char *comm)
{
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++) {
        const mlt_coll_path *path = mlt_coll_rulebook_path(rulebook, (mlt_collective)c, comm);
        for (uint32_t i = 0; path && i < path->count; i++)
            if (path->stages[i].wrapper == MLT_WRAP_CHECK)
                return true;
    }
    return false;
}

// The path of a collective; NULL: none.
static mlt_path *path_make(const mlt_team *team, mlt_collective collective, bool checks)
{
    static const mlt_coll_stage plain[] = {{.wrapper = MLT_WRAP_COMBINE}},
                                measured[] = {{.wrapper = MLT_WRAP_COUNT},
                                              {.wrapper = MLT_WRAP_COMBINE}};
    const mlt_coll_sources *s = team->sources;
    const mlt_coll_path *said = mlt_coll_rulebook_path(s->own_rulebook, collective, team->name);
    if (!said)
        said = mlt_coll_rulebook_path(s->rulebook, collective, team->name);
    if (said)
        return path_new(collective, said->stages, said->count, said->by, checks);
    if (team->ledger->measures)
        return path_new(collective, measured, 2, "--paths", checks);
    if (!checks)
        return NULL;
    mlt_path *path = path_new(collective, plain, 1, "", true);
    path->hidden = true;
    return path;
}

void mlt_paths_refresh(mlt_team *team)
{
    const mlt_coll_sources *s = team->sources;
    bool some = (s->own_rulebook && s->own_rulebook->paths_count) ||
                (s->rulebook && s->rulebook->paths_count) || team->ledger->measures;
    if (!some && !team->paths)
        return;
    if (!team->paths)
        team->paths = mlt_take(1, sizeof *team->paths);
    team->paths->checks =
        rulebook_checks(s->own_rulebook, team->name) || rulebook_checks(s->rulebook, team->name);
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++) {
        if (team->paths->of[c])
            retire(team, team->paths->of[c]);
        team->paths->of[c] = path_make(team, (mlt_collective)c, team->paths->checks);
    }
}

void mlt_paths_tell(mlt_team *team)
{
    for (uint32_t c = 0; team->paths && c < MLT_COLLECTIVES; c++) {
        mlt_path *path = team->paths->of[c];
        if (!path)
            continue;
        mlt_ledger_note_path(team->ledger, team, path);
        mlt_ledger_clear(&path->sum);
    }
}

static void drop(mlt_team *team, mlt_path *path)
{
    if (--path->busy || !path->stale)
        return;
    for (mlt_path **at = &team->paths->stale; *at; at = &(*at)->next)
        if (*at == path) {
            *at = path->next;
            break;
        }
    mlt_ledger_note_path(team->ledger, team, path);
    path_free(path);
}

// ---- times

static void path_note(mlt_path *path, mlt_ctl_time which, uint64_t ns)
{
    mlt_clock_add(&path->sum.time[which], &(mlt_ctl_clock){1, ns, ns, ns});
}

static uint64_t path_bytes_of(const mlt_team *team, const mlt_coll_what *what)
{
    return (what->starts ? what->starts[team->ranks] : what->count) * what->element;
}

// A line of a trace: when, who, which call; then the stages in microseconds.
enum { LINE_BYTES = 512 };

static void add_time(mlt_text *l, const char *name, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns && to_ns)
        mlt_text_add(l, ", %s %.3f", name, (double)(to_ns - from_ns) / 1e3);
}

static void end_line(mlt_text *l, mlt_team *team, mlt_status status)
{
    if (status != MLT_OK)
        mlt_text_add(l, ", failed");
    memcpy(l->text + l->length, "\n", 2);
    mlt_ledger_trace(team->ledger, l->text);
}

static void add_call(mlt_text *l, const mlt_team *team, const mlt_coll_what *what, uint64_t number,
                     const char *alg)
{
    mlt_text_add(l, "%s, %s %llu, %llu bytes", team->name, mlt_collective_names[what->collective],
                 (unsigned long long)number, (unsigned long long)path_bytes_of(team, what));
    if (alg)
        mlt_text_add(l, ", %s", alg);
    mlt_text_add(l, "; us");
}

// ---- a rank's way

struct mlt_walk {
    mlt_walk *next;
    mlt_walk_args args;
    mlt_path *path;
    uint32_t stage;
    mlt_status status;
    const mlt_coll_what *what;
    const void *in;
    void *out;
    mlt_req *done;
    mlt_req own; // of the check, then of the call
    mlt_work work;
    both mine, all;
    uint64_t came_ns, counted_ns, since_ns, until_ns, joined_ns, delay_ns, check_ns;
    const char *alg;
};

static void path_step(mlt_walk *walk);

static mlt_walk *walk_take(mlt_team *team)
{
    mlt_walk *walk = team->paths->free;
    if (!walk)
        return mlt_take(1, sizeof *walk);
    team->paths->free = walk->next;
    return walk;
}

static void open_request(mlt_walk *walk, void (*on_done)(mlt_req *req))
{
    mlt_req_init(&walk->own, walk->done->rank, MLT_REQ_OTHER);
    walk->own.on_done = on_done;
}

static void trace_walk(const mlt_walk *walk, uint64_t now)
{
    mlt_team *team = walk->args.team;
    char text[LINE_BYTES];
    mlt_text l = mlt_text_on(text, sizeof text - 1); // and a newline
    mlt_text_add(&l, "%.6f rank %u: ", (double)walk->came_ns / 1e9, walk->args.rank);
    add_call(&l, team, walk->what, walk->args.number, team->at ? NULL : walk->alg);
    mlt_text_add(&l, " call %.3f", (double)(now - walk->came_ns) / 1e3);
    if (walk->delay_ns)
        mlt_text_add(&l, ", delay %.3f", (double)walk->delay_ns / 1e3);
    if (walk->check_ns)
        mlt_text_add(&l, ", check %.3f", (double)walk->check_ns / 1e3);
    add_time(&l, team->at ? "joined" : "exchange", walk->joined_ns, now);
    end_line(&l, team, walk->status);
}

// The last of the walk: the team may be gone when `done` is done.
static void path_leave(mlt_walk *walk, mlt_status status)
{
    mlt_path *path = walk->path;
    mlt_team *team = walk->args.team;
    mlt_req *done = walk->done;
    uint64_t now = path->measured ? mlt_os_now_ns() : 0;
    walk->status = status;
    if (status == MLT_OK && walk->counted_ns) {
        path->sum.calls++;
        path->sum.bytes += path_bytes_of(team, walk->what);
        path_note(path, MLT_TIME_CALL, now - walk->counted_ns);
    }
    if (status == MLT_OK && path->measured && !team->at)
        path_note(path, MLT_TIME_EXCHANGE, now - walk->joined_ns);
    if (path->traces && (!team->at || path->traces_at < path->combine))
        trace_walk(walk, now);
    drop(team, path);
    walk->next = team->paths->free;
    team->paths->free = walk;
    done->status = status;
    mlt_req_complete(done);
}

static void left(mlt_req *own)
{
    mlt_walk *walk = mlt_container_of(own, mlt_walk, own);
    path_leave(walk, own->status);
}

static void path_join(mlt_walk *walk)
{
    const mlt_walk_args *args = &walk->args;
    args->team->paths->walking--;
    open_request(walk, left);
    if (walk->path->measured)
        walk->joined_ns = mlt_os_now_ns();
    if (walk->path->traces && !args->team->at) {
        char why[8];
        const mlt_plan *plan = mlt_plan_of(args->team, walk->what, why, sizeof why);
        walk->alg = plan && plan->choice.alg ? plan->choice.alg->name : NULL;
    }
    mlt_team_join(args->team, args->number, args->fixed, args->local, walk->what, walk->in,
                  walk->out, &walk->own);
}

// ---- delay

static void waited(mlt_work *work)
{
    mlt_walk *walk = mlt_container_of(work, mlt_walk, work);
    uint64_t now = mlt_os_now_ns();
    if (now < walk->until_ns) {
        mlt_worker_again(walk->args.team->worker, work);
        return;
    }
    walk->delay_ns = now - walk->since_ns;
    if (walk->path->measured)
        path_note(walk->path, MLT_TIME_DELAY, walk->delay_ns);
    path_step(walk);
}

static void delay(mlt_walk *walk)
{
    walk->since_ns = mlt_os_now_ns();
    walk->until_ns = walk->since_ns + walk->path->delay_us * 1000;
    walk->work.run = waited;
    mlt_worker_later(walk->args.team->worker, &walk->work);
}

// ---- check

static void judge(mlt_work *work)
{
    mlt_walk *walk = mlt_container_of(work, mlt_walk, work);
    mlt_team *team = walk->args.team, *level = walk->args.level;
    if (walk->path->measured) {
        walk->check_ns = mlt_os_now_ns() - walk->since_ns;
        path_note(walk->path, MLT_TIME_CHECK, walk->check_ns);
    }
    if (walk->own.status != MLT_OK) {
        if (team != level)
            snprintf(team->why, sizeof team->why, "%s", level->why);
        team->paths->walking--;
        path_leave(walk, walk->own.status);
    } else if (walk->all.other.rank != NOBODY) {
        path_tell_both(&walk->all, team->why, sizeof team->why);
        team->paths->walking--;
        path_leave(walk, MLT_ERR_DISAGREE);
    } else {
        path_step(walk);
    }
}

static void checked(mlt_req *own)
{
    mlt_walk *walk = mlt_container_of(own, mlt_walk, own);
    walk->work.run = judge;
    mlt_worker_later(walk->args.team->worker, &walk->work);
}

static void check(mlt_walk *walk)
{
    const mlt_walk_args *args = &walk->args;
    walk->mine = (both){.one = say_of(args, walk->what), .other.rank = NOBODY};
    open_request(walk, checked);
    walk->since_ns = mlt_os_now_ns();
    mlt_team_join(args->level, args->check_number, args->fixed, args->level_local, &unite_what,
                  &walk->mine, &walk->all, &walk->own);
}

// ---- along the path

static void path_step(mlt_walk *walk)
{
    const mlt_path *path = walk->path;
    const mlt_team *team = walk->args.team;
    while (walk->stage < path->count) {
        uint32_t stage = walk->stage++;
        switch ((mlt_coll_wrapper)path->stages[stage].wrapper) {
        case MLT_WRAP_COUNT:
            walk->counted_ns = mlt_os_now_ns();
            break;
        case MLT_WRAP_DELAY:
            delay(walk);
            return;
        case MLT_WRAP_CHECK:
            if (!walk->args.level)
                break;
            check(walk);
            return;
        case MLT_WRAP_COMBINE:
            if (team->at) // the rest is the worker's
                walk->stage = path->count;
            break;
        default:
            break;
        }
    }
    path_join(walk);
}

void mlt_path_join(const mlt_walk_args *args, const mlt_coll_what *what, const void *in, void *out,
                   mlt_req *done)
{
    mlt_path *path = mlt_path_of(args->team, what);
    mlt_walk *walk = walk_take(args->team);
    path->busy++;
    if (MLT_UNLIKELY(!path->sheet.records))
        mlt_ledger_show_path(args->team->ledger, args->team, path);
    args->team->paths->walking++;
    walk->args = *args;
    walk->path = path;
    walk->stage = 0;
    walk->what = what;
    walk->in = in;
    walk->out = out;
    walk->done = done;
    walk->came_ns = path->measured ? mlt_os_now_ns() : 0;
    walk->counted_ns = walk->joined_ns = walk->delay_ns = walk->check_ns = 0;
    walk->alg = NULL;
    path_step(walk);
}

void mlt_paths_free(mlt_team *team)
{
    mlt_paths *paths = team->paths;
    if (!paths)
        return;
    for (uint32_t c = 0; c < MLT_COLLECTIVES; c++)
        if (paths->of[c])
            retire(team, paths->of[c]);
    mlt_assert(!paths->stale);
    for (mlt_walk *walk = paths->free, *next; walk; walk = next) {
        next = walk->next;
        free(walk);
    }
    free(paths);
    team->paths = NULL;
}

// ---- a worker's call

void mlt_span_open(mlt_span *span, mlt_team *team, const mlt_coll_what *what)
{
    mlt_path *path = span->path;
    path->busy++;
    *span = (mlt_span){.path = path, .first_ns = mlt_span_stamp(span)};
}

uint64_t mlt_span_stamp(const mlt_span *span)
{
    return span->path->measured ? mlt_os_now_ns() : 0;
}

bool mlt_span_waits(mlt_span *span, mlt_team *team, void (*run)(mlt_work *work))
{
    const mlt_path *path = span->path;
    if (!path->delay_us || path->delays_at < path->combine)
        return false;
    span->until_ns = mlt_os_now_ns() + path->delay_us * 1000;
    span->work.run = run;
    mlt_worker_later(team->worker, &span->work);
    return true;
}

bool mlt_span_waited(mlt_span *span, mlt_team *team)
{
    uint64_t now = mlt_os_now_ns();
    if (now >= span->until_ns) {
        if (span->path->measured)
            path_note(span->path, MLT_TIME_DELAY, now - span->combined_ns);
        span->delayed_ns = now;
        return true;
    }
    mlt_worker_again(team->worker, &span->work);
    return false;
}

static void note_span(const mlt_span *s, uint64_t started_ns, uint64_t now)
{
    path_note(s->path, MLT_TIME_GATHER, s->all_ns - s->first_ns);
    path_note(s->path, MLT_TIME_COMBINE, s->combined_ns - s->all_ns);
    if (s->exchanged_ns)
        path_note(s->path, MLT_TIME_EXCHANGE, s->exchanged_ns - started_ns);
    path_note(s->path, MLT_TIME_SPREAD, now - (s->exchanged_ns ? s->exchanged_ns : started_ns));
}

void mlt_span_close(mlt_span *s, mlt_team *team, const mlt_coll_what *what, uint64_t number)
{
    mlt_path *path = s->path;
    uint64_t now = mlt_span_stamp(s), started = s->delayed_ns ? s->delayed_ns : s->combined_ns;
    bool over = path->measured && s->all_ns && s->combined_ns; // else it failed
    if (over)
        note_span(s, started, now);
    if (over && path->counts_at < path->count && path->counts_at > path->combine) {
        uint64_t from = path->delays_at < path->counts_at ? started : s->combined_ns;
        path->sum.calls++;
        path->sum.bytes += path_bytes_of(team, what);
        path_note(path, MLT_TIME_CALL, (s->exchanged_ns ? s->exchanged_ns : now) - from);
    }
    if (path->traces) {
        char text[LINE_BYTES];
        mlt_text l = mlt_text_on(text, sizeof text - 1); // and a newline
        mlt_text_add(&l, "%.6f worker %u: ", (double)s->first_ns / 1e9, team->worker->index);
        add_call(&l, team, what, number, s->alg);
        mlt_text_add(&l, " call %.3f", (double)(now - s->first_ns) / 1e3);
        add_time(&l, "gather", s->first_ns, s->all_ns);
        add_time(&l, "combine", s->all_ns, s->combined_ns);
        add_time(&l, "delay", s->combined_ns, s->delayed_ns);
        add_time(&l, "exchange", started, s->exchanged_ns);
        add_time(&l, "spread", s->exchanged_ns ? s->exchanged_ns : started, now);
        end_line(&l, team, over ? MLT_OK : MLT_ERR_INVALID);
    }
    s->path = NULL;
    drop(team, path);
}
