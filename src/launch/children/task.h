// SPDX-License-Identifier: BSD-3-Clause
// What the mpirun of a spawned job is told: not a command line, which has bounds and is seen by
// everybody, but lists of words through the children channel (launch/children/children.h).
//
//     {job's name, parent's port}  {options of the job}  and for each section  {options}  {program,
//     arguments}
//
// The options are mpirun's own, read by the same code (mlt_options_read_child). They are what the
// parent's mpirun was told about hosts, environment, output and checks, and what the info keys of
// the spawning rank say:
//
//     host, hostfile, wdir, path, nfg, workers, grain, map_by, gpus  options of these names
//     env                                                            NAME=VALUE, a line each
//     mpi_initial_errhandler                                         -initial-errhandler
//     mpi_memory_alloc_kinds                                         -memory-alloc-kinds
//
// Others are ignored, as the standard wants. Without host and hostfile a job may use the parent's
// hosts, those that have most free slots first.
#pragma once

#include <stdint.h>

#include "boot/lists.h"
#include "launch/plan/options.h"
#include "launch/plan/plan.h"

enum { MLT_CHILD_JOB_NAME = 64, MLT_CHILD_TASK_LISTS = 2 }; // bytes; lists before the sections

typedef struct mlt_child_parent {
    const mlt_options *options;
    const mlt_placement *plan;
    uint32_t app;         // the section of the rank that spawns
    const uint32_t *busy; // [plan->named.count] workers that run there; NULL: none
} mlt_child_parent;

// The packed lists, freed with free(). NULL: the request cannot be fulfilled, and a message in why.
char *mlt_child_task(const mlt_child_parent *parent, const mlt_lists *request, const char *job,
                     size_t *size, char *why, size_t why_size);

// The other side: reads the options. The lists must outlive them. Ends mpirun with a message if
// these are no such lists, or an option is wrong.
void mlt_child_task_read(const mlt_lists *task, mlt_options *out);
