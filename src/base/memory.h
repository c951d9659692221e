// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there: where it is not, the process ends with a sentence. For what is made before
// anything runs and cannot go on without it; freed with free().
#ifndef MLT_BASE_MEMORY_H
#define MLT_BASE_MEMORY_H

#include <stddef.h>

#include "base/status.h"

// `count` elements of `size` bytes, zeroed. Never NULL, nothing asked for included.
void *mlt_take(size_t count, size_t size) MLT_MUST_CHECK;

// The array with room for so many elements; those that are new are not zeroed.
void *mlt_take_more(void *array, size_t count, size_t size) MLT_MUST_CHECK;

#endif
