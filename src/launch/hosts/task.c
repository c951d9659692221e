// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/job.h"
#include "launch/hosts/frame.h"
#include "launch/plan/env.h"

// Flags of the options, in their order.
#define FLAGS(X)                                                                                   \
    X(label) X(timestamp) X(held) X(report) X(verbose) X(quiet) X(merge) X(encrypt) X(stage)

// Texts of the options, which may be NULL.
#define TEXTS(X)                                                                                   \
    X(dir)                                                                                         \
    X(bind_to)                                                                                     \
    X(cpu_set)                                                                                     \
    X(map_by) X(outfile) X(errfile) X(output_directory) X(rsh) X(agent) X(iface) X(port_range)

// Numbers of the options.
#define NUMBERS(X) X(gdb) X(stdin_rank) X(silent_ms) X(fan_out)

// Processes of one kind: `each` on each of `hosts` hosts.
typedef struct run {
    uint32_t app, host, hosts, each, workers, ranks;
} run;

enum { NO_TEXT = -1 };

// ---- Writing

static void put_number(mlt_text *to, uint64_t n)
{
    mlt_text_put(to, &n, sizeof n);
}

static void hosts_task_put_text(mlt_text *to, const char *text)
{
    int32_t length = text ? (int32_t)strlen(text) : NO_TEXT;
    mlt_text_put(to, &length, sizeof length);
    if (text)
        mlt_text_put(to, text, (size_t)length);
}

static void put_list(mlt_text *to, char *const *items)
{
    uint32_t count = 0;
    while (items && items[count])
        count++;
    put_number(to, count);
    for (uint32_t i = 0; i < count; i++)
        hosts_task_put_text(to, items[i]);
}

static bool same_kind(const mlt_placement_proc *p, const mlt_placement_proc *q)
{
    return p->app == q->app && p->workers == q->workers && p->ranks == q->ranks;
}

// The run that begins with process p; returns the process after it.
static uint32_t find_run(const mlt_placement *plan, uint32_t p, run *out)
{
    const mlt_placement_proc *first = &plan->procs[p];
    uint32_t end = p;
    *out = (run){first->app, first->host, 1, 0, first->workers, first->ranks};
    while (end < plan->proc_count && same_kind(first, &plan->procs[end]) &&
           plan->procs[end].host == first->host)
        end++;
    out->each = end - p;
    for (;;) { // whole hosts of the same
        uint32_t next = 0;
        while (next < out->each && end + next < plan->proc_count &&
               same_kind(first, &plan->procs[end + next]) &&
               plan->procs[end + next].host == first->host + out->hosts)
            next++;
        if (next < out->each)
            return end;
        end += next;
        out->hosts++;
    }
}

static void put_plan(mlt_text *to, const mlt_placement *plan)
{
    run *runs = NULL;
    uint32_t count = 0, room = 0;
    for (uint32_t p = 0; p < plan->proc_count;) {
        MLT_ARRAY_WANT(runs, count + 1, room);
        p = find_run(plan, p, &runs[count++]);
    }
    put_number(to, plan->host_count);
    for (uint32_t h = 0; h < plan->host_count; h++) {
        hosts_task_put_text(to, plan->hosts[h].host.name);
        hosts_task_put_text(to, plan->hosts[h].host.user);
    }
    put_number(to, count);
    mlt_text_put(to, runs, count * sizeof *runs);
    free(runs);
}

static void put_app(mlt_text *to, const mlt_options *options, const mlt_app *app)
{
    mlt_env env;
    mlt_texts sent = {NULL, 0};
    mlt_env_collect(&env, options, app);
    for (size_t i = 0; i < env.common; i++)
        if (!mlt_env_is_local(env.items[i], options, app))
            mlt_texts_add(&sent, env.items[i]);
    put_list(to, app->argv);
    put_list(to, sent.items);
    hosts_task_put_text(to, app->dir);
    hosts_task_put_text(to, app->path);
    free(sent.items);
    mlt_env_fini(&env);
}

