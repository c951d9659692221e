// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/kind.h"

#include <stdatomic.h>

#include "boot/job.h"
#include "p2p/worker.h"

enum { SAID_KINDS = 1 }; // mlt_job_said

bool mlt_kind_may_note(const mlt_worker *w)
{
    if (mlt_conf.type_mismatch == MLT_MISMATCH_IGNORE)
        return false;
    // Relaxed: nothing else is told by it.
    return !(
        atomic_fetch_or_explicit(mlt_job_said(w->boot->job), SAID_KINDS, memory_order_relaxed) &
        SAID_KINDS);
}
