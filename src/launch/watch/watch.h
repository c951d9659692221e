// SPDX-License-Identifier: BSD-3-Clause
// Watching a running job: what its processes say, how they end, signals, the time limit, deadlocks.
#ifndef MLT_LAUNCH_WATCH_WATCH_H
#define MLT_LAUNCH_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "boot/job.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"
#include "launch/watch/map.h"
#include "launch/watch/report.h"

typedef struct mlt_watch mlt_watch;

typedef struct mlt_watch_conf {
    const mlt_options *options;
    const mlt_plan *plan;
    mlt_job *job;
    mlt_report *report; // may be NULL
    mlt_path_map *map;
    int loop, signal_fd;
    int guard_fd; // mlt_guard's
    // The ranks of a process share its globals, and why; a line. May be NULL.
    void (*shared)(void *user, uint32_t proc, const char *why);
    // The last words of a process that crashes, with more about them; the caller frees it. May be
    // NULL.
    char *(*explain)(void *user, uint32_t proc, const char *text);
    void *user;
} mlt_watch_conf;

mlt_watch *mlt_watch_new(const mlt_watch_conf *conf);

// A process has been started; its end of the control channel is the watcher's from now on.
void mlt_watch_started(mlt_watch *watch, uint32_t proc, pid_t pid, int ctl_fd);

// A process could not be started: what runs is ended, and `code` is the job's. The message has
// been said.
void mlt_watch_give_up(mlt_watch *watch, int code);

// Watches until all processes have ended and nothing that they started is left. Returns the exit
// code.
int mlt_watch_run(mlt_watch *watch);

// True if a signal told mpirun to end.
bool mlt_watch_interrupted(const mlt_watch *watch);

void mlt_watch_free(mlt_watch *watch);

#endif
