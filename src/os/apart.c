// SPDX-License-Identifier: BSD-3-Clause
// Blocks of 64 bytes, 128, 192, ... up to 2 KiB, and of 4 KiB, 8 KiB, ... up to half a chunk, are cut from
// chunks and, once freed, kept for the next of their size; larger ones are mapped each. A head of 64 bytes in front says which. In front of
// each chunk is a page that nobody can write to: what runs over the end of the mapping before stops there.
#include "os/apart.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "os/os.h"

enum {
    HEAD = 64,
    STEP = 64,
    STEPS = 32,
    DOUBLINGS = 6,
    KINDS = STEPS + DOUBLINGS,
    CHUNK = 256 << 10,
    // Rings and records begin where pages do, and what begins there as well competes with them for the same
    // lines of the first cache: 3 % of an allreduce of 8 bytes by two processes (Neoverse-V1).
    COLOUR = 40 * STEP
};
_Static_assert((STEP * STEPS) << DOUBLINGS == CHUNK / 2, "the largest kind");

typedef struct head {
    struct head *next; // free ones of its size
    size_t bytes; // of the block with its head, or of the mapping if that is larger than all kinds
} head;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ON_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ON_HEAP 1
#endif
#endif
#ifndef ON_HEAP
#define ON_HEAP 0
#endif

static pthread_mutex_t apart_lock = PTHREAD_MUTEX_INITIALIZER;
static head *spare[KINDS];
static char *chunk_at, *chunk_end;

static char *map_guarded(size_t bytes)
{
    size_t page = mlt_os_page_size();
    char *at = mlt_os_map(bytes + page);
    if (at)
        (void)mprotect(at, page, PROT_NONE); // a mapping more than the system allows: without
    return at ? at + page : NULL;
}

static size_t bytes_of(unsigned kind)
{
    return kind < STEPS ? (kind + (size_t)1) * STEP : (size_t)STEP * STEPS << (kind - STEPS + 1);
}

static unsigned kind_of(size_t bytes)
{
    unsigned kind = (unsigned)((bytes + STEP - 1) / STEP - 1);
    if (kind < STEPS)
        return kind;
    for (kind = STEPS; bytes_of(kind) < bytes; kind++) {
    }
    return kind;
}

static head *take_small(unsigned kind)
{
    size_t bytes = bytes_of(kind);
    head *block = spare[kind];
    if (block) {
        spare[kind] = block->next;
        memset(block, 0, bytes);
        return block;
    }
    if ((size_t)(chunk_end - chunk_at) < bytes) { // what is left of the old one stays unused
        char *chunk = map_guarded(CHUNK);
        if (!chunk)
            return NULL;
        chunk_at = chunk + COLOUR;
        chunk_end = chunk + CHUNK;
    }
    block = (head *)(void *)chunk_at;
    chunk_at += bytes;
    return block;
}

void *mlt_os_apart_try(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t whole = HEAD + bytes;
    head *block;
    if (ON_HEAP) {
        block = aligned_alloc(HEAD, (whole + HEAD - 1) / HEAD * HEAD);
        if (block)
            memset(block, 0, whole);
    } else if (whole > CHUNK / 2) {
        size_t page = mlt_os_page_size();
        whole = (whole + page - 1) / page * page;
        block = (head *)(void *)map_guarded(whole);
    } else {
        unsigned kind = kind_of(whole);
        whole = bytes_of(kind);
        pthread_mutex_lock(&apart_lock);
        block = take_small(kind);
        pthread_mutex_unlock(&apart_lock);
    }
    if (!block)
        return NULL;
    block->bytes = whole;
    return (char *)block + HEAD;
}

void *mlt_os_apart_new(size_t bytes)
{
    void *memory = mlt_os_apart_try(bytes);
    if (!memory)
        mlt_no_room("%zu bytes of the library's own", bytes);
    return memory;
}

void mlt_os_apart_free(void *memory)
{
    if (!memory)
        return;
    head *block = (head *)(void *)((char *)memory - HEAD);
    if (ON_HEAP) {
        free(block);
    } else if (block->bytes > CHUNK / 2) {
        size_t page = mlt_os_page_size();
        mlt_os_unmap((char *)block - page, block->bytes + page);
    } else {
        unsigned kind = kind_of(block->bytes);
        pthread_mutex_lock(&apart_lock);
        block->next = spare[kind];
        spare[kind] = block;
        pthread_mutex_unlock(&apart_lock);
    }
}
