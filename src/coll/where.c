// SPDX-License-Identifier: BSD-3-Clause
#include "coll/where.h"

#include <stdlib.h>

#include "base/memory.h"
#include "boot/job.h"
#include "coll/choose.h"
#include "coll/settings.h"

enum { IN_TURN = 1 }; // of setting pretend_order

uint32_t mlt_coll_hosts_of_job(const mlt_job *job)
{
    int64_t wish = mlt_coll_conf_now.pretend_hosts;
    if (job->hosts > 1 || wish < 2)
        return job->hosts;
    return wish < job->workers ? (uint32_t)wish : job->workers;
}

uint32_t mlt_coll_host_of(mlt_job *job, uint32_t worker)
{
    if (job->hosts > 1)
        return mlt_job_host_of(job, worker);
    uint32_t hosts = mlt_coll_hosts_of_job(job);
    return mlt_coll_dealt(worker, job->workers, hosts, mlt_coll_conf_now.pretend_order == IN_TURN);
}

mlt_coll_hosts *mlt_coll_locate(const mlt_worker *w, uint32_t members,
                                uint32_t (*worker_of)(const void *of, uint32_t member),
                                const void *of)
{
    mlt_job *job = w->boot->job;
    uint32_t hosts = mlt_coll_hosts_of_job(job);
    if (hosts < 2)
        return NULL;
    uint32_t *name = mlt_take(members, sizeof *name);
    for (uint32_t m = 0; m < members; m++)
        name[m] = mlt_coll_host_of(job, worker_of(of, m));
    mlt_coll_hosts *map = mlt_coll_hosts_new(members, name, hosts);
    free(name);
    if (map->hosts < 2) {
        mlt_coll_hosts_free(map);
        return NULL;
    }
    map->crowded = !job->lean;
    map->reads = w->reads;
    map->sharing = mlt_coll_sharing(job->local_workers, job->cores);
    return map;
}
