// SPDX-License-Identifier: BSD-3-Clause
// What unit tests of workers share: a check that ends the test, and a job whose workers are threads
// of it.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "boot/job.h"
#include "os/os.h"
#include "p2p/settings.h"
#include "p2p/worker.h"

enum { TEST_WORKERS = 8 };

typedef struct test_worker {
    mlt_boot boot;
    uint32_t worker, fibers;
    void (*entry)(void *rank);
    void (*ends)(mlt_worker *worker); // NULL: nothing is to be ended
    uint32_t late_ms;                 // it begins so much later
    pthread_t thread;
} test_worker;

typedef struct test_job {
    mlt_job *job;
    int fd;
    uint32_t workers;
    test_worker of[TEST_WORKERS];
} test_job;

static inline void *test_worker_main(void *arg)
{
    test_worker *t = arg;
    mlt_worker *w;
    char why[256];
    if (t->late_ms)
        mlt_os_sleep((int64_t)t->late_ms * 1000000);
    if (mlt_worker_new(&t->boot, t->worker, t->fibers, &w, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    mlt_worker_run(w, t->entry);
    if (t->ends)
        t->ends(w);
    mlt_worker_free(w);
    return NULL;
}

// The policy is mlt_conf.sched.
static inline void test_job_begin(test_job *t, uint32_t workers, uint32_t ranks, uint32_t cores,
                                  bool launched, void (*entry)(void *rank),
                                  void (*ends)(mlt_worker *worker))
{
    mlt_job_plan plan = {.procs = 1,
                         .workers_of_proc = &workers,
                         .ranks_a_worker = &ranks,
                         .app_of_proc = &(uint32_t){0},
                         .cores = cores,
                         .launched = launched};
    char why[256];
    t->fd = -1;
    t->workers = workers;
    CHECK(workers <= TEST_WORKERS);
    if (mlt_job_new(&plan, &t->job, &t->fd, why, sizeof why)) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    for (uint32_t i = 0; i < workers; i++) {
        t->of[i] = (test_worker){.boot = {.job = t->job, .ctl = -1},
                                 .worker = i,
                                 .fibers = workers * ranks,
                                 .entry = entry,
                                 .ends = ends};
        CHECK(pthread_create(&t->of[i].thread, NULL, test_worker_main, &t->of[i]) == 0);
    }
}

static inline void test_job_end(test_job *t)
{
    for (uint32_t i = 0; i < t->workers; i++)
        CHECK(pthread_join(t->of[i].thread, NULL) == 0);
    mlt_job_close(t->job);
    if (t->fd >= 0)
        close(t->fd);
}

// A launched job on two cores, to its end.
static inline void test_job_run(uint32_t workers, uint32_t ranks, const char *policy,
                                void (*entry)(void *rank), void (*ends)(mlt_worker *worker))
{
    test_job t;
    mlt_conf.sched = policy;
    test_job_begin(&t, workers, ranks, 2, true, entry, ends);
    test_job_end(&t);
}
