// SPDX-License-Identifier: BSD-3-Clause
// Blocks of device memory: classes of powers of two, cut from slabs, so that most of them lie in the middle
// of an allocation; large ones are allocations of their own and freed. A block that is not in use holds
// poison, and so do the bytes around one that is; with the stand-in they are looked at before the next use.
#include "layer_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

enum {
    ALIGN = 64,
    FIRST_BITS = 8,
    SLAB_BITS = 22,
    OWN_BITS = 20, // from this size on, a block is an allocation of its own
    CLASSES = OWN_BITS - FIRST_BITS,
    POISON = 0xdb
};

typedef enum kind { HOST, DEVICE, MANAGED, PINNED, KINDS, MIXED = KINDS } kind;

struct block {
    block *next;
    const char *function; // that has it, or had it last
    char *room, *seen;    // all of it; seen: as the processor finds it
    size_t room_bytes, at, bytes;
    kind kind;
};

static struct {
    pthread_mutex_t lock;
    bool ready;
    kind kind;
    uint64_t seed;
    cu_context context;
    block *first[KINDS][CLASSES], **end[KINDS][CLASSES]; // not in use, the oldest first
    char *slab[KINDS];
    size_t slab_used[KINDS];
    size_t count[KINDS + 1]; // the last: those that stayed
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

void layer_fault(const char *function, const char *what)
{
    fprintf(stderr, "the layer of device buffers: %s: %s\n", function, what);
    fflush(NULL);
    abort();
}

static void must(int status, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "%s gives %d", what, status);
    if (status != CU_OK)
        layer_fault("the driver", text);
}

static kind kind_of(const char *text)
{
    static const char *const names[] = {"host", "device", "managed", "pinned", "mixed"};
    for (int i = 0; i <= MIXED; i++)
        if (strcmp(text, names[i]) == 0)
            return (kind)i;
    layer_fault("LAYER_MEMORY", "is host, device, managed, pinned or mixed");
}

// With the lock.
static void pool_begin(void)
{
    const char *text = getenv("LAYER_MEMORY"), *seed = getenv("LAYER_SEED");
    pool.kind = kind_of(text ? text : "device");
    pool.seed = 0x9e3779b97f4a7c15u * (1 + (seed ? strtoull(seed, NULL, 10) : 1));
    for (int k = 0; k < KINDS; k++)
        for (int c = 0; c < CLASSES; c++)
            pool.end[k][c] = &pool.first[k][c];
    if (pool.kind != HOST) {
        must(cuInit(0), "cuInit");
        must(cuDevicePrimaryCtxRetain(&pool.context, 0), "cuDevicePrimaryCtxRetain");
    }
    pool.ready = true;
}

static kind kind_by_chance(void)
{
    pool.seed ^= pool.seed << 13;
    pool.seed ^= pool.seed >> 7;
    pool.seed ^= pool.seed << 17;
    switch (pool.seed >> 32 & 7) {
    case 0:
        return KINDS;
    case 1:
        return MANAGED;
    case 2:
        return PINNED;
    default:
        return DEVICE;
    }
}

