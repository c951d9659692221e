// SPDX-License-Identifier: BSD-3-Clause
// Context numbers: unique in the job while the communicator lives on any worker, then used again.
//
// The worker that leads the making of communicators takes a number from a space of its own, so no
// agreement is needed: number n of worker w of W is context MLT_CONTEXT_FIRST + 8 * (n * W + w).
// One number serves all communicators of one call, whose groups are disjoint (MPI_Comm_split). Each
// worker that took part counts its communicators with that number, and tells the giver by a note
// when the last of them is gone; the giver uses the number again when all have done so.
//
// A communicator with ranks of several jobs has a number from a range of its own, which its first
// worker draws at random; not one that a worker of the communicator uses: each tells its own in the
// agreement. Nobody gives it back.
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "p2p/p2p.h"
#include "p2p/worker.h"

// A worker's share of a number.
typedef struct mlt_context {
    uint32_t refs;
    uint32_t first; // of the eight contexts
    mlt_worker *worker;
} mlt_context;

struct mlt_contexts; // a worker's numbers, in mlt_mpi_worker
struct mlt_contexts *mlt_contexts_new(void);
void mlt_contexts_free(struct mlt_contexts *contexts);

// Takes a number of the calling worker's, to be given back by `workers` workers. 0: all are in use.
uint32_t mlt_context_take(mlt_worker *worker, uint32_t workers);

// The numbers of communicators over several jobs that this worker has; and a new one that is not
// among these `count`.
const uint32_t *mlt_context_abroad(const mlt_worker *worker, uint32_t *count);
uint32_t mlt_context_draw(const uint32_t *used, uint32_t count);

// This worker's share, with one reference. Every worker that was counted in mlt_context_take makes
// exactly one, and drops it even if it makes no communicator.
mlt_context *mlt_context_join(mlt_worker *worker, uint32_t first);
mlt_context *mlt_context_hold(mlt_context *context);
void mlt_context_drop(mlt_context *context);

// mlt_upcalls.note.
void mlt_context_noted(mlt_worker *worker, uint32_t from, uint64_t what, uint64_t value);