char *mlt_task_pack(const mlt_task *task, size_t *size)
{
    const mlt_options *o = &task->options;
    mlt_text to = {0};
    put_number(&to, task->identity);
    put_number(&to, task->head_host);
    hosts_task_put_text(&to, task->dir);
#define PUT(member) put_number(&to, o->member);
    FLAGS(PUT)
#undef PUT
#define PUT(member) hosts_task_put_text(&to, o->member);
    TEXTS(PUT)
#undef PUT
#define PUT(member) put_number(&to, (uint64_t)(int64_t)o->member);
    NUMBERS(PUT)
#undef PUT
    put_plan(&to, &task->plan);
    put_number(&to, o->app_count);
    for (size_t a = 0; a < o->app_count; a++)
        put_app(&to, o, &o->apps[a]);
    *size = to.length;
    return to.text;
}

// ---- Reading

typedef struct hosts_task_reader {
    const char *at, *end;
    const char *why; // NULL: all was well so far
    uint32_t room;   // of the plan's processes
} hosts_task_reader;

static bool hosts_task_damaged(hosts_task_reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    r->at = r->end;
    return false;
}

static bool hosts_task_take(hosts_task_reader *r, void *out, size_t size)
{
    memset(out, 0, size);
    if ((size_t)(r->end - r->at) < size)
        return hosts_task_damaged(r, "it is cut");
    memcpy(out, r->at, size);
    r->at += size;
    return true;
}

static uint64_t hosts_task_take_number(hosts_task_reader *r)
{
    uint64_t n;
    (void)hosts_task_take(r, &n, sizeof n);
    return n;
}

// A number of things of which each takes a byte or more.
static uint32_t hosts_task_take_count(hosts_task_reader *r, uint64_t least, uint64_t most)
{
    uint64_t n = hosts_task_take_number(r);
    if (n < least || n > most || n > (size_t)(r->end - r->at)) {
        (void)hosts_task_damaged(r, "it has a wrong number");
        return 0;
    }
    return (uint32_t)n;
}

static char *hosts_task_take_text(hosts_task_reader *r)
{
    int32_t length;
    if (!hosts_task_take(r, &length, sizeof length) || length == NO_TEXT)
        return NULL;
    if (length < 0 || length > r->end - r->at || memchr(r->at, '\0', (size_t)length)) {
        (void)hosts_task_damaged(r, "it has a wrong text");
        return NULL;
    }
    char *text = mlt_take((size_t)length + 1, 1);
    memcpy(text, r->at, (size_t)length);
    r->at += length;
    return text;
}

static char *take_some_text(hosts_task_reader *r)
{
    char *text = hosts_task_take_text(r);
    if (!text)
        (void)hosts_task_damaged(r, "a text is missing");
    return text;
}

static mlt_texts take_list(hosts_task_reader *r, uint32_t least)
{
    mlt_texts list = {NULL, 0};
    uint32_t count = hosts_task_take_count(r, least, UINT32_MAX);
    for (uint32_t i = 0; i < count && !r->why; i++) {
        char *text = take_some_text(r);
        if (text)
            mlt_texts_add(&list, text);
    }
    return list;
}

static void add_procs(hosts_task_reader *r, mlt_placement *plan, const run *kind, uint32_t host)
{
    mlt_placement_host *on = &plan->hosts[host];
    for (uint32_t i = 0; i < kind->each && !r->why; i++) {
        if (on->workers > MLT_JOB_MAX_WORKERS - kind->workers ||
            plan->workers > MLT_PLACEMENT_MAX_WORKERS - kind->workers ||
            plan->ranks > INT32_MAX - kind->ranks) {
            (void)hosts_task_damaged(r, "it has too many processes");
            return;
        }
        MLT_ARRAY_WANT(plan->procs, plan->proc_count + 1, r->room);
        plan->procs[plan->proc_count++] = (mlt_placement_proc){.app = kind->app,
                                                               .host = host,
                                                               .first_worker = plan->workers,
                                                               .workers = kind->workers,
                                                               .first_rank = plan->ranks,
                                                               .ranks = kind->ranks,
                                                               .first_local = on->ranks};
        plan->workers += kind->workers;
        plan->ranks += kind->ranks;
        on->procs++;
        on->workers += kind->workers;
        on->ranks += kind->ranks;
    }
}

