// SPDX-License-Identifier: BSD-3-Clause
// --report: how often each MPI function was called in a worker, and for how long.
#pragma once

#include "p2p/worker.h"

struct mlt_mpi_profile;
struct mlt_mpi_profile *mlt_profile_new(void); // free() frees it

// Tells the launcher, once: MLT_CTL_CALLS, MLT_CTL_STATS. Does nothing without --report.
void mlt_profile_send(mlt_worker *worker);
