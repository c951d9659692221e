// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/pset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "boot/ctl.h"
#include "boot/job.h"
#include "p2p/worker.h"

typedef mlt_map *map_function(mlt_rank *me, uint32_t n);
typedef uint32_t own_function(const mlt_rank *me);

static mlt_map *world_map(mlt_rank *me, uint32_t n)
{
    return mlt_map_new_linear((int32_t)me->worker->world_size, 0, 1);
}

static mlt_map *self_map(mlt_rank *me, uint32_t n)
{
    return mlt_map_new_linear(1, me->world, 1);
}

static mlt_map *proc_map(mlt_rank *me, uint32_t n)
{
    mlt_job *job = me->worker->boot->job;
    if (n >= job->procs)
        return NULL;
    const mlt_job_proc *proc = mlt_job_proc_at(job, n);
    return mlt_map_new_linear((int32_t)proc->ranks, (int32_t)proc->first_rank, 1);
}

static mlt_map *worker_map(mlt_rank *me, uint32_t n)
{
    mlt_job *job = me->worker->boot->job;
    if (n >= job->workers)
        return NULL;
    const mlt_job_place *worker = mlt_job_place_at(job, n);
    return mlt_map_new_linear((int32_t)worker->ranks, (int32_t)worker->first_rank, 1);
}

static uint32_t app_of(const mlt_job_proc *proc)
{
    return proc->app;
}

static uint32_t pset_host_of(const mlt_job_proc *proc)
{
    return proc->host;
}

// The ranks of all processes of which that is n. They are usually neighbours, and then each union
// is linear and takes no time.
static mlt_map *map_where(mlt_rank *me, uint32_t (*what)(const mlt_job_proc *proc), uint32_t n)
{
    mlt_job *job = me->worker->boot->job;
    mlt_map *map = NULL;
    for (uint32_t p = 0; p < job->procs; p++) {
        if (what(mlt_job_proc_at(job, p)) != n)
            continue;
        mlt_map *before = map, *part = proc_map(me, p);
        map = before ? mlt_map_union(before, part) : mlt_map_hold(part);
        mlt_map_drop(before);
        mlt_map_drop(part);
    }
    return map;
}

static mlt_map *app_map(mlt_rank *me, uint32_t n)
{
    return map_where(me, app_of, n);
}

static mlt_map *host_map(mlt_rank *me, uint32_t n)
{
    return map_where(me, pset_host_of, n);
}

static uint32_t own_proc(const mlt_rank *me)
{
    return me->worker->boot->proc;
}

static uint32_t own_worker(const mlt_rank *me)
{
    return me->worker->index;
}

static uint32_t pset_own_host(const mlt_rank *me)
{
    return me->worker->boot->job->host;
}

static uint32_t own_app(const mlt_rank *me)
{
    return mlt_job_proc_at(me->worker->boot->job, own_proc(me))->app;
}

// In the order of MPI_Session_get_nth_pset. With `own` a number follows the name, and own is the
// caller's.
static const struct {
    const char *name;
    map_function *map;
    own_function *own;
} sets[MLT_PSETS] = {
    {"mpi://WORLD", world_map, NULL},
    {"mpi://SELF", self_map, NULL},
    {"millet://host/", host_map, pset_own_host},
    {"millet://app/", app_map, own_app},
    {"millet://process/", proc_map, own_proc},
    {"millet://worker/", worker_map, own_worker},
};

// A number without sign, leading zeros or anything after it.
static bool pset_read_number(const char *text, uint32_t *n)
{
    char again[16];
    *n = (uint32_t)strtoul(text, NULL, 10);
    snprintf(again, sizeof again, "%u", *n);
    return strcmp(text, again) == 0;
}

mlt_map *mlt_pset_map(mlt_rank *me, const char *name)
{
    if (strcasecmp(name, "millet://host") == 0) // the caller's own
        return host_map(me, pset_own_host(me));
    for (int i = 0; i < MLT_PSETS; i++) {
        size_t length = strlen(sets[i].name);
        uint32_t n = 0;
        if (strncasecmp(name, sets[i].name, length) != 0)
            continue;
        if (sets[i].own ? pset_read_number(name + length, &n) : name[length] == '\0')
            return sets[i].map(me, n);
    }
    return NULL;
}

void mlt_pset_name(mlt_rank *me, int n, char name[MLT_PSET_NAME])
{
    if (sets[n].own)
        snprintf(name, MLT_PSET_NAME, "%s%u", sets[n].name, sets[n].own(me));
    else
        snprintf(name, MLT_PSET_NAME, "%s", sets[n].name);
}
