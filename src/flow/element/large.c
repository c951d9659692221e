// SPDX-License-Identifier: BSD-3-Clause
// Lists of free memory by size: four sizes to each power of two, so at most a fifth is unused (and
// never touched). The youngest is taken first, for it may still be in the caches; the oldest goes
// back to the system when the store is full.
#include "flow/element/large.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"

enum { QUARTERS = 4, LARGE_ALIGNED = 64 };

typedef struct spare {  // lies in the memory itself
    mlt_list_node same; // of its size, the youngest first
    mlt_list_node all;  // the youngest first
    uint64_t bytes;
} spare;

static pthread_mutex_t large_lock = PTHREAD_MUTEX_INITIALIZER;
static mlt_list_node classes[MLT_FLOW_LARGE_CLASSES], all; // next NULL: not used yet
static uint64_t kept;

uint64_t mlt_flow_large_class(uint64_t bytes, uint32_t *number)
{
    uint32_t power = 63 - (uint32_t)__builtin_clzll(bytes); // 2^power <= bytes
    uint64_t quarter = (UINT64_C(1) << power) / QUARTERS;
    uint64_t quarters = (bytes + quarter - 1) / quarter; // 4 to 8
    *number = power * QUARTERS + (uint32_t)quarters - QUARTERS;
    return quarters * quarter;
}

static mlt_list_node *list_at(mlt_list_node *list)
{
    if (!list->next)
        mlt_list_init(list);
    return list;
}

static void take_out(spare *s)
{
    mlt_list_remove(&s->same);
    mlt_list_remove(&s->all);
    kept -= s->bytes;
}

static MLT_COLD void *new_memory(uint64_t size, uint64_t bytes)
{
    void *memory = size >= bytes && size < SIZE_MAX / 2 ? aligned_alloc(LARGE_ALIGNED, size) : NULL;
    if (!memory)
        mlt_no_room("an element of %llu bytes", (unsigned long long)bytes);
    return memory;
}

void *mlt_flow_large_take(uint64_t bytes)
{
    uint32_t number;
    mlt_assert(bytes >= MLT_FLOW_LARGE);
    if (bytes > SIZE_MAX / 2)
        return new_memory(0, bytes);
    uint64_t size = mlt_flow_large_class(bytes, &number);
    pthread_mutex_lock(&large_lock);
    mlt_list_node *list = list_at(&classes[number]);
    spare *s = NULL;
    if (!mlt_list_empty(list)) {
        s = mlt_container_of(list->next, spare, same);
        take_out(s);
    }
    pthread_mutex_unlock(&large_lock);
    return s ? s : new_memory(size, bytes);
}

// Takes out, the oldest first, all that is more than `most`. Returns a list by same.next.
static spare *surplus(uint64_t most)
{
    spare *out = NULL;
    while (kept > most) {
        spare *s = mlt_container_of(all.prev, spare, all);
        take_out(s);
        s->same.next = out ? &out->same : NULL;
        out = s;
    }
    return out;
}

static void free_all(spare *s)
{
    while (s) {
        mlt_list_node *next = s->same.next;
        free(s);
        s = next ? mlt_container_of(next, spare, same) : NULL;
    }
}

void mlt_flow_large_give(void *memory, uint64_t bytes)
{
    spare *s = memory;
    uint32_t number;
    uint64_t size = mlt_flow_large_class(bytes, &number);
    if (size > MLT_FLOW_LARGE_KEPT) {
        free(memory);
        return;
    }
    s->bytes = size;
    pthread_mutex_lock(&large_lock);
    mlt_list_push_front(list_at(&classes[number]), &s->same);
    mlt_list_push_front(list_at(&all), &s->all);
    kept += size;
    spare *old = surplus(MLT_FLOW_LARGE_KEPT);
    pthread_mutex_unlock(&large_lock);
    free_all(old);
}

uint64_t mlt_flow_large_kept(void)
{
    pthread_mutex_lock(&large_lock);
    uint64_t bytes = kept;
    pthread_mutex_unlock(&large_lock);
    return bytes;
}

void mlt_flow_large_forget(void)
{
    pthread_mutex_lock(&large_lock);
    spare *old = surplus(0);
    pthread_mutex_unlock(&large_lock);
    free_all(old);
}
