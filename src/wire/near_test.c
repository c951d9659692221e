// SPDX-License-Identifier: BSD-3-Clause
// On a host of several NUMA nodes each worker has the rings that it reads, and its chunks, at its own
// node. Whether it is so is the kernel's word, which a machine of one node gives as well.
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "boot/job.h"
#include "os/numa.h"
#include "wire/wire.h"

enum { WORKERS = 8 };

static mlt_job *new_job(bool near)
{
    uint32_t workers[WORKERS], ranks[WORKERS], apps[WORKERS] = {0};
    for (int i = 0; i < WORKERS; i++)
        workers[i] = ranks[i] = 1;
    mlt_job_plan plan = {.procs = WORKERS,
                         .workers_of_proc = workers,
                         .ranks_a_worker = ranks,
                         .app_of_proc = apps,
                         .cores = 1,
                         .launched = true,
                         .numa_local = near};
    mlt_job *job;
    int fd;
    char why[256];
    CHECK(mlt_job_new(&plan, &job, &fd, why, sizeof why) == MLT_OK);
    close(fd);
    return job;
}

static bool is_placed(const void *at)
{
    uintptr_t page = (uintptr_t)at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    int mode = -1;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0ul, page, (unsigned long)MPOL_F_ADDR) != 0) {
        fprintf(stderr, "skipped: the system does not tell where pages are to lie (%s)\n",
                strerror(errno));
        exit(77);
    }
    return mode == MPOL_PREFERRED;
}

static void check(bool near)
{
    enum { SELF = 3 };
    mlt_job *job = new_job(near);
    char *rings = (char *)job + job->rings_at, *pools = (char *)job + job->pools_at;
    mlt_wire *wire = mlt_wire_new(job, SELF, -1);
    CHECK(wire);
    for (uint64_t to = 0; to < WORKERS; to++) {
        // In the middle: pages at the edges are of two workers.
        CHECK(is_placed(rings + (to * WORKERS + WORKERS / 2) * job->ring_bytes) ==
              (near && to == SELF));
        CHECK(is_placed(pools + to * job->pool_bytes) == (near && to == SELF));
    }
    mlt_wire_free(wire);
    mlt_job_close(job);
}

int main(void)
{
    mlt_job *job = new_job(false);
    if (mlt_os_prefer_node((char *)job + job->rings_at, job->ring_bytes * 4, mlt_os_node())) {
        fprintf(stderr, "skipped: the system does not let pages be placed\n");
        return 77;
    }
    mlt_job_close(job);
    check(true);
    check(false);
    return 0;
}
