// SPDX-License-Identifier: BSD-3-Clause
#include "coll/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/path.h"
#include "coll/plan.h"
#include "coll/settings.h"

enum { MOST_ENTRIES = 4096 }; // a program that names its communicators by number has no end of them

void mlt_ledger_init(mlt_ledger *l)
{
    *l = (mlt_ledger){.trace = -1};
}

static void forget(mlt_ledger *l)
{
    mlt_live_sheet_hide(&l->sheet);
    free(l->choice);
    free(l->path);
    free(l->step);
    l->choice = NULL;
    l->path = NULL;
    l->step = NULL;
    l->choice_count = l->path_count = l->step_count = 0;
    l->left_out = 0;
}

void mlt_ledger_fini(mlt_ledger *l)
{
    forget(l);
    if (l->trace > STDERR_FILENO)
        close(l->trace);
}

// Copies a text, cut to what there is room for.
static void put(char *to, size_t size, const char *from)
{
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

static uint32_t level_of(const mlt_team *team)
{
    return team->flat ? MLT_LEVEL_FLAT : team->at ? MLT_LEVEL_COMBINED : MLT_LEVEL_ALONE;
}

static void note_choice(mlt_ledger *l, const mlt_ctl_choice *more)
{
    for (uint32_t i = 0; i < l->choice_count; i++) {
        mlt_ctl_choice *c = &l->choice[i];
        if (c->segment != more->segment || c->radix != more->radix || c->window != more->window ||
            c->ranks != more->ranks || c->workers != more->workers || c->level != more->level ||
            c->hosts != more->hosts || strcmp(c->stages, more->stages) != 0 ||
            strcmp(c->collective, more->collective) != 0 || strcmp(c->alg, more->alg) != 0 ||
            strcmp(c->comm, more->comm) != 0 || strcmp(c->by, more->by) != 0 ||
            strcmp(c->why, more->why) != 0)
            continue;
        c->calls += more->calls;
        c->least = more->least < c->least ? more->least : c->least;
        c->most = more->most > c->most ? more->most : c->most;
        return;
    }
    if (l->choice_count == MOST_ENTRIES) {
        l->left_out++;
        return;
    }
    l->choice = mlt_xrealloc(l->choice, l->choice_count + 1ull, sizeof *l->choice);
    l->choice[l->choice_count++] = *more;
}

void mlt_ledger_note_plan(mlt_ledger *l, const mlt_team *team, const mlt_plan *plan)
{
    if (!l->choices || !plan->runs || plan->plain || team->ranks < 2)
        return;
    mlt_ctl_choice c = {
        .calls = team->place == 0 ? plan->runs : 0,
        .least = plan->said,
        .most = plan->said,
        .ranks = team->ranks,
        .workers = team->workers,
        .level = level_of(team),
        .hosts = team->hosts ? team->hosts->hosts : 1,
    };
    if (plan->choice.alg && plan->choice.alg->uses_hosts && !c.calls)
        return; // stages may differ from host to host: the first place speaks for all
    if (plan->stages)
        put(c.stages, sizeof c.stages, plan->stages);
    put(c.comm, sizeof c.comm, team->name);
    put(c.collective, sizeof c.collective, mlt_collective_names[plan->key.collective]);
    if (plan->choice.alg) {
        c.segment = plan->choice.segment;
        c.radix = plan->choice.radix;
        c.window = plan->choice.window;
        put(c.alg, sizeof c.alg, plan->choice.alg->name);
        put(c.by, sizeof c.by, plan->choice.by);
        put(c.why, sizeof c.why, plan->choice.passed[0] ? plan->choice.passed : plan->choice.why);
    } else if (plan->sched) {
        put(c.alg, sizeof c.alg, "a schedule of its own");
    }
    note_choice(l, &c);
}

// The entry like p, new if need be; NULL: there is no room.
static mlt_ctl_path *path_like(mlt_ledger *l, const mlt_ctl_path *p)
{
    for (uint32_t i = 0; i < l->path_count; i++) {
        mlt_ctl_path *o = &l->path[i];
        if (o->ranks == p->ranks && o->workers == p->workers && o->level == p->level &&
            strcmp(o->collective, p->collective) == 0 && strcmp(o->object, p->object) == 0 &&
            strcmp(o->by, p->by) == 0 && strcmp(o->stack, p->stack) == 0)
            return o;
    }
    if (l->path_count == MOST_ENTRIES) {
        l->left_out++;
        return NULL;
    }
    l->path = mlt_xrealloc(l->path, l->path_count + 1ull, sizeof *l->path);
    l->path[l->path_count] = *p;
    mlt_live_sheet_show(l->shown, &l->sheet, l->path, l->path_count + 1ull);
    return &l->path[l->path_count++];
}

void mlt_ledger_note(mlt_ledger *l, const mlt_ctl_path *sum)
{
    mlt_ctl_path one = *sum;
    mlt_ledger_clear(&one);
    mlt_ctl_path *own = path_like(l, &one);
    if (!own)
        return;
    own->calls += sum->calls;
    own->bytes += sum->bytes;
    for (int t = 0; t < MLT_TIMES; t++)
        mlt_clock_add(&own->time[t], &sum->time[t]);
}

// Whose calls they are. Its team, as it is at the first call, and its name stay as long as the path.
static void name_path(const mlt_team *team, mlt_path *path)
{
    mlt_ctl_path *p = &path->record;
    p->ranks = team->ranks;
    p->workers = team->workers;
    p->level = level_of(team);
    put(p->object, sizeof p->object, team->name);
    put(p->by, sizeof p->by, path->by);
    put(p->collective, sizeof p->collective, mlt_collective_names[path->collective]);
}

void mlt_ledger_show_path(mlt_ledger *l, const mlt_team *team, mlt_path *path)
{
    name_path(team, path);
    mlt_live_sheet_show(path->hidden ? NULL : l->shown, &path->sheet, &path->record, 1);
}

static uint32_t world_of(const mlt_team *team, uint32_t place)
{
    const mlt_run_place *p = &team->ordinary;
    return (uint32_t)(team->at   ? team->at[place].speaker
                      : p->world ? p->world(p->group, (int32_t)place)
                                 : p->base + (int32_t)place * p->stride);
}

// The last calls along a path, which it forgets.
static void note_calls(mlt_ledger *l, const mlt_team *team, mlt_path *path)
{
    uint64_t count = path->calls_made < MLT_PATH_CALLS ? path->calls_made : MLT_PATH_CALLS;
    if (!count || l->step_count + count > MOST_ENTRIES)
        return;
    mlt_ctl_step step = {.ranks = team->ranks,
                         .workers = team->workers,
                         .place = team->place,
                         .first = team->first,
                         .present = team->present,
                         .speaker = world_of(team, team->place),
                         .leader = world_of(team, 0),
                         .host = team->hosts ? team->hosts->of[team->place] : 0};
    put(step.object, sizeof step.object, path->record.object);
    put(step.by, sizeof step.by, path->record.by);
    put(step.collective, sizeof step.collective, path->record.collective);
    l->step = mlt_xrealloc(l->step, l->step_count + count, sizeof *l->step);
    for (uint64_t i = 0; i < count; i++) {
        const mlt_path_call *call = &path->calls[i];
        step.number = call->number;
        memcpy(step.time, call->time, sizeof step.time);
        l->step[l->step_count++] = step;
    }
    path->calls_made = 0;
}

void mlt_ledger_note_path(mlt_ledger *l, const mlt_team *team, mlt_path *path)
{
    bool timed = false;
    for (int t = 0; t < MLT_TIMES; t++)
        timed = timed || path->record.time[t].n;
    if (path->hidden || (!path->record.calls && !timed))
        return;
    name_path(team, path);
    mlt_ledger_note(l, &path->record);
    note_calls(l, team, path);
}

void mlt_ledger_trace(mlt_ledger *l, const char *line)
{
    const char *file = mlt_coll_conf_now.trace;
    if (l->trace < 0 && file && file[0]) {
        l->trace = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (l->trace < 0)
            mlt_fatal("setting 'coll_trace' is '%s', which cannot be opened: %s", file,
                      strerror(errno));
    } else if (l->trace < 0) {
        l->trace = STDERR_FILENO;
    }
    // One write a line: lines of several processes do not mix. A full disk takes no trace.
    if (write(l->trace, line, strlen(line)) < 0 && l->trace != STDERR_FILENO)
        mlt_fatal("the trace '%s' cannot be written: %s", file, strerror(errno));
}

static void send_all(int ctl, uint32_t worker, mlt_ctl_type type, const void *items, uint32_t count,
                     size_t size)
{
    uint32_t batch = (uint32_t)(MLT_CTL_MAX_BODY / size);
    for (uint32_t first = 0; first < count; first += batch) {
        uint32_t n = count - first < batch ? count - first : batch;
        mlt_ctl head = {.type = type,
                        .rank = MLT_CTL_NO_RANK,
                        .value = n,
                        .detail = worker,
                        .length = (uint32_t)(n * size)};
        // a launcher that is gone needs no report
        (void)mlt_ctl_send(ctl, &head, (const char *)items + first * size);
    }
}

// Without a launcher nobody draws a map.
static void say_paths(const mlt_ledger *l)
{
    for (uint32_t i = 0; i < l->path_count; i++) {
        const mlt_ctl_path *p = &l->path[i];
        const mlt_ctl_clock *c = &p->time[MLT_TIME_CALL];
        if (c->n)
            mlt_log("%s on %s along %s (%s): %llu calls, %llu bytes, mean time %.3f us",
                    p->collective, p->object, p->stack, p->by, (unsigned long long)p->calls,
                    (unsigned long long)p->bytes, (double)c->sum_ns / (double)c->n / 1e3);
    }
}

void mlt_ledger_send(mlt_ledger *l, int ctl, uint32_t worker)
{
    if (l->left_out)
        mlt_log("%llu kinds of collective calls are not in the report: there is room for %d",
                (unsigned long long)l->left_out, MOST_ENTRIES);
    if (ctl >= 0) {
        send_all(ctl, worker, MLT_CTL_CHOICES, l->choice, l->choice_count, sizeof *l->choice);
        send_all(ctl, worker, MLT_CTL_PATHS, l->path, l->path_count, sizeof *l->path);
        send_all(ctl, worker, MLT_CTL_STEPS, l->step, l->step_count, sizeof *l->step);
    } else {
        say_paths(l);
    }
    forget(l);
}
