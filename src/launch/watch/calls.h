// SPDX-License-Identifier: BSD-3-Clause
// The last calls of ranks, as their flight recorders have them (boot/recorder.h), in lines:
//
//     rank 3's last calls: (MPI_Send to 4, tag 7 (8 bytes); MPI_Recv from 2, tag 7 (8 bytes)) x 12; MPI_Barrier
//
// One call in 16 has the time before it that has passed since: "[1.20 s ago] MPI_Barrier". Peers are
// ranks of the communicator. The words in the segment may be anything: lines of them can be shown.
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "boot/job.h"
#include "launch/plan/plan.h"

// Those of a process of this host; rank: only that one's, -1: of all its ranks, but not of very many.
void mlt_calls_of_proc(mlt_text *out, mlt_job *job, const mlt_placement *plan, uint32_t proc,
                       int32_t rank);

// Those of the ranks of this host that have called more than once: where a rank is now, others say. A
// few ranks', unless --recorder all.
void mlt_calls_of_host(mlt_text *out, mlt_job *job, const mlt_placement *plan, uint32_t host);
