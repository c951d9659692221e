// SPDX-License-Identifier: BSD-3-Clause
// What every agent of a job knows: the plan, the programs with their arguments, environment and
// directories, and the options that concern it. It travels as the body of a frame, and is the same
// for all hosts.
//
// It is lists of texts (boot/lists.h). The plan is written as runs: so many processes of one kind on
// each of so many hosts that follow each other. Nothing of it is ever in an argument of the remote
// shell.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boot/lists.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

typedef struct mlt_task {
    mlt_options options; // those that agents need; apps have their whole environment
    mlt_placement plan;
    uint64_t identity;  // of the job
    uint32_t head_host; // mpirun's own; MLT_FRAME_HEAD: it has no rank
    const char *dir;    // mpirun's working directory
    mlt_lists lists;    // of a task that was read: what the others point to
} mlt_task;

// What is sent; freed with free(). Variables that belong to mpirun's host are left out
// (mlt_env_is_local).
char *mlt_task_pack(const mlt_task *task, size_t *size);

// Reads it, as host `host`. False: it is damaged, and a message in why; nothing is kept. What it
// points to lives until mlt_task_free.
bool mlt_task_unpack(mlt_task *task, uint32_t host, const char *bytes, size_t size, char *why,
                     size_t why_size);
void mlt_task_free(mlt_task *task);
