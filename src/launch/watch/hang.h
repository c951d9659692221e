// SPDX-License-Identifier: BSD-3-Clause
// The hang report: what each rank waits for, and the cycle if there is one. Linear in ranks and
// records.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "boot/ctl.h"

// A rank with a record is blocked, or has ended if the record says so; for the others the state
// tells.
typedef enum mlt_hang_state {
    MLT_HANG_OUTSIDE,   // not in an MPI call (its worker did not answer)
    MLT_HANG_COMPUTING, // ... but uses a processor
    MLT_HANG_BUSY,      // its worker, which it shares with others, uses a processor
    MLT_HANG_CALLING,   // not blocked: it repeats MPI calls (its worker did not answer)
    MLT_HANG_CROWDED,   // the same of its worker, which it shares with others
    MLT_HANG_STOPPED,   // its process was stopped by a signal
    MLT_HANG_TRACED,    // ... by a debugger
    MLT_HANG_RUNNING,   // its worker answered, and the rank is not blocked
    MLT_HANG_UNBORN,    // has not reached the library yet
    MLT_HANG_ENDED,
    MLT_HANG_BLOCKED, // set by its records
} mlt_hang_state;

typedef struct mlt_hang mlt_hang;

// All ranks are MLT_HANG_OUTSIDE at first. Ends mpirun if memory is exhausted, as all of these.
mlt_hang *mlt_hang_new(uint32_t ranks);
void mlt_hang_free(mlt_hang *hang);

void mlt_hang_set(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, mlt_hang_state state);

// These ranks may go on: they are part of no cycle, whatever they wait for now.
void mlt_hang_moves(mlt_hang *hang, uint32_t first_rank, uint32_t ranks);

// Records of ranks that do not exist are dropped. All records of one rank come in one order; those
// of different ranks may mix.
void mlt_hang_add(mlt_hang *hang, const mlt_ctl_wait *records, size_t count);

// What the processes of the worker with these ranks wait for (MLT_CTL_PROCS); any bytes.
void mlt_hang_add_procs(mlt_hang *hang, uint32_t first_rank, uint32_t ranks, const char *text,
                        size_t length);

// Other jobs, and the numbers that records have for their ranks (MLT_CTL_JOBS); any bytes.
void mlt_hang_add_jobs(mlt_hang *hang, const mlt_ctl_job *jobs, size_t count);
bool mlt_hang_has_procs(const mlt_hang *hang);

// Writes lines without a common prefix.
void mlt_hang_print(mlt_hang *hang, FILE *out);

// The same for readers of a trace (trace/facts.h): who waits for whom, in how many words. At most 4096 ranks.
void mlt_hang_facts(mlt_hang *hang, const char *why, FILE *out);
