// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/join.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/ctl.h"
#include "host/entry.h"
#include "mpi/self.h"
#include "mpi/thread.h"

// A function of the user's that runs in the middle of a step has called something that waits.
void mlt_mpi_refused(const char *call, const char *what)
{
    char sentence[256];
    const mlt_rank *me = mlt_rank_self();
    if (!call)
        call = me && me->fn ? mlt_mpi_call(me) : "a call that lets others run";
    snprintf(sentence, sizeof sentence,
             "%s was called by %s, which must not wait, nor let others run: its worker is in the "
             "middle of a collective operation",
             call, what);
    mlt_entry_end_job(me ? me->world : MLT_CTL_NO_RANK, EXIT_FAILURE, sentence);
}

mlt_rank *mlt_mpi_join(void)
{
    mlt_rank *me = mlt_entry_rank();
    if (me)
        mlt_thread_keep_out(me);
    return me;
}
