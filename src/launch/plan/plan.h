// SPDX-License-Identifier: BSD-3-Clause
// From the sections of the command line to processes, workers and ranks.
#ifndef MLT_LAUNCH_PLAN_PLAN_H
#define MLT_LAUNCH_PLAN_PLAN_H

#include <stdint.h>

#include "launch/plan/options.h"

typedef struct mlt_plan_proc {
    uint32_t app;
    uint32_t first_worker, workers;
    uint32_t first_rank, ranks;
} mlt_plan_proc;

typedef struct mlt_plan {
    mlt_plan_proc *procs;
    uint32_t proc_count, workers, ranks;
} mlt_plan;

// The number of ranks of a section.
uint64_t mlt_plan_ranks_asked(const mlt_app *app);

// Ends mpirun if there are too many. The plan lives until mpirun ends.
void mlt_plan_make(const mlt_options *options, mlt_plan *plan);

// The process that holds the rank, which exists.
uint32_t mlt_plan_proc_of(const mlt_plan *plan, uint32_t rank);

// The number of ranks of a worker, which exists, and the first of them.
uint32_t mlt_plan_ranks_of(const mlt_plan *plan, uint32_t worker, uint32_t *first_rank);

// "rank 3" or "the process of ranks 4-7".
void mlt_plan_name(const mlt_plan *plan, uint32_t proc, char *text, size_t size);

#endif
