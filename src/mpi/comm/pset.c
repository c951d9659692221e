// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/pset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "boot/ctl.h"
#include "boot/job.h"
#include "p2p/worker.h"

// In the order of MPI_Session_get_nth_pset. From NUMBERED on, a number follows the name.
typedef enum pset {
    PSET_WORLD,
    PSET_SELF,
    PSET_HOST,
    PSET_APP,
    PSET_PROCESS,
    PSET_WORKER,
    PSET_NUMBERED = PSET_HOST,
} pset;

static const char *const pset_names[MLT_PSETS] = {
    [PSET_WORLD] = "mpi://WORLD",         [PSET_SELF] = "mpi://SELF",
    [PSET_HOST] = "millet://host/",       [PSET_APP] = "millet://app/",
    [PSET_PROCESS] = "millet://process/", [PSET_WORKER] = "millet://worker/",
};

// The number of the caller's own set of that kind.
static uint32_t pset_own(const mlt_rank *me, pset set)
{
    const mlt_boot *boot = me->worker->boot;
    return set == PSET_HOST      ? boot->job->host
           : set == PSET_APP     ? (uint32_t)mlt_job_proc_at(boot->job, boot->proc)->app
           : set == PSET_PROCESS ? boot->proc
                                 : me->worker->index;
}

static mlt_map *map_of_proc(const mlt_job_proc *proc)
{
    return mlt_map_new_linear((int32_t)proc->ranks, (int32_t)proc->first_rank, 1);
}

// The ranks of all processes of host or application n. They are usually neighbours, and then each
// union is linear and takes no time.
static mlt_map *map_where(mlt_job *job, pset set, uint32_t n)
{
    mlt_map *map = NULL;
    for (uint32_t p = 0; p < job->procs; p++) {
        const mlt_job_proc *proc = mlt_job_proc_at(job, p);
        if ((set == PSET_HOST ? proc->host : (uint32_t)proc->app) != n)
            continue;
        mlt_map *before = map, *part = map_of_proc(proc);
        map = before ? mlt_map_union(before, part) : mlt_map_hold(part);
        mlt_map_drop(before);
        mlt_map_drop(part);
    }
    return map;
}

// NULL: there is no n-th.
static mlt_map *pset_map(mlt_rank *me, pset set, uint32_t n)
{
    mlt_job *job = me->worker->boot->job;
    switch (set) {
    case PSET_WORLD:
        return mlt_map_new_linear((int32_t)me->worker->world_size, 0, 1);
    case PSET_SELF:
        return mlt_map_new_linear(1, me->world, 1);
    case PSET_HOST:
    case PSET_APP:
        return map_where(job, set, n);
    case PSET_PROCESS:
        return n < job->procs ? map_of_proc(mlt_job_proc_at(job, n)) : NULL;
    case PSET_WORKER:
        break;
    }
    if (n >= job->workers)
        return NULL;
    const mlt_job_location *worker = mlt_job_location_at(job, n);
    return mlt_map_new_linear((int32_t)worker->ranks, (int32_t)worker->first_rank, 1);
}

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
        return pset_map(me, PSET_HOST, pset_own(me, PSET_HOST));
    for (int i = 0; i < MLT_PSETS; i++) {
        size_t length = strlen(pset_names[i]);
        uint32_t n = 0;
        if (strncasecmp(name, pset_names[i], length) == 0 &&
            (i >= PSET_NUMBERED ? pset_read_number(name + length, &n) : name[length] == '\0'))
            return pset_map(me, (pset)i, n);
    }
    return NULL;
}

void mlt_pset_name(mlt_rank *me, int n, char name[MLT_PSET_NAME])
{
    if (n >= PSET_NUMBERED)
        snprintf(name, MLT_PSET_NAME, "%s%u", pset_names[n], pset_own(me, (pset)n));
    else
        snprintf(name, MLT_PSET_NAME, "%s", pset_names[n]);
}
