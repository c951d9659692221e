// SPDX-License-Identifier: BSD-3-Clause
// Jobs of several lines, each used by a thread of its own: every one is run once and told once, to
// the line that gave it; the threads end with the last line and begin again. A third of them are short
// reads, which the kernel does instead if it may: then they are told without having been run.
// A line whose last job's thread is slow to ring its doorbell keeps the descriptor until that is done.
#include "file/pool.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "file/settings.h"
#include "os/file.h"
#include "type/type.h"

enum { LINES = 3, JOBS = 2000, TIMES = 3, BYTES = 40, SIZE = JOBS * 7 };

typedef struct job {
    mlt_file_task job;
    int run, done;
    mlt_file_access access;
    unsigned char room[BYTES];
} job;

static int fd;

static void run(mlt_file_task *j)
{
    job *it = mlt_container_of(j, job, job);
    it->run++;
    if (j->read.access)
        mlt_file_access_run(&it->access);
}

static void done(mlt_file_task *j)
{
    mlt_container_of(j, job, job)->done++;
}

static unsigned char byte_at(int64_t at)
{
    return (unsigned char)(at * 7919 >> 5);
}

// The last ones meet the end of the file.
static void prepare(job *it, int i)
{
    *it = (job){.job = {.run = run, .done = done}};
    if (i % 3)
        return;
    it->access = (mlt_file_access){.fd = fd,
                                   .begin = (int64_t)i * 7,
                                   .view = MLT_TYPE_BYTE,
                                   .bytes = BYTES,
                                   .buf = it->room,
                                   .type = MLT_TYPE_BYTE};
    CHECK(mlt_file_access_is_short(&it->access));
    it->job.read.access = &it->access;
}

static void check(const job *it, const mlt_file_aio *line)
{
    const mlt_file_access *a = &it->access;
    CHECK(it->done == 1);
    if (!it->job.read.access) {
        CHECK(it->run == 1);
        return;
    }
    CHECK(it->run == (line->kernel == MLT_FILE_KERNEL_READS ? 0 : 1) || it->job.read.undone);
    int64_t left = SIZE - a->begin;
    CHECK(a->error == 0 && a->moved == (left < BYTES ? (uint64_t)left : BYTES));
    for (uint64_t k = 0; k < a->moved; k++)
        CHECK(it->room[k] == byte_at(a->begin + (int64_t)k));
}

static void *use(void *unused)
{
    (void)unused;
    static _Thread_local job jobs[JOBS];
    for (int time = 0; time < TIMES; time++) {
        mlt_file_aio line;
        CHECK(mlt_file_aio_init(&line) == MLT_OK);
        for (int i = 0; i < JOBS; i++) {
            prepare(&jobs[i], i);
            CHECK(mlt_file_give(&line, &jobs[i].job));
            if (i % 100 == 0)
                mlt_file_aio_reap(&line);
        }
        while (line.open > 0) {
            struct pollfd doorbell = {.fd = line.doorbell, .events = POLLIN};
            CHECK(poll(&doorbell, 1, -1) == 1);
            mlt_file_aio_reap(&line);
        }
        for (int i = 0; i < JOBS; i++)
            check(&jobs[i], &line);
        mlt_file_aio_fini(&line);
    }
    return NULL;
}

// Instead of libc's, for this whole program: mlt_os_eventfd_ring is slow if the test wants it.
static atomic_bool slow, ringing;

ssize_t write(int to, const void *data, size_t bytes)
{
    if (!atomic_load(&slow))
        return syscall(SYS_write, to, data, bytes);
    atomic_store(&ringing, true);
    CHECK(usleep(100000) == 0);
    ssize_t written = syscall(SYS_write, to, data, bytes);
    atomic_store(&ringing, false);
    return written;
}

// The other line keeps the threads alive, so nobody waits for their end.
static void free_while_it_rings(void)
{
    mlt_file_aio other, line;
    job j = {.job = {.run = run, .done = done}};
    CHECK(mlt_file_aio_init(&other) == MLT_OK && mlt_file_aio_init(&line) == MLT_OK);
    atomic_store(&slow, true);
    CHECK(mlt_file_give(&line, &j.job));
    while (!atomic_load(&ringing))
        CHECK(sched_yield() == 0);
    mlt_file_aio_reap(&line); // as if the kernel had rung
    CHECK(j.done == 1 && line.open == 0);
    mlt_file_aio_fini(&line);
    CHECK(!atomic_load(&ringing));
    atomic_store(&slow, false);
    mlt_file_aio_fini(&other);
}

static void use_all(void)
{
    pthread_t thread[LINES];
    for (int i = 0; i < LINES; i++)
        CHECK(pthread_create(&thread[i], NULL, use, NULL) == 0);
    for (int i = 0; i < LINES; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
}

int main(void)
{
    char path[] = "pool_test_XXXXXX";
    static unsigned char data[SIZE];
    size_t moved;
    fd = mkstemp(path);
    CHECK(fd >= 0 && mlt_os_file_unlink(path) == 0);
    for (int64_t i = 0; i < SIZE; i++)
        data[i] = byte_at(i);
    CHECK(mlt_os_file_write(fd, data, SIZE, 0, &moved) == 0);
    use_all();
    free_while_it_rings();
    mlt_file_conf.async = MLT_FILE_ASYNC_THREADS;
    use_all();
    CHECK(mlt_os_file_close(fd) == 0);
    return 0;
}
