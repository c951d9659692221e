// SPDX-License-Identifier: BSD-3-Clause
// Jobs that ranks of this one have spawned, as the head sees them.
//
// A spawned job has an mpirun of its own: this program again, started by the head with one inherited
// descriptor, the *child channel* (frames of launch/hosts/frame.h). Down go the task
// (launch/children/task.h) and the end of the time limit; up come BORN or FELL. Signals go as signals. So
// a family of jobs is a tree of mpiruns, and each of them does for its job what it does for any.
//
//     guard ---- watcher ---- ranks              the first job
//                   |
//                 guard ---- watcher ---- ranks  job 1; its second child is job 1.2
//
// Nobody outlives the head above: the guard below is its child and gets PDEATHSIG, the watcher below
// sees the end of the child channel; both kill what they have. On other hosts agents see the end of
// their channels. The head waits until all children have ended.
//
// The library knows jobs by their connections alone (src/mpi/comm/port.h). Whether a job that fails
// ends another depends on these: children that have disconnected are strangers.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

typedef struct mlt_children mlt_children;
typedef struct mlt_watch mlt_watch; // launch/watch/watch.h

// group: that mpiruns shall be in, the caller's, whose keyboard reaches them; 0: ranks cannot spawn.
// Ends, failures and
// answers to ranks (boot/child.h) are the watch's.
mlt_children *mlt_children_new(const mlt_options *options, const mlt_placement *plan, pid_t group,
                               mlt_watch *watch);
void mlt_children_free(mlt_children *children); // NULL is fine. Kills what is left.

// A rank of process `proc` on that host asks for a job.
void mlt_children_spawn(mlt_children *children, uint32_t host, uint32_t proc, int64_t ask,
                        const char *request, size_t length);

// A child of this process has ended. False: it is no mpirun.
bool mlt_children_reaped(mlt_children *children, pid_t pid, int status);

// The jobs that run.
uint32_t mlt_children_living(const mlt_children *children);

void mlt_children_signal(mlt_children *children, int signal);

// This job is being ended because of a failure. Children that have lost a connection know the reason then.
void mlt_children_fails(mlt_children *children);

// The time limit is over: all report what they do, and end.
void mlt_children_time_over(mlt_children *children, double limit_s);

// Closes the channels, so that all children kill what they have.
void mlt_children_close(mlt_children *children);
