// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan/grain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/numbers.h"
#include "base/text.h"
#include "fiber/stack.h"
#include "image/mode.h"
#include "launch/plan/env.h"
#include "launch/plan/plan.h"
#include "launch/program/libraries.h"
#include "launch/program/obstacle.h"
#include "launch/say.h"

enum { FILES_A_RANK = 8 };
static const uint64_t most_stacks = UINT64_C(1) << 44; // bytes of addresses, of the 2^47 there are

static void refuse_contradiction(const mlt_app *app)
{
    bool fibers = app->said_fine && app->fine > 1;
    const char *other = NULL;
    if (app->grain == MLT_GRAIN_PROCESS || app->grain == MLT_GRAIN_THREAD)
        other = fibers ? "-nfg puts several into each worker" : NULL;
    if (app->grain == MLT_GRAIN_PROCESS && app->said_workers && app->workers == MLT_WORKERS_THREAD)
        other = "--workers makes them threads";
    if (app->grain == MLT_GRAIN_THREAD && app->said_workers && app->workers == MLT_WORKERS_PROCESS)
        other = "--workers makes them processes";
    if (other)
        mlt_quit(MLT_EXIT_USAGE,
                 "--grain %s says what each rank of '%s' is, but %s; leave one of them out",
                 mlt_option_grains[app->grain], app->argv[0], other);
}

// What holds for a process holds for all ranks in it together. NULL: nothing that matters.
static char *limit_of_process(uint64_t ranks)
{
    static const struct {
        int resource;
        const char *what;
    } limits[] = {{RLIMIT_AS, "addresses (ulimit -v)"},
                  {RLIMIT_DATA, "memory (ulimit -d)"},
                  {RLIMIT_CPU, "time (ulimit -t)"}};
    struct rlimit limit;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) == 0 &&
            limit.rlim_cur != RLIM_INFINITY)
            return mlt_text_of("a process's %s are limited", limits[i].what);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / FILES_A_RANK < ranks)
        return mlt_text_of("a process may open only %llu files (ulimit -n)",
                           (unsigned long long)limit.rlim_cur);
    return NULL;
}

// The stack that a process would have; 0: it has no limit.
static uint64_t stack_of_process(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return mlt_stack_size_for(1);
    return limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

static char *stack_obstacle(const mlt_options *o, uint64_t ranks)
{
    uint64_t stack = stack_of_process();
    char text[MLT_NUMBER_BYTES];
    if (o->stack_size || getenv("MILLET_STACK_SIZE"))
        return NULL; // the user knows
    if (!stack)
        return mlt_text_of("a process's stack has no limit (ulimit -s)");
    if (stack > mlt_stack_size_for((uint32_t)ranks) && stack > most_stacks / ranks)
        return mlt_text_of("there is no room for so many stacks of %s (ulimit -s)",
                           mlt_bytes(text, stack));
    return NULL;
}

static bool shares_globals(const mlt_options *o, const mlt_app *app)
{
    mlt_env env;
    mlt_env_init(&env, o, app);
    const char *mode = mlt_env_value(&env, "MILLET_GLOBALS");
    bool shared = strcmp(mode ? mode : MLT_GLOBALS_DEFAULT, "shared") == 0;
    mlt_env_fini(&env);
    return shared;
}

// Why the ranks of a section had better be processes; NULL: they may be fibers. The caller frees it.
static char *obstacle(const mlt_options *o, const mlt_app *app, const char *path, uint64_t ranks)
{
    if (o->gdb >= 0 || o->stdin_rank == MLT_STDIN_ALL)
        return mlt_text_of("%s is for processes", o->gdb >= 0 ? "--gdb" : "--stdin all");
    if (!path)
        return mlt_text_of("the program is not on this host");
    mlt_libraries libraries;
    const char *dir = app->dir ? app->dir : o->dir;
    mlt_libraries_find(&libraries, path, dir, o, app);
    char *why = mlt_obstacle_find(path, dir, &libraries, shares_globals(o, app));
    mlt_libraries_fini(&libraries);
    if (!why)
        why = limit_of_process(ranks);
    return why ? why : stack_obstacle(o, ranks);
}

// Fibers get stacks as large as processes would have, where there is room.
static void widen_stacks(const mlt_options *o, mlt_app *app, uint64_t ranks)
{
    uint64_t stack = stack_of_process();
    if (o->stack_size || getenv("MILLET_STACK_SIZE") ||
        stack <= mlt_stack_size_for((uint32_t)ranks) || stack > most_stacks / ranks)
        return;
    mlt_texts_add(&app->env, mlt_text_of("MILLET_STACK_SIZE=%llu", (unsigned long long)stack));
}

// What the whole job has.
typedef struct totals {
    uint64_t ranks;
    uint32_t cores, hosts; // cores: of one host
} totals;

// The ranks of a process: hosts have about as many each.
static uint64_t ranks_a_host(uint64_t ranks, const totals *job)
{
    return (ranks + job->hosts - 1) / job->hosts;
}

static void pack(const mlt_options *o, mlt_app *app, const totals *job)
{
    uint64_t ranks = mlt_placement_ranks_asked(app), workers = job->cores * ranks / job->ranks;
    char number[MLT_NUMBER_BYTES];
    workers = workers ? workers : 1;
    app->packed = (uint32_t)(workers < ranks ? workers : ranks);
    widen_stacks(o, app, ranks_a_host(ranks, job));
    app->told = mlt_text_of("%s ranks packed as fibers into %u worker%s%s (grain %s)",
                            mlt_number(number, ranks), app->packed, app->packed == 1 ? "" : "s",
                            job->hosts > 1 ? " a host" : "", mlt_option_grains[app->grain]);
}

static void decide(const mlt_options *o, mlt_app *app, const char *path, const totals *job)
{
    uint64_t ranks = mlt_placement_ranks_asked(app);
    char number[MLT_NUMBER_BYTES];
    uint64_t cores = (uint64_t)job->cores * job->hosts;
    char *why = job->ranks <= cores ? mlt_text_of("there are no more ranks than cores")
                                    : obstacle(o, app, path, ranks_a_host(ranks, job));
    if (!why) {
        pack(o, app, job);
        return;
    }
    app->workers = MLT_WORKERS_PROCESS;
    app->told =
        mlt_text_of("%s process%s: %s", mlt_number(number, ranks), ranks == 1 ? "" : "es", why);
    free(why);
}

void mlt_grain_decide(mlt_options *options, const char *const *paths, uint32_t cores)
{
    totals job = {.cores = cores, .hosts = mlt_placement_hosts_asked(options)};
    for (size_t a = 0; a < options->app_count; a++)
        job.ranks += mlt_placement_ranks_asked(&options->apps[a]);
    for (size_t a = 0; a < options->app_count; a++) {
        mlt_app *app = &options->apps[a];
        if (app->said_grain)
            refuse_contradiction(app);
        if (app->said_fine || (app->workers != MLT_WORKERS_AUTO && app->grain != MLT_GRAIN_FIBER))
            continue; // the user has decided
        if (app->grain == MLT_GRAIN_AUTO)
            decide(options, app, paths[a], &job);
        else if (app->grain == MLT_GRAIN_FIBER)
            pack(options, app, &job);
        else if (app->grain == MLT_GRAIN_THREAD)
            app->workers = MLT_WORKERS_THREAD;
    }
}