// As a program of CUDA's does: its device is current on each of its threads.
static void need_context(void)
{
    cu_context current;
    must(cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (!current)
        must(cuCtxSetCurrent(pool.context), "cuCtxSetCurrent");
}

static char *allocate(kind kind, size_t bytes)
{
    enum { GLOBAL = 1 };
    cu_ptr at = 0;
    void *host = NULL;
    switch (kind) {
    case HOST:
        if (posix_memalign(&host, 4096, bytes) != 0)
            layer_fault("malloc", "no memory");
        return host;
    case PINNED:
        must(cuMemHostAlloc(&host, bytes, CU_HOST_PORTABLE), "cuMemHostAlloc");
        return host;
    case MANAGED:
        must(cuMemAllocManaged(&at, bytes, GLOBAL), "cuMemAllocManaged");
        return (char *)(uintptr_t)at;
    default:
        must(cuMemAlloc_v2(&at, bytes), "cuMemAlloc");
        return (char *)(uintptr_t)at;
    }
}

static void release(const block *b)
{
    switch (b->kind) {
    case HOST:
        free(b->room);
        break;
    case PINNED:
        must(cuMemFreeHost(b->room), "cuMemFreeHost");
        break;
    default:
        must(cuMemFree_v2((uintptr_t)b->room), "cuMemFree");
    }
}

static char *seen_of(kind kind, char *at)
{
    if (kind != DEVICE)
        return at;
    return stand_in_memory ? stand_in_memory((uintptr_t)at) : NULL;
}

static block *block_new(kind kind, char *room, size_t bytes)
{
    block *b = calloc(1, sizeof *b);
    *b = (block){.room = room, .seen = seen_of(kind, room), .room_bytes = bytes, .kind = kind};
    b->function = "nobody yet";
    if (b->seen)
        memset(b->seen, POISON, bytes);
    return b;
}

static block *of_slab(kind kind, int class)
{
    size_t bytes = (size_t)1 << (class + FIRST_BITS), slab = (size_t)1 << SLAB_BITS;
    if (!pool.slab[kind] || pool.slab_used[kind] + bytes > slab) {
        pool.slab[kind] = allocate(kind, slab);
        pool.slab_used[kind] = 0;
    }
    block *b = block_new(kind, pool.slab[kind] + pool.slab_used[kind], bytes);
    pool.slab_used[kind] += bytes;
    return b;
}

static bool is_poison(const char *from, size_t bytes)
{
    return bytes == 0 ||
           ((unsigned char)from[0] == POISON && memcmp(from, from + 1, bytes - 1) == 0);
}

static int class_of(size_t bytes)
{
    int class = 0;
    while ((size_t)1 << (class + FIRST_BITS) < bytes)
        class ++;
    return class;
}

// With the lock.
static block *block_take(kind kind, size_t bytes)
{
    int class = class_of(bytes);
    if (class >= CLASSES)
        return block_new(kind, allocate(kind, bytes), bytes);
    block *b = pool.first[kind][class];
    if (!b)
        return of_slab(kind, class);
    pool.first[kind][class] = b->next;
    if (!b->next)
        pool.end[kind][class] = &pool.first[kind][class];
    if (b->seen && !is_poison(b->seen, b->room_bytes))
        layer_fault(b->function, "wrote to a buffer after the end of the operation");
    return b;
}

block *memory_new(const void *like, size_t bytes, const char *function)
{
    block *b = NULL;
    pthread_mutex_lock(&pool.lock);
    if (!pool.ready)
        pool_begin();
    if (pool.kind != HOST)
        need_context();
    kind kind = pool.kind == MIXED ? kind_by_chance() : pool.kind;
    pool.count[kind]++;
    if (kind != KINDS)
        b = block_take(kind, bytes + 3 * ALIGN);
    pthread_mutex_unlock(&pool.lock);
    if (!b)
        return NULL;
    b->at = ALIGN + (((uintptr_t)like - (uintptr_t)b->room) & (ALIGN - 1));
    b->bytes = bytes;
    b->function = function;
    return b;
}

char *memory_at(const block *b)
{
    return b->room + b->at;
}

const char *memory_seen(const block *b)
{
    return b->seen ? b->seen + b->at : NULL;
}

void memory_write(const block *b, size_t at, const void *from, size_t bytes)
{
    if (b->seen)
        memcpy(b->seen + b->at + at, from, bytes);
    else
        must(cuMemcpyHtoD_v2((uintptr_t)b->room + b->at + at, from, bytes), "cuMemcpyHtoD");
}

void memory_read(const block *b, size_t at, void *to, size_t bytes)
{
    if (b->seen)
        memcpy(to, b->seen + b->at + at, bytes);
    else
        must(cuMemcpyDtoH_v2(to, (uintptr_t)b->room + b->at + at, bytes), "cuMemcpyDtoH");
}

void memory_free(block *b)
{
    size_t after = b->at + b->bytes;
    if (b->seen &&
        (!is_poison(b->seen, b->at) || !is_poison(b->seen + after, b->room_bytes - after)))
        layer_fault(b->function, "something wrote beside a buffer");
    pthread_mutex_lock(&pool.lock);
    int class = class_of(b->room_bytes);
    if (class >= CLASSES) {
        if (b->kind != HOST)
            need_context();
        release(b);
        free(b);
    } else {
        if (b->seen)
            memset(b->seen + b->at, POISON, b->bytes);
        b->next = NULL;
        *pool.end[b->kind][class] = b;
        pool.end[b->kind][class] = &b->next;
    }
    pthread_mutex_unlock(&pool.lock);
}

void memory_count(size_t *device, size_t *others)
{
    *device = pool.count[DEVICE];
    *others = pool.count[HOST] + pool.count[MANAGED] + pool.count[PINNED] + pool.count[KINDS];
}
