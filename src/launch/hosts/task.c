// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "boot/job.h"
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

// The lists: {identity, head_host, dir, flags, numbers, texts}, {name and user of each host}, {numbers
// of each run}, and for each app {argv}, {environment}, {dir, path, gpus}. A text that may be NULL is "" then,
// and has a plus before it otherwise.
enum { TASK_HEAD, TASK_HOSTS, TASK_RUNS, TASK_APPS, APP_LISTS = 3, RUN_NUMBERS = 6 };

// ---- Writing

static void task_put_number(mlt_texts *to, uint64_t n)
{
    mlt_texts_add(to, mlt_text_of("%llu", (unsigned long long)n));
}

static void task_put_text(mlt_texts *to, const char *text)
{
    mlt_texts_add(to, text ? mlt_text_of("+%s", text) : mlt_text_of("%s", ""));
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

static void put_plan(mlt_texts *hosts, mlt_texts *runs, const mlt_placement *plan)
{
    for (uint32_t h = 0; h < plan->host_count; h++) {
        mlt_texts_add(hosts, mlt_text_of("%s", plan->hosts[h].host.name));
        task_put_text(hosts, plan->hosts[h].host.user);
    }
    for (uint32_t p = 0; p < plan->proc_count;) {
        run kind;
        p = find_run(plan, p, &kind);
        const uint32_t numbers[RUN_NUMBERS] = {kind.app,  kind.host,    kind.hosts,
                                               kind.each, kind.workers, kind.ranks};
        for (int i = 0; i < RUN_NUMBERS; i++)
            task_put_number(runs, numbers[i]);
    }
}

static void put_app(mlt_texts lists[APP_LISTS], const mlt_options *options, const mlt_app *app)
{
    mlt_env env;
    mlt_env_collect(&env, options, app);
    for (char **word = app->argv; *word; word++)
        mlt_texts_add(&lists[0], mlt_text_of("%s", *word));
    for (size_t i = 0; i < env.common; i++)
        if (!mlt_env_is_local(env.items[i], options, app))
            mlt_texts_add(&lists[1], mlt_text_of("%s", env.items[i]));
    task_put_text(&lists[2], app->dir);
    task_put_text(&lists[2], app->path);
    task_put_text(&lists[2], app->gpus);
    mlt_env_fini(&env);
}

static void put_head(mlt_texts *to, const mlt_task *task)
{
    const mlt_options *o = &task->options;
    task_put_number(to, task->identity);
    task_put_number(to, task->head_host);
    task_put_text(to, task->dir);
#define PUT(member) task_put_number(to, o->member);
    FLAGS(PUT)
#undef PUT
#define PUT(member) task_put_number(to, (uint64_t)(int64_t)o->member);
    NUMBERS(PUT)
#undef PUT
#define PUT(member) task_put_text(to, o->member);
    TEXTS(PUT)
#undef PUT
}

char *mlt_task_pack(const mlt_task *task, size_t *size)
{
    const mlt_options *o = &task->options;
    uint32_t count = TASK_APPS + APP_LISTS * (uint32_t)o->app_count;
    mlt_texts *texts = mlt_xcalloc(count, sizeof *texts);
    static char *none[] = {NULL};
    put_head(&texts[TASK_HEAD], task);
    put_plan(&texts[TASK_HOSTS], &texts[TASK_RUNS], &task->plan);
    for (size_t a = 0; a < o->app_count; a++)
        put_app(&texts[TASK_APPS + APP_LISTS * a], o, &o->apps[a]);
    mlt_lists lists = {.items = mlt_xcalloc(count, sizeof *lists.items), .count = count};
    for (uint32_t i = 0; i < count; i++)
        lists.items[i] = texts[i].items ? texts[i].items : none;
    char *packed = mlt_lists_pack(&lists, size);
    if (!packed)
        mlt_no_room("a task");
    for (uint32_t i = 0; i < count; i++)
        mlt_texts_free(&texts[i]);
    free(lists.items);
    free(texts);
    return packed;
}

// ---- Reading

typedef struct hosts_task_reader {
    char **at;       // the next text of a list
    const char *why; // NULL: all was well so far
    uint32_t room;   // of the plan's processes
} hosts_task_reader;

static void hosts_task_damaged(hosts_task_reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
}

static char *task_next(hosts_task_reader *r)
{
    static char nothing[] = "";
    if (*r->at)
        return *r->at++;
    hosts_task_damaged(r, "it is cut");
    return nothing;
}

static uint64_t task_number(hosts_task_reader *r, uint64_t most)
{
    char *end, *text = task_next(r);
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!errno && end != text && !*end && n <= most)
        return n;
    hosts_task_damaged(r, "it has a wrong number");
    return 0;
}

static char *task_text(hosts_task_reader *r)
{
    char *text = task_next(r);
    return *text == '+' ? text + 1 : NULL;
}

static void add_procs(hosts_task_reader *r, mlt_placement *plan, const run *kind, uint32_t host)
{
    mlt_placement_host *on = &plan->hosts[host];
    for (uint32_t i = 0; i < kind->each && !r->why; i++) {
        if (on->workers > MLT_JOB_MAX_WORKERS - kind->workers ||
            plan->workers > MLT_PLACEMENT_MAX_WORKERS - kind->workers ||
            plan->ranks > INT32_MAX - kind->ranks) {
            hosts_task_damaged(r, "it has too many processes");
            return;
        }
        MLT_ARRAY_WANT(plan->procs, plan->proc_count + 1, r->room);
        mlt_placement_add(
            plan, on,
            (mlt_placement_proc){
                .app = kind->app, .host = host, .workers = kind->workers, .ranks = kind->ranks});
    }
}

