// SPDX-License-Identifier: BSD-3-Clause
// Jobs that ranks of this one have spawned, as the head sees them.
//
// A spawned job has an mpirun of its own: this program again, started by the head with one inherited
// descriptor, the *kin channel* (frames of launch/hosts/frame.h). Down go the task
// (launch/kin/task.h) and the end of the time limit; up come BORN or FELL. Signals go as signals. So
// a family of jobs is a tree of mpiruns, and each of them does for its job what it does for any.
//
//     guard ---- watcher ---- ranks              the first job
//                   |
//                 guard ---- watcher ---- ranks  job 1; its second child is job 1.2
//
// Nobody outlives the head above: the guard below is its child and gets PDEATHSIG, the watcher below
// sees the end of the kin channel; both kill what they have. On other hosts agents see the end of
// their channels. The head waits until all kin have ended.
//
// The library knows jobs by their connections alone (src/mpi/comm/port.h). Whether a job that fails
// ends another depends on these: kin that have disconnected are strangers.
#ifndef MLT_LAUNCH_KIN_KIN_H
#define MLT_LAUNCH_KIN_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

typedef struct mlt_kin mlt_kin;

typedef struct mlt_kin_conf {
    mlt_options *options; // of this job
    const mlt_plan *plan;
    int loop;
    pid_t group; // that mpiruns shall be in: the caller's, whose keyboard reaches them
    // An answer for the rank of that host that has asked (boot/child.h).
    void (*answer)(void *user, uint32_t host, int64_t ask, const char *answer, size_t length);
    // A job that was born has ended, with mpirun's exit code. Its mpirun has said why, unless it was
    // killed by a signal, which is told; else 0.
    void (*ended)(void *user, const char *job, int code, int signal);
    // A job is being ended because of a failure.
    void (*fails)(void *user);
    void *user;
} mlt_kin_conf;

mlt_kin *mlt_kin_new(const mlt_kin_conf *conf);
void mlt_kin_free(mlt_kin *kin); // NULL is fine. Kills what is left.

// A rank of process `proc` on that host asks for a job.
void mlt_kin_spawn(mlt_kin *kin, uint32_t host, uint32_t proc, int64_t ask, const char *request,
                   size_t length);

// A child of this process has ended. False: it is no mpirun.
bool mlt_kin_reaped(mlt_kin *kin, pid_t pid, int status);

// The jobs that run.
uint32_t mlt_kin_living(const mlt_kin *kin);

void mlt_kin_signal(mlt_kin *kin, int signal);

// This job is being ended because of a failure. Kin that have lost a connection know the reason then.
void mlt_kin_fails(mlt_kin *kin);

// The time limit is over: all report what they do, and end.
void mlt_kin_time_over(mlt_kin *kin, double limit_s);

// Closes the channels, so that all kin kill what they have.
void mlt_kin_close(mlt_kin *kin);

#endif
