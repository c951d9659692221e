// SPDX-License-Identifier: BSD-3-Clause
#include "coll/where.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "boot/job.h"
#include "coll/choose.h"
#include "coll/settings.h"
#include "wire/wire.h"

enum { IN_TURN = 1 }; // of setting pretend_order

// Pretended ones count.
static uint32_t hosts_of_job(const mlt_job *job)
{
    int64_t wish = mlt_coll_conf_now.pretend_hosts;
    if (job->hosts > 1 || wish < 2)
        return job->hosts;
    return wish < job->workers ? (uint32_t)wish : job->workers;
}

// By mpirun's names; pretended hosts are "0", "1" and so on.
bool mlt_coll_host_named(const char *name, uint32_t *host)
{
    const char *names = mlt_coll_conf_now.hosts;
    size_t length = strlen(name);
    *host = 0;
    if (mlt_coll_conf_now.pretend_hosts > 1) {
        char *end;
        unsigned long number = strtoul(name, &end, 10);
        *host = (uint32_t)number;
        return *name && !*end && number < (unsigned long)mlt_coll_conf_now.pretend_hosts;
    }
    for (const char *at = names ? names : ""; *at; ++*host) {
        size_t n = strcspn(at, ",");
        if (n == length && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

uint32_t mlt_coll_host_of(mlt_job *job, uint32_t worker)
{
    if (job->hosts > 1)
        return mlt_job_host_of(job, worker);
    uint32_t hosts = hosts_of_job(job);
    return mlt_coll_dealt(worker, job->workers, hosts, mlt_coll_conf_now.pretend_order == IN_TURN);
}

// The hosts of workers of several jobs: each job's are hosts of their own, and none are pretended.
// NULL: all are of this job.
static mlt_coll_hosts *locate_abroad(const mlt_worker *w, uint32_t members,
                                     uint32_t (*worker_of)(const void *of, uint32_t member),
                                     const void *of)
{
    const mlt_worlds *worlds = w->wire ? w->wire->worlds : NULL;
    mlt_job *job = w->boot->job;
    uint32_t m = 0;
    while (worlds && m < members && worker_of(of, m) < job->workers)
        m++;
    if (!worlds || m == members)
        return NULL;
    uint32_t *name = mlt_xcalloc(members, sizeof *name);
    for (m = 0; m < members; m++) {
        uint32_t worker = worker_of(of, m);
        name[m] = worker < job->workers ? mlt_job_host_of(job, worker)
                                        : mlt_worlds_place(worlds, worker).host;
    }
    mlt_coll_hosts *map = mlt_coll_hosts_new(members, name, mlt_worlds_hosts(worlds));
    free(name);
    return map;
}

mlt_coll_hosts *mlt_coll_locate(const mlt_worker *w, uint32_t members,
                                uint32_t (*worker_of)(const void *of, uint32_t member),
                                const void *of)
{
    mlt_job *job = w->boot->job;
    uint32_t hosts = hosts_of_job(job);
    mlt_coll_hosts *map = locate_abroad(w, members, worker_of, of);
    if (!map && hosts < 2)
        return NULL;
    if (!map) {
        uint32_t *name = mlt_xcalloc(members, sizeof *name);
        for (uint32_t m = 0; m < members; m++)
            name[m] = mlt_coll_host_of(job, worker_of(of, m));
        map = mlt_coll_hosts_new(members, name, hosts);
        free(name);
    }
    if (map->hosts < 2) {
        mlt_coll_hosts_free(map);
        return NULL;
    }
    map->crowded = !job->membarrier;
    map->reads = w->reads;
    map->sharing = mlt_coll_sharing(job->local_workers, job->cores);
    map->cores = job->cores;
    return map;
}