static void take_plan(hosts_task_reader *r, const mlt_lists *lists, mlt_placement *plan)
{
    size_t hosts = mlt_lists_length(lists->items[TASK_HOSTS]) / 2;
    plan->host_count = hosts <= MLT_HOSTS_MOST ? (uint32_t)hosts : 0;
    plan->hosts = mlt_xcalloc(plan->host_count, sizeof *plan->hosts);
    r->at = lists->items[TASK_HOSTS];
    for (uint32_t h = 0; h < plan->host_count; h++)
        plan->hosts[h].host = (mlt_hosts_entry){.name = task_next(r), .user = task_text(r)};
    r->at = lists->items[TASK_RUNS];
    while (*r->at && !r->why) {
        uint32_t numbers[RUN_NUMBERS];
        for (int i = 0; i < RUN_NUMBERS; i++)
            numbers[i] = (uint32_t)task_number(r, INT32_MAX);
        run kind = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
        if (kind.workers == 0 || kind.workers > MLT_JOB_MAX_WORKERS || kind.ranks < kind.workers ||
            kind.hosts == 0 || kind.hosts > plan->host_count ||
            kind.host > plan->host_count - kind.hosts)
            hosts_task_damaged(r, "its plan is wrong");
        for (uint32_t h = 0; h < kind.hosts && !r->why; h++)
            add_procs(r, plan, &kind, kind.host + h);
    }
}

static void take_apps(hosts_task_reader *r, const mlt_lists *lists, mlt_options *o)
{
    o->app_count = (lists->count - TASK_APPS) / APP_LISTS;
    o->apps = mlt_xcalloc(o->app_count, sizeof *o->apps);
    for (size_t a = 0; a < o->app_count; a++) {
        char ***of = &lists->items[TASK_APPS + APP_LISTS * a];
        mlt_app *app = &o->apps[a];
        app->argv = of[0];
        for (char **variable = of[1]; *variable; variable++)
            mlt_texts_add(&app->env, *variable);
        app->env_mode = MLT_ENV_NONE;
        r->at = of[2];
        app->dir = task_text(r);
        app->path = task_text(r);
        app->gpus = task_text(r);
        if (!app->argv[0])
            hosts_task_damaged(r, "a program is missing");
    }
}

static void take_head(hosts_task_reader *r, const mlt_lists *lists, mlt_task *task)
{
    mlt_options *o = &task->options;
    r->at = lists->items[TASK_HEAD];
    task->identity = task_number(r, UINT64_MAX);
    task->head_host = (uint32_t)task_number(r, UINT32_MAX);
    task->dir = task_text(r);
#define TAKE(member) o->member = task_number(r, 1) != 0;
    FLAGS(TAKE)
#undef TAKE
#define TAKE(member) o->member = (int64_t)task_number(r, UINT64_MAX);
    NUMBERS(TAKE)
#undef TAKE
#define TAKE(member) o->member = task_text(r);
    TEXTS(TAKE)
#undef TAKE
}

static void hosts_task_check(hosts_task_reader *r, const mlt_task *task, uint32_t host)
{
    const mlt_placement *plan = &task->plan;
    bool right = plan->proc_count > 0 && host < plan->host_count && !r->why;
    for (uint32_t p = 0; right && p < plan->proc_count; p++)
        right = plan->procs[p].app < task->options.app_count;
    for (uint32_t h = 0; right && h < plan->host_count; h++)
        right = plan->hosts[h].ranks > 0;
    for (size_t a = 0; right && a < task->options.app_count; a++)
        for (size_t i = 0; right && i < task->options.apps[a].env.count; i++)
            right = strchr(task->options.apps[a].env.items[i], '=');
    if (!right || !task->dir)
        hosts_task_damaged(r, "it does not fit together");
}

bool mlt_task_unpack(mlt_task *task, uint32_t host, const char *bytes, size_t size, char *why,
                     size_t why_size)
{
    hosts_task_reader r = {.why = NULL};
    *task = (mlt_task){.identity = 0};
    if (!mlt_lists_unpack(&task->lists, bytes, size) || task->lists.count <= TASK_APPS ||
        (task->lists.count - TASK_APPS) % APP_LISTS) {
        hosts_task_damaged(&r, "it is cut");
    } else {
        take_head(&r, &task->lists, task);
        take_plan(&r, &task->lists, &task->plan);
        take_apps(&r, &task->lists, &task->options);
        hosts_task_check(&r, task, host);
    }
    if (!r.why) {
        task->plan.hosts[host].host.here = true;
        return true;
    }
    snprintf(why, why_size, "what mpirun sent is damaged: %s", r.why);
    mlt_task_free(task);
    return false;
}

void mlt_task_free(mlt_task *task)
{
    mlt_options *o = &task->options;
    for (size_t a = 0; a < o->app_count; a++)
        free(o->apps[a].env.items);
    free(o->apps);
    free(task->plan.hosts);
    free(task->plan.procs);
    mlt_lists_free(&task->lists);
    *task = (mlt_task){.identity = 0};
}
