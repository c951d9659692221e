// SPDX-License-Identifier: BSD-3-Clause
// An agent's look at the workers of its host (boot/live.h), for a snapshot. Reading costs the agent
// some microseconds a worker, and the workers nothing.
#pragma once

#include <sys/types.h>

#include "boot/job.h"
#include "launch/live/snap.h"
#include "launch/plan/plan.h"

// A process of this host; pid 0: it is not there.
typedef struct mlt_live_child {
    uint32_t proc;
    pid_t pid;
} mlt_live_child;

// Adds all of them. The segment is believed as far as mpirun believes it: its head.
void mlt_live_look(mlt_live_snap *snap, mlt_job *job, const mlt_placement *plan,
                   const mlt_live_child *children, uint32_t count);
