// SPDX-License-Identifier: BSD-3-Clause
#include "file/pool.h"

#include <pthread.h>
#include <signal.h>

#include "base/log.h"
#include "file/settings.h"
#include "os/fd.h"
#include "os/file.h"

enum { MOST_THREADS = 8 }; // disks and page caches gain nothing from more

// All but `life` under the lock. Whoever makes or frees a line holds `life`: there are no lines, and
// so no new jobs, while the threads end.
static struct {
    pthread_mutex_t life, lock;
    pthread_cond_t work_cond; // a job waits, or the threads are to end
    pthread_cond_t rung_cond; // the last job of a line is off its thread
    mlt_list_node jobs;       // of mlt_file_task.node; made with the first line
    uint32_t lines, threads, idle;
    bool ends;
    pthread_t thread[MOST_THREADS];
} pool = {.life = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .work_cond = PTHREAD_COND_INITIALIZER,
          .rung_cond = PTHREAD_COND_INITIALIZER};

// After the exchange the worker may free the job: nothing of it is read from then on. It may even do so
// before the doorbell rings, as the kernel's reads ring it, too. The line stays: line->in_pool counts
// the job until the doorbell has rung.
static void finish(mlt_file_aio *line, mlt_file_task *job)
{
    // relaxed: only the order of the exchange below counts
    mlt_file_task *last = atomic_load_explicit(&line->finished, memory_order_relaxed);
    do
        job->next = last;
    while (!atomic_compare_exchange_weak_explicit(
        &line->finished, &last, job,
        memory_order_release, // pairs with the acquire of mlt_file_aio_reap
        memory_order_relaxed));
    if (!last)
        mlt_os_eventfd_ring(line->doorbell);
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        mlt_file_task *job = MLT_LIST_POP(&pool.jobs, mlt_file_task, node);
        if (job) {
            pthread_mutex_unlock(&pool.lock);
            mlt_file_aio *line = job->line;
            job->run(job);
            finish(line, job);
            pthread_mutex_lock(&pool.lock);
            if (--line->in_pool == 0)
                pthread_cond_broadcast(&pool.rung_cond);
            continue;
        }
        if (pool.ends)
            break;
        pool.idle++;
        pthread_cond_wait(&pool.work_cond, &pool.lock);
        pool.idle--;
    }
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

// Under the lock. The signals of the program are for its own threads.
static bool add_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&pool.thread[pool.threads], NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool.threads += error == 0;
    return error == 0;
}

static void ask_kernel(mlt_file_aio *line)
{
    line->uring = mlt_file_uring_new(line->doorbell);
    line->kernel = line->uring ? MLT_FILE_KERNEL_READS : MLT_FILE_KERNEL_REFUSES;
}

mlt_status mlt_file_aio_init(mlt_file_aio *line)
{
    *line = (mlt_file_aio){.doorbell = mlt_os_eventfd_new()};
    if (line->doorbell < 0)
        return MLT_ERR_SYSTEM;
    if (mlt_file_conf.async == MLT_FILE_ASYNC_THREADS)
        line->kernel = MLT_FILE_KERNEL_REFUSES;
    if (mlt_file_conf.async == MLT_FILE_ASYNC_URING)
        ask_kernel(line);
    if (mlt_file_conf.async == MLT_FILE_ASYNC_URING && !line->uring) {
        mlt_os_close(line->doorbell);
        return MLT_ERR_UNSUPPORTED;
    }
    pthread_mutex_lock(&pool.life);
    if (pool.lines++ == 0) // no thread, and no job
        mlt_list_init(&pool.jobs);
    pthread_mutex_unlock(&pool.life);
    return MLT_OK;
}

static void end_threads(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.ends = true;
    pthread_cond_broadcast(&pool.work_cond);
    pthread_mutex_unlock(&pool.lock);
    for (uint32_t i = 0; i < pool.threads; i++)
        pthread_join(pool.thread[i], NULL);
    pool.ends = false;
    pool.threads = 0;
}

void mlt_file_aio_fini(mlt_file_aio *line)
{
    mlt_assert(line->open == 0);
    pthread_mutex_lock(&pool.lock);
    while (line->in_pool > 0) // a thread has yet to ring the doorbell
        pthread_cond_wait(&pool.rung_cond, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_lock(&pool.life);
    if (--pool.lines == 0)
        end_threads();
    pthread_mutex_unlock(&pool.life);
    if (line->uring)
        mlt_file_uring_free(line->uring);
    mlt_os_close(line->doorbell);
}

static bool submit_uring(mlt_file_aio *line, mlt_file_task *job)
{
    if (!job->read.access)
        return false;
    if (line->kernel == MLT_FILE_KERNEL_UNASKED)
        ask_kernel(line);
    return line->uring && mlt_file_uring_give(line->uring, &job->read);
}

static bool give_thread(mlt_file_aio *line, mlt_file_task *job)
{
    job->line = line;
    pthread_mutex_lock(&pool.lock);
    bool has_thread =
        pool.idle > 0 || pool.threads == MOST_THREADS || add_thread() || pool.threads > 0;
    if (has_thread) {
        line->in_pool++;
        mlt_list_push_back(&pool.jobs, &job->node);
        pthread_cond_signal(&pool.work_cond);
    }
    pthread_mutex_unlock(&pool.lock);
    return has_thread;
}

bool mlt_file_give(mlt_file_aio *line, mlt_file_task *job)
{
    bool given = submit_uring(line, job) || give_thread(line, job);
    line->open += given;
    return given;
}

// What the kernel leaves undone is a thread's; if there is none, the worker itself must wait.
static void reap_uring(mlt_file_aio *line)
{
    mlt_file_read *read;
    while (line->uring && (read = mlt_file_uring_take(line->uring))) {
        mlt_file_task *job = mlt_container_of(read, mlt_file_task, read);
        if (read->undone && give_thread(line, job))
            continue;
        if (read->undone)
            job->run(job);
        line->open--;
        job->done(job);
    }
}

void mlt_file_aio_reap(mlt_file_aio *line)
{
    mlt_os_eventfd_drain(line->doorbell);
    reap_uring(line);
    // acquire: pairs with finish
    mlt_file_task *job = atomic_exchange_explicit(&line->finished, NULL, memory_order_acquire);
    while (job) {
        mlt_file_task *next = job->next;
        line->open--;
        job->done(job);
        job = next;
    }
}
