// SPDX-License-Identifier: BSD-3-Clause
// The board of changes from outside (mlt_job_board, mpi/coll/outside.h): its slots, and who has looked.
//
// A slot has a key, which is a communicator, or one of those below, and a word. Of a job on one host,
// ranks make the slots of their communicators. Of a job over several hosts only agents do, as mpirun
// tells all of them in the same order; so all boards have the same slots.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "boot/job.h"

// Of a job over several hosts. KNOWN: the last change of which all workers of all hosts know. FULL: not
// 0, there are no slots any more. ANSWERS, with a communicator's: what all hosts know to be decided.
#define MLT_BOARD_KNOWN   UINT64_MAX
#define MLT_BOARD_FULL    (UINT64_MAX - 1)
#define MLT_BOARD_ANSWERS (UINT64_C(1) << 63)

enum { MLT_CTL_DECIDES = 2 }; // detail of MLT_CTL_CHANGED: two words follow, a key and its word

// The key of a communicator. Those of one MPI_Comm_split have the same context, and each its own first
// rank.
static inline uint64_t mlt_board_key(uint32_t first_rank, uint32_t context)
{
    return (UINT64_C(1) + first_rank) << 32 | context;
}

// Its slot; NULL: it has none, and, if it is `new`, all are taken.
mlt_board_entry *mlt_board_slot(mlt_job_board *board, uint64_t key, bool new);

// The word of a slot; 0: there is none. Acquire.
uint64_t mlt_board_word(mlt_job_board *board, uint64_t key);
// Makes the slot if need be; false: all are taken. Release.
bool mlt_board_write(mlt_job_board *board, uint64_t key, uint64_t word);

// True if all workers of this host know of the change, or have ended.
bool mlt_board_looked(mlt_job *job, uint32_t change);
