// SPDX-License-Identifier: BSD-3-Clause
// Memory of large elements, kept for the next one. The system gives large memory back at once and
// clears it for whoever takes it next: a stream of elements of a MiB would spend as long in page
// faults as in copying.
//
// One store for all workers of a process, for an element may be freed by another worker than made
// it. It is locked: beside writing so much memory that does not count.
#ifndef MLT_FLOW_ELEMENT_LARGE_H
#define MLT_FLOW_ELEMENT_LARGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    MLT_FLOW_LARGE = 1 << 10,       // from here on it pays; smaller memory is malloc's
    MLT_FLOW_LARGE_KEPT = 64 << 20, // bytes that the store keeps at most
    MLT_FLOW_LARGE_CLASSES = 256,   // sizes
};

// The size of memory that is taken for `bytes`, and the number of that size.
uint64_t mlt_flow_large_class(uint64_t bytes, uint32_t *number);

// `bytes` (MLT_FLOW_LARGE at least) of memory, aligned to 64, not cleared. Never NULL: the program
// ends if memory is exhausted. It goes back by mlt_flow_large_give with the same `bytes`.
void *mlt_flow_large_take(uint64_t bytes) MLT_MUST_CHECK;
void mlt_flow_large_give(void *memory, uint64_t bytes);

// What the store keeps now. For tests.
uint64_t mlt_flow_large_kept(void);
// Gives all that is kept back to the system.
void mlt_flow_large_forget(void);

#endif
