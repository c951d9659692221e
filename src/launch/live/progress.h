// SPDX-License-Identifier: BSD-3-Clause
// `mpirun --progress`: a line that shows how the job goes, from its snapshots (live.h).
#pragma once

#include "launch/live/live.h"

typedef struct mlt_live_progress mlt_live_progress;

// NULL: nobody asked for it, or standard error is no terminal and `--progress=plain` was not said.
mlt_live_progress *mlt_live_progress_new(mlt_live *live, const mlt_options *options);

// Clears the line. NULL is fine.
void mlt_live_progress_free(mlt_live_progress *progress);

// "12.3 s: 3 ranks compute, 13 wait; 1,234 messages/s, 1.2 MiB/s". `before`: an earlier sum, of so
// many ms ago; 0: there is none.
void mlt_live_status_line(const mlt_live_job *job, const mlt_live_sum *now,
                          const mlt_live_sum *before, uint64_t ms, mlt_text *out);

// Of all distances together.
uint64_t mlt_live_sum_distances(const uint64_t by_distance[MLT_CTL_DISTANCES]);
