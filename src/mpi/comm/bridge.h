// SPDX-License-Identifier: BSD-3-Clause
// What the two sides of a port tell each other: their jobs, and who of them becomes connected. It is
// compact: a million ranks that follow each other are one run. It comes from another job, and is read
// as a stranger's bytes are.
//
//     bridge_head | for each job: bridge_job, its runs | runs of the group
//
// Numbers are as both hosts have them: the greeting has made sure that they have the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "mpi/comm/map.h"
#include "wire/world.h"

enum { MLT_BRIDGE_JOBS = 64, MLT_BRIDGE_MOST = 64 << 20 };

// Ranks first, first + stride, ... of a job, in the order of the group.
typedef struct mlt_bridge_run {
    uint32_t job; // of the side's
    uint32_t first;
    int32_t stride;
    uint32_t count;
} mlt_bridge_run;

typedef struct mlt_bridge_side {
    bool encrypts; // --encrypt: connections to it must be
    uint32_t job_count, run_count;
    mlt_world_shape *jobs;
    mlt_bridge_run *runs;
    uint32_t size; // of the group
} mlt_bridge_side;

// Of a group, by the numbers of this process.
void mlt_bridge_describe(mlt_bridge_side *side, const mlt_map *group, const mlt_worlds *worlds,
                         mlt_job *job, bool encrypts);

// Its bytes; the caller's to free.
mlt_text mlt_bridge_write(const mlt_bridge_side *side);

// NULL: *side is there, to be freed. Otherwise what is wrong with it.
const char *mlt_bridge_read(mlt_bridge_side *side, const void *bytes, size_t count);

void mlt_bridge_free(mlt_bridge_side *side);

// Its group, by the numbers of this process. All its jobs are known. NULL: a rank comes twice.
mlt_map *mlt_bridge_map(const mlt_bridge_side *side, const mlt_worlds *worlds);
