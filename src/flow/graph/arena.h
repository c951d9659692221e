// SPDX-License-Identifier: BSD-3-Clause
// Memory that is freed all at once: what reading a file leaves, the texts of a graph. Never NULL:
// the process ends with a message if memory is exhausted.
#pragma once

#include <stddef.h>

typedef struct mlt_flow_arena mlt_flow_arena;

enum { MLT_FLOW_ALIGNED = 16 }; // for any type of C

mlt_flow_arena *mlt_flow_arena_new(size_t aligned);
void mlt_flow_arena_free(mlt_flow_arena *arena);                                 // NULL is fine
void *mlt_flow_arena_take(mlt_flow_arena *arena, size_t bytes);                  // zeroed, aligned
char *mlt_flow_arena_text(mlt_flow_arena *arena, const char *at, size_t length); // with a NUL
char *mlt_flow_arena_print(mlt_flow_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
