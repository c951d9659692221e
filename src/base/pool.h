// SPDX-License-Identifier: BSD-3-Clause
// Objects of one size, taken and given back in a few instructions. One thread uses a pool; memory
// comes in growing chunks and returns to the system only with mlt_pool_fini. Objects are aligned to
// 16 bytes, those of a multiple of 64 bytes to 64.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_pool {
    void *free;          // first free object; its first word links to the next
    void *last;          // last free object; valid while free is not NULL
    void *chunks;        // all chunks, linked by their first word
    size_t object_size;  // rounded up to 16
    uint32_t next_count; // objects in the next chunk
    size_t in_use;
} mlt_pool;

void mlt_pool_init(mlt_pool *pool, size_t object_size, uint32_t first_count);
void mlt_pool_fini(mlt_pool *pool);

// Adds a chunk and takes an object from it; ends the process if memory is exhausted.
void *mlt_pool_grow(mlt_pool *pool) MLT_COLD;

// An uninitialised object, never NULL.
static inline void *mlt_pool_take(mlt_pool *pool)
{
    void *object = pool->free;
    if (MLT_UNLIKELY(!object))
        return mlt_pool_grow(pool);
    pool->free = *(void **)object;
    pool->in_use++;
    return object;
}

static inline void mlt_pool_give(mlt_pool *pool, void *object)
{
    if (!pool->free)
        pool->last = object;
    *(void **)object = pool->free;
    pool->free = object;
    pool->in_use--;
}

// The same, but the object is taken again as late as possible: a stale handle to it keeps pointing
// at a dead object.
static inline void mlt_pool_give_last(mlt_pool *pool, void *object)
{
    *(void **)object = NULL;
    if (pool->free)
        *(void **)pool->last = object;
    else
        pool->free = object;
    pool->last = object;
    pool->in_use--;
}
