// SPDX-License-Identifier: BSD-3-Clause
// From the sections of the command line to hosts, processes, workers and ranks.
//
// -n counts workers; so do the slots of hosts. A worker that is a process can be anywhere. Workers
// that are threads, and ranks that share workers (launch/plan/grain.h), are one process or one set
// of workers on each host, with ranks that follow each other.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "launch/plan/options.h"

enum { MLT_PLACEMENT_MAX_WORKERS = 1 << 20 }; // on all hosts; on one: MLT_JOB_MAX_WORKERS

typedef struct mlt_placement_proc {
    uint32_t app, host;
    uint32_t first_worker, workers;
    uint32_t first_rank, ranks;
    uint32_t first_local; // the first rank's number among those of its host
} mlt_placement_proc;

typedef struct mlt_placement_host {
    mlt_hosts_entry host; // with the slots of the first section that uses it; 0: nobody named it
    uint32_t procs, workers, ranks;
} mlt_placement_host;

typedef struct mlt_placement {
    mlt_placement_proc *procs; // in the order of their ranks
    uint32_t proc_count, workers, ranks;
    mlt_placement_host *hosts; // those that have a rank, in the order in which they were named
    uint32_t host_count;
    mlt_hosts named; // all hosts of all sections, whose texts the others' are
} mlt_placement;

// The number of ranks of a section.
uint64_t mlt_placement_ranks_asked(const mlt_app *app);

// The number of hosts that the job has ranks for, at most.
uint32_t mlt_placement_hosts_asked(const mlt_options *options);

// Adds a process, whose app, host, workers and ranks are given; `on` is its host.
void mlt_placement_add(mlt_placement *plan, mlt_placement_host *on, mlt_placement_proc proc);

// Ends mpirun if there are too many. The plan lives until mpirun ends.
void mlt_placement_make(const mlt_options *options, mlt_placement *plan);

// The first host that is not this one; NULL: the job is local.
const mlt_placement_host *mlt_placement_other(const mlt_placement *plan);

// Prints the plan as a table: a line for each section and host.
void mlt_placement_show(const mlt_placement *plan, const mlt_options *options, FILE *out);

// The process that holds the rank, which exists.
uint32_t mlt_placement_proc_of(const mlt_placement *plan, uint32_t rank);

// The number of ranks of a worker, which exists, and the first of them.
uint32_t mlt_placement_ranks_of(const mlt_placement *plan, uint32_t worker, uint32_t *first_rank);

// "rank 3" or "the process of ranks 4-7".
void mlt_placement_name(const mlt_placement *plan, uint32_t proc, char *text, size_t size);
