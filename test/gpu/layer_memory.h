// SPDX-License-Identifier: BSD-3-Clause
// Memory for the copies of the program's buffers: of a device, or what LAYER_MEMORY says.
#pragma once

#include <stddef.h>

typedef struct block block;

// Its address leaves the same remainder by 64 as `like` does. NULL: this buffer is to stay where it is.
block *memory_new(const void *like, size_t bytes, const char *function);
char *memory_at(const block *b);
void memory_write(const block *b, size_t at, const void *from, size_t bytes);
void memory_read(const block *b, size_t at, void *to, size_t bytes);

// What the processor may read of it without a copy; NULL: nothing.
const char *memory_seen(const block *b);

// Ends the program if something was written beside the block, or is written later.
void memory_free(block *b);

// How many blocks there were, and what they were.
void memory_count(size_t *device, size_t *others);

_Noreturn void layer_fault(const char *function, const char *what);
