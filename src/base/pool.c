// SPDX-License-Identifier: BSD-3-Clause
#include "base/pool.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"

enum { LINE = 64, HEADER_BYTES = LINE, MOST_BYTES_A_CHUNK = 1 << 20 };

void mlt_pool_init(mlt_pool *pool, size_t object_size, uint32_t first_count)
{
    mlt_assert(object_size >= sizeof(void *) && first_count > 0);
    *pool = (mlt_pool){.object_size = (object_size + 15) & ~(size_t)15, .next_count = first_count};
}

void mlt_pool_fini(mlt_pool *pool)
{
    for (void *chunk = pool->chunks; chunk;) {
        void *next = *(void **)chunk;
        free(chunk);
        chunk = next;
    }
    *pool = (mlt_pool){.object_size = pool->object_size, .next_count = pool->next_count};
}

void *mlt_pool_grow(mlt_pool *pool)
{
    uint32_t count = pool->next_count;
    size_t bytes = HEADER_BYTES + count * pool->object_size;
    // Objects of whole lines begin with one.
    char *chunk = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (!chunk)
        mlt_no_room("%u more objects of %zu bytes", count, pool->object_size);
    *(void **)chunk = pool->chunks;
    pool->chunks = chunk;
    char *objects = chunk + HEADER_BYTES;
    for (uint32_t i = count; i-- > 1;) {
        if (!pool->free)
            pool->last = objects + i * pool->object_size;
        *(void **)(objects + i * pool->object_size) = pool->free;
        pool->free = objects + i * pool->object_size;
    }
    if (2 * count * pool->object_size <= MOST_BYTES_A_CHUNK)
        pool->next_count = 2 * count;
    pool->in_use++;
    return objects;
}
