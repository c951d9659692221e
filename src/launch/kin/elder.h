// SPDX-License-Identifier: BSD-3-Clause
// The mpirun of a spawned job, and the head above it (launch/kin/kin.h).
//
// Until all processes of the job are in MPI_Init, what mpirun has to say is for the rank that spawns:
// it is collected, and goes up as FELL if the job ends before. Then it is printed as always, with the
// job's name.
#ifndef MLT_LAUNCH_KIN_ELDER_H
#define MLT_LAUNCH_KIN_ELDER_H

#include <stdbool.h>

#include "launch/plan/options.h"
#include "launch/plan/plan.h"

typedef struct mlt_elder mlt_elder;

typedef struct mlt_elder_conf {
    int loop;
    void (*time_over)(void *user, double limit_s);
    void (*fails)(void *user); // the job above is being ended because of a failure
    void (*gone)(void *user);  // the head above has ended: nothing of the job may stay
    void *user;
} mlt_elder_conf;

// Waits for the task and reads its options. Ends mpirun on a mistake, which the head above hears.
mlt_elder *mlt_elder_join(int fd, mlt_options *out);

// From now on the loop takes what comes. Ends mpirun on failure.
void mlt_elder_watch(mlt_elder *elder, const mlt_elder_conf *conf);

bool mlt_elder_is_born(const mlt_elder *elder);
void mlt_elder_born(mlt_elder *elder, const mlt_plan *plan);

// The job is being ended because of a failure.
void mlt_elder_fails(mlt_elder *elder);

// The job has ended with that exit code.
void mlt_elder_end(mlt_elder *elder, int code);

#endif
