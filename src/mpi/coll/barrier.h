// SPDX-License-Identifier: BSD-3-Clause
// The last meeting of a job's workers.
#ifndef MLT_MPI_COLL_BARRIER_H
#define MLT_MPI_COLL_BARRIER_H

#include "p2p/p2p.h"

// Returns when every worker of the job has called it: MPI_Finalize's, by the last rank of each
// worker. May suspend.
void mlt_barrier_workers(mlt_rank *me);

#endif
