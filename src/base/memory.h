// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there: where it is not, the process ends with a message. For what the process
// cannot go on without; freed with free(). A caller that can go on asks malloc itself.
#pragma once

#include <stddef.h>

#include "base/status.h"

// `count` elements of `size` bytes, zeroed. Never NULL, even if nothing is asked for.
void *mlt_xcalloc(size_t count, size_t size) MLT_MUST_CHECK;

// The array with room for so many elements; those that are new are not zeroed.
void *mlt_xrealloc(void *array, size_t count, size_t size) MLT_MUST_CHECK;

// The one way to say that memory is out: "memory is exhausted: no room for <what>". The text for
// callers that report an error in their own way, and the end of the process.
#define MLT_NO_ROOM "memory is exhausted: no room for "
_Noreturn void mlt_no_room(const char *what, ...) MLT_PRINTF(1, 2) MLT_COLD;
