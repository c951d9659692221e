// SPDX-License-Identifier: BSD-3-Clause
// Processes and channels in a program with or without MPI: the first call of csp.h joins the job as
// MPI_Init would.
#include <stdio.h>
#include <stdlib.h>

#include "csp/hang/hang.h"
#include "csp/net/route.h"
#include "csp/state.h"
#include "fiber/fiber.h"
#include "mpi/entry.h"
#include "mpi/self.h"
#include "mpi/thread.h"

static void end_job(int32_t rank, const char *sentence)
{
    mlt_entry_end_job(rank, EXIT_FAILURE, sentence);
}

// A function of the user's that runs in the middle of a step has called something that waits.
static void refused(const char *call, const char *what)
{
    char sentence[256];
    const mlt_rank *me = mlt_rank_self();
    if (!call)
        call = me && me->fn ? mlt_mpi_call(me) : "a call that lets others run";
    snprintf(sentence, sizeof sentence,
             "%s was called by %s, which must not wait, nor let others run: its worker is in the "
             "middle of a collective operation",
             call, what);
    mlt_entry_end_job(me ? me->world : -1, EXIT_FAILURE, sentence);
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
    mlt_sched_refused = refused;
    mlt_csp_end_job = end_job;
    mlt_csp_hang_install();
    mlt_worker_on_packet = mlt_route_packet;
}
