// SPDX-License-Identifier: BSD-3-Clause
// Chunks in a chain; whatever does not fit into the newest gets one of its own size at least.
#include "flow/graph/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CHUNK = 16 << 10, ARENA_ALIGNED = 16 };

typedef struct chunk {
    _Alignas(ARENA_ALIGNED) struct chunk *next;
    size_t used, room; // of what follows
} chunk;
_Static_assert(sizeof(chunk) % ARENA_ALIGNED == 0, "what follows is aligned");

struct mlt_flow_arena {
    chunk *chunks;
};

mlt_flow_arena *mlt_flow_arena_new(void)
{
    return mlt_take(1, sizeof(mlt_flow_arena));
}

void mlt_flow_arena_free(mlt_flow_arena *arena)
{
    if (!arena)
        return;
    for (chunk *next, *c = arena->chunks; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

void *mlt_flow_arena_take(mlt_flow_arena *arena, size_t bytes)
{
    bytes = (bytes + ARENA_ALIGNED - 1) & ~(size_t)(ARENA_ALIGNED - 1);
    chunk *c = arena->chunks;
    if (!c || c->room - c->used < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        c = mlt_take(1, sizeof *c + room);
        c->room = room;
        c->next = arena->chunks;
        arena->chunks = c;
    }
    void *memory = (char *)(c + 1) + c->used;
    c->used += bytes;
    return memory;
}

char *mlt_flow_arena_text(mlt_flow_arena *arena, const char *at, size_t length)
{
    char *text = mlt_flow_arena_take(arena, length + 1);
    memcpy(text, at, length);
    return text;
}

char *mlt_flow_arena_print(mlt_flow_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t bytes = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    char *text = mlt_flow_arena_take(arena, bytes);
    vsnprintf(text, bytes, format, again);
    va_end(again);
    va_end(args);
    return text;
}
