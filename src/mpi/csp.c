// SPDX-License-Identifier: BSD-3-Clause
// Processes and channels in a program with or without MPI: the first call of csp.h joins the job as
// MPI_Init would.
#include <stdlib.h>

#include "csp/hang.h"
#include "csp/route.h"
#include "csp/state.h"
#include "mpi/entry.h"
#include "mpi/thread.h"

static void end_job(int32_t rank, const char *sentence)
{
    mlt_entry_end_job(rank, EXIT_FAILURE, sentence);
}

static mlt_rank *join(void)
{
    mlt_rank *me = mlt_entry_rank();
    if (me)
        mlt_thread_keep_out(me);
    return me;
}

__attribute__((constructor)) static void hook(void)
{
    mlt_csp_join = join;
    mlt_csp_end_job = end_job;
    mlt_csp_hang_install();
    mlt_worker_on_packet = mlt_route_packet;
}
