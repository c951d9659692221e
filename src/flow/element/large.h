// SPDX-License-Identifier: BSD-3-Clause
// Memory of large elements, kept for the next ones. malloc gives large memory back to the system at
// once, and the system clears it for whoever takes it next: a stream of elements of a MiB would
// spend as long in page faults as in copying.
//
// All workers of a process share one store, for a worker may free what another one made. It has a
// lock, at which a worker spins before it sleeps: another one holds it for some nanoseconds only.
// A worker keeps the last few pieces that it gave for itself.
#pragma once

#include <stdint.h>

#include "base/status.h"

enum {
    MLT_FLOW_LARGE = 1 << 10,       // bytes from which on it pays; smaller memory is malloc's
    MLT_FLOW_LARGE_KEPT = 64 << 20, // bytes that the store keeps at most
    MLT_FLOW_LARGE_CLASSES = 256,   // numbers of sizes
};

// How much memory is taken for `bytes` (1 at least), and the number of that size.
uint64_t mlt_flow_large_class(uint64_t bytes, uint32_t *number);

// `bytes` (MLT_FLOW_LARGE at least) of memory, aligned to 64, not cleared. Never NULL: the program
// ends if memory is exhausted. mlt_flow_large_give takes it back, with the same `bytes`.
void *mlt_flow_large_take(uint64_t bytes) MLT_MUST_CHECK;
void mlt_flow_large_give(void *memory, uint64_t bytes);

// What the store keeps now, without what workers keep. For tests.
uint64_t mlt_flow_large_kept(void);
// Gives back to the system what the store and the calling thread keep.
void mlt_flow_large_forget(void);
