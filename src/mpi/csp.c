// SPDX-License-Identifier: BSD-3-Clause
// Processes and channels in a program with or without MPI: the first call of csp.h joins the job as
// MPI_Init would.
#include <stdlib.h>

#include "csp/hang.h"
#include "csp/route.h"
#include "csp/state.h"
#include "mpi/entry.h"

static void end_job(int32_t rank, const char *sentence)
{
    mlt_entry_end_job(rank, EXIT_FAILURE, sentence);
}

__attribute__((constructor)) static void hook(void)
{
    mlt_csp_join = mlt_entry_rank;
    mlt_csp_end_job = end_job;
    mlt_csp_hang_install();
    mlt_worker_on_packet = mlt_route_packet;
}
