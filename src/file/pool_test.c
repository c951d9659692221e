// SPDX-License-Identifier: BSD-3-Clause
// Jobs of several lines, each used by a thread of its own: every one is run once and told once, to
// the line that gave it; the threads end with the last line and begin again.
#include "file/pool.h"

#include <poll.h>
#include <pthread.h>

#include "base/unit_test.h"

enum { LINES = 3, JOBS = 2000, TIMES = 3 };

typedef struct job {
    mlt_file_job job;
    int run, done;
} job;

static void run(mlt_file_job *j)
{
    mlt_container_of(j, job, job)->run++;
}

static void done(mlt_file_job *j)
{
    mlt_container_of(j, job, job)->done++;
}

static void *use(void *unused)
{
    (void)unused;
    static _Thread_local job jobs[JOBS];
    for (int time = 0; time < TIMES; time++) {
        mlt_file_line line;
        CHECK(mlt_file_line_init(&line) == MLT_OK);
        memset(jobs, 0, sizeof jobs);
        for (int i = 0; i < JOBS; i++) {
            jobs[i].job = (mlt_file_job){.run = run, .done = done};
            CHECK(mlt_file_give(&line, &jobs[i].job));
            if (i % 100 == 0)
                mlt_file_line_take(&line);
        }
        while (line.open > 0) {
            struct pollfd ring = {.fd = line.ring, .events = POLLIN};
            CHECK(poll(&ring, 1, -1) == 1);
            mlt_file_line_take(&line);
        }
        for (int i = 0; i < JOBS; i++)
            CHECK(jobs[i].run == 1 && jobs[i].done == 1);
        mlt_file_line_fini(&line);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[LINES];
    for (int i = 0; i < LINES; i++)
        CHECK(pthread_create(&thread[i], NULL, use, NULL) == 0);
    for (int i = 0; i < LINES; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    return 0;
}