static void take_plan(hosts_task_reader *r, mlt_placement *plan)
{
    plan->host_count = hosts_task_take_count(r, 1, MLT_HOSTS_MOST);
    plan->hosts = mlt_take(plan->host_count, sizeof *plan->hosts);
    for (uint32_t h = 0; h < plan->host_count && !r->why; h++)
        plan->hosts[h].host =
            (mlt_hosts_entry){.name = take_some_text(r), .user = hosts_task_take_text(r)};
    uint32_t runs = hosts_task_take_count(r, 1, MLT_PLACEMENT_MAX_WORKERS);
    for (uint32_t i = 0; i < runs && !r->why; i++) {
        run kind;
        if (!hosts_task_take(r, &kind, sizeof kind))
            return;
        if (kind.workers == 0 || kind.workers > MLT_JOB_MAX_WORKERS || kind.ranks < kind.workers ||
            kind.ranks > INT32_MAX || kind.hosts == 0 || kind.hosts > plan->host_count ||
            kind.host > plan->host_count - kind.hosts) {
            (void)hosts_task_damaged(r, "its plan is wrong");
            return;
        }
        for (uint32_t h = 0; h < kind.hosts && !r->why; h++)
            add_procs(r, plan, &kind, kind.host + h);
    }
}

static void take_apps(hosts_task_reader *r, mlt_options *o)
{
    o->app_count = hosts_task_take_count(r, 1, UINT32_MAX);
    o->apps = mlt_take(o->app_count, sizeof *o->apps);
    for (size_t a = 0; a < o->app_count && !r->why; a++) {
        mlt_app *app = &o->apps[a];
        app->argv = take_list(r, 1).items;
        app->env = take_list(r, 0);
        app->env_mode = MLT_ENV_NONE;
        app->dir = hosts_task_take_text(r);
        app->path = hosts_task_take_text(r);
    }
}

static void hosts_task_check(hosts_task_reader *r, const mlt_task *task, uint32_t host)
{
    const mlt_placement *plan = &task->plan;
    bool right = plan->proc_count > 0 && host < plan->host_count && r->at == r->end && !r->why;
    for (uint32_t p = 0; right && p < plan->proc_count; p++)
        right = plan->procs[p].app < task->options.app_count;
    for (uint32_t h = 0; right && h < plan->host_count; h++)
        right = plan->hosts[h].ranks > 0;
    for (size_t a = 0; right && a < task->options.app_count; a++)
        for (size_t i = 0; right && i < task->options.apps[a].env.count; i++)
            right = strchr(task->options.apps[a].env.items[i], '=');
    if (!right || !task->dir)
        (void)hosts_task_damaged(r, "it does not fit together");
}

bool mlt_task_unpack(mlt_task *task, uint32_t host, const char *bytes, size_t size, char *why,
                     size_t why_size)
{
    hosts_task_reader r = {.at = bytes, .end = bytes + size};
    *task = (mlt_task){.identity = hosts_task_take_number(&r)};
    mlt_options *o = &task->options;
    task->head_host = (uint32_t)hosts_task_take_number(&r);
    task->dir = hosts_task_take_text(&r);
#define TAKE(member) o->member = hosts_task_take_number(&r) != 0;
    FLAGS(TAKE)
#undef TAKE
#define TAKE(member) o->member = hosts_task_take_text(&r);
    TEXTS(TAKE)
#undef TAKE
#define TAKE(member) o->member = (int64_t)hosts_task_take_number(&r);
    NUMBERS(TAKE)
#undef TAKE
    take_plan(&r, &task->plan);
    take_apps(&r, o);
    hosts_task_check(&r, task, host);
    if (!r.why) {
        task->plan.hosts[host].host.here = true;
        return true;
    }
    snprintf(why, why_size, "what mpirun sent is damaged: %s", r.why);
    mlt_task_free(task);
    return false;
}

static void hosts_task_free_list(char **items)
{
    for (size_t i = 0; items && items[i]; i++)
        free(items[i]);
    free(items);
}

void mlt_task_free(mlt_task *task)
{
    mlt_options *o = &task->options;
#define HOSTS_TASK_FREE(member) free(o->member);
    TEXTS(HOSTS_TASK_FREE)
#undef FREE
    for (size_t a = 0; a < o->app_count; a++) {
        hosts_task_free_list(o->apps[a].argv);
        hosts_task_free_list(o->apps[a].env.items);
        free(o->apps[a].dir);
        free(o->apps[a].path);
    }
    free(o->apps);
    for (uint32_t h = 0; h < task->plan.host_count; h++) {
        free((char *)(uintptr_t)task->plan.hosts[h].host.name);
        free((char *)(uintptr_t)task->plan.hosts[h].host.user);
    }
    free(task->plan.hosts);
    free(task->plan.procs);
    free((char *)(uintptr_t)task->dir);
    *task = (mlt_task){.identity = 0};
}
