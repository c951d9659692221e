// SPDX-License-Identifier: BSD-3-Clause
// The mpirun of a spawned job, and the head above it (launch/children/children.h).
//
// Until all processes of the job are in MPI_Init, what mpirun has to say is for the rank that spawns:
// it is collected, and goes up as FELL if the job ends before. Then it is printed as always, with the
// job's name.
#pragma once

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

typedef struct mlt_parent mlt_parent;

typedef struct mlt_watch mlt_watch; // launch/watch/watch.h

// Waits for the task and reads its options. Ends mpirun on a mistake, which the head above hears.
mlt_parent *mlt_parent_join(int fd, mlt_options *out);

// From now on the loop takes what comes, for the watch. Ends mpirun on failure.
void mlt_parent_watch(mlt_parent *parent, mlt_watch *watch);

// All processes are in MPI_Init.
void mlt_parent_born(mlt_parent *parent, const mlt_placement *plan);

// The job is being ended because of a failure.
void mlt_parent_fails(mlt_parent *parent);

// The job has ended with that exit code.
void mlt_parent_end(mlt_parent *parent, int code);
