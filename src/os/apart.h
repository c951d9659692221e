// SPDX-License-Identifier: BSD-3-Clause
// Memory of the library's own, apart from the program's heap. A program that writes beyond the end of
// a block of its heap does not reach what lies here, so a report of the crash that follows, or of ranks
// that wait, can be believed. For objects by which ranks run, wait and are reported; a few for each
// worker and communicator.
//
// Any thread, at any time. With a sanitizer, which watches the heap better, it is the heap.
#pragma once

#include <stddef.h>

#include "base/status.h"

// Zeroed, aligned to 64 bytes. NULL: the system gives no more. apart_new: never NULL, or the process
// ends with a message.
void *mlt_os_apart_try(size_t bytes) MLT_MUST_CHECK;
void *mlt_os_apart_new(size_t bytes) MLT_MUST_CHECK;
void mlt_os_apart_free(void *memory); // NULL is fine
