// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a worker count in and park; the last one goes round the workers for all, then wakes
// them.
#ifndef MLT_MPI_BARRIER_H
#define MLT_MPI_BARRIER_H

#include "p2p/p2p.h"

struct mlt_barrier;
struct mlt_barrier *mlt_barrier_new(void);

// Returns when every worker of the job has called it: MPI_Finalize's, by the last rank of each
// worker. May suspend.
void mlt_barrier_workers(mlt_rank *me);

#endif
