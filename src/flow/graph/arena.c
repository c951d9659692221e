// SPDX-License-Identifier: BSD-3-Clause
// Chunks in a chain; whatever does not fit into the newest gets one of its own size at least.
#include "flow/graph/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CHUNK = 16 << 10 };

typedef struct chunk {
    struct chunk *next;
    size_t at, end; // addresses: what is free
} chunk;

struct mlt_flow_arena {
    chunk *chunks;
    size_t aligned;
};

mlt_flow_arena *mlt_flow_arena_new(size_t aligned)
{
    mlt_flow_arena *arena = mlt_xcalloc(1, sizeof *arena);
    arena->aligned = aligned;
    return arena;
}

static size_t rounded(size_t bytes, size_t aligned)
{
    return (bytes + aligned - 1) / aligned * aligned;
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
    bytes = rounded(bytes, arena->aligned);
    chunk *c = arena->chunks;
    if (!c || c->end - c->at < bytes) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        c = mlt_xcalloc(1, sizeof *c + arena->aligned + room);
        c->at = rounded((uintptr_t)(c + 1), arena->aligned);
        c->end = c->at + room;
        c->next = arena->chunks;
        arena->chunks = c;
    }
    c->at += bytes;
    return (void *)(c->at - bytes);
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
