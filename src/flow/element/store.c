// SPDX-License-Identifier: BSD-3-Clause
// Blocks are cut from the file one after the other, and keep their size. Each size has a list, of
// which the first free block is taken: so the same few blocks are used as long as they suffice, and
// stay in the caches.
#include "flow/element/store.h"

#include <pthread.h>

#include "base/array.h"
#include "flow/element/large.h"
#include "os/fd.h"
#include "os/os.h"

typedef struct list {
    mlt_flow_prefix **at;
    uint32_t count, room;
} list;

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static bool tried;
static _Atomic(char *) base; // NULL: no store. Written once, under the lock
static uint64_t used;
static list lists[MLT_FLOW_LARGE_CLASSES];

// With the lock held.
static bool make_store(void)
{
    if (tried)
        return base;
    tried = true;
    file = mlt_os_memfd("millet-flow", MLT_FLOW_STORE_BYTES);
    char *at = file < 0 ? NULL : mlt_os_map_fd(file, MLT_FLOW_STORE_BYTES);
    atomic_store_explicit(&base, at, memory_order_relaxed);
    return at;
}

static mlt_flow_prefix *store_cut(list *of, uint64_t size)
{
    if (size > MLT_FLOW_STORE_BYTES - used)
        return NULL;
    mlt_flow_prefix *block = (mlt_flow_prefix *)(void *)(base + used);
    block->stored = 1;
    block->offset = used;
    used += size;
    *MLT_ARRAY_ADD(of->at, of->count, of->room) = block;
    return block;
}

static mlt_flow_prefix *find(const list *in)
{
    for (uint32_t i = 0; i < in->count; i++) // acquire: pairs with mlt_flow_store_give
        if (atomic_load_explicit(&in->at[i]->taken, memory_order_acquire) == 0)
            return in->at[i];
    return NULL;
}

mlt_flow_prefix *mlt_flow_store_take(uint64_t bytes)
{
    uint32_t number;
    if (bytes < MLT_FLOW_LARGE || bytes > MLT_FLOW_STORE_BYTES)
        return NULL;
    uint64_t size = mlt_flow_large_class(bytes, &number);
    pthread_mutex_lock(&store_lock);
    mlt_flow_prefix *block = NULL;
    if (make_store()) {
        block = find(&lists[number]);
        if (!block)
            block = store_cut(&lists[number], size);
        if (block) // relaxed: under the lock, and whoever gives it back got it after that
            atomic_store_explicit(&block->taken, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&store_lock);
    return block;
}

bool mlt_flow_store_has(const mlt_flow_element *e)
{
    // Relaxed: whoever has an element of it has seen it made.
    const char *at = (const char *)e, *own = atomic_load_explicit(&base, memory_order_relaxed);
    return own && at > own && at < own + MLT_FLOW_STORE_BYTES;
}

int mlt_flow_store_fd(void)
{
    pthread_mutex_lock(&store_lock);
    int fd = make_store() ? file : -1;
    pthread_mutex_unlock(&store_lock);
    return fd;
}

char *mlt_flow_store_map(pid_t process, int fd)
{
    int copy = mlt_os_fd_of(process, fd, true);
    if (copy < 0)
        return NULL;
    char *at = mlt_os_map_fd(copy, MLT_FLOW_STORE_BYTES);
    mlt_os_close(copy);
    return at;
}

mlt_flow_element *mlt_flow_store_at(char *at, uint64_t offset, uint64_t bytes)
{
    if (!at || offset % 64 || offset > MLT_FLOW_STORE_BYTES - 64 ||
        bytes > MLT_FLOW_STORE_BYTES - 64 - offset)
        return NULL;
    mlt_flow_element *e = (mlt_flow_element *)(void *)(at + offset + sizeof(mlt_flow_prefix));
    return e->magic == MLT_FLOW_ELEMENT_MAGIC && e->refs == 1 && e->bytes == bytes ? e : NULL;
}
