// SPDX-License-Identifier: BSD-3-Clause
// A worker's line to the threads that block in its place. Its doorbell is watched while jobs are under
// way, so a worker that waits for one says that it wakes itself: no deadlock is seen where a disk is slow.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "mpi/file/file.h"
#include "mpi/p2p/request.h"
#include "mpi/self.h"
#include "mpi/thread.h"

static void fire(mlt_io_watch *watch);

static bool watch(mlt_file_service *service)
{
    service->watch = (mlt_io_watch){.fd = service->line.doorbell, .fire = fire};
    return mlt_io_watch_start(service->worker->sched, &service->watch) == MLT_PENDING;
}

static void fire(mlt_io_watch *w)
{
    mlt_file_service *service = mlt_container_of(w, mlt_file_service, watch);
    mlt_file_aio_reap(&service->line);
    if (service->line.open && !watch(service))
        mlt_fatal("the system refuses to watch a descriptor that it watched before");
}

void mlt_file_service_open(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (!w->files) {
        w->files = mlt_xcalloc(1, sizeof *w->files);
        w->files->worker = me->worker;
        mlt_status made = mlt_file_aio_init(&w->files->line);
        if (made == MLT_ERR_UNSUPPORTED)
            mlt_fatal(
                "MILLET_FILE_ASYNC is uring, but this system refuses io_uring (%s): `auto` and "
                "`threads` do without it",
                strerror(errno));
        w->files->lines = made == MLT_OK;
    }
    w->files->files++;
}

void mlt_file_service_close(mlt_rank *me)
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    if (--w->files->files > 0 || w->files->line.open > 0)
        return; // the next one to close sees to it, or the worker's end
    if (w->files->lines)
        mlt_file_aio_fini(&w->files->line);
    free(w->files);
    w->files = NULL;
}

bool mlt_file_service_give(mlt_rank *me, mlt_file_task *job)
{
    mlt_file_service *service = mlt_mpi_worker_of(me)->files;
    bool first = service->line.open == 0;
    if (!service->lines || (first && !watch(service)))
        return false;
    if (mlt_file_give(&service->line, job))
        return true;
    if (first)
        mlt_io_watch_stop(me->worker->sched, &service->watch);
    return false;
}

bool mlt_file_service_is_busy(const mlt_rank *me)
{
    const mlt_file_service *service = mlt_mpi_worker_of(me)->files;
    return service && service->lines && service->line.open > 0;
}

// ---- a rank that waits for its job

typedef struct waiting {
    mlt_file_task job;
    mlt_file_task *real;
    mlt_req req;
} waiting;

static void run_real(mlt_file_task *job)
{
    waiting *w = mlt_container_of(job, waiting, job);
    w->real->run(w->real);
}

static void wake(mlt_file_task *job)
{
    mlt_req_complete(&mlt_container_of(job, waiting, job)->req);
}

void mlt_file_service_wait(mlt_rank *me, mlt_comm *comm, mlt_file_task *job)
{
    const mlt_sched *sched = me->worker->sched;
    if (sched->gate || (me->worker->count == 1 && !sched->pool)) { // nobody else would run
        mlt_outside outside = mlt_thread_step_out(me);
        job->run(job);
        mlt_thread_step_in(me, outside);
        return;
    }
    waiting w = {.job = {.run = run_real, .done = wake, .read = {.access = job->read.access}},
                 .real = job};
    mlt_req_fill_other(&w.req, me, comm);
    if (mlt_file_service_give(me, &w.job))
        mlt_req_wait(&w.req, mlt_mpi_call(me));
    else
        job->run(job);
}
