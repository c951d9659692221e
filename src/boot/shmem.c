// SPDX-License-Identifier: BSD-3-Clause
// The file is cut into regions, each mapped on its own:
//
//     file     | slab of 64 | slab of 4096 | one large block | hole | slab of 64 | ...
//
// A slab holds blocks of one size class: 64, 128, 192, 256, 384, 512, ... up to LARGEST. Larger
// blocks, and those with an alignment above a page, are regions of their own. What is known about a
// region lies outside it, for its bytes are the user's.
//
// Memory goes back to the system when a large block is freed, when a slab is empty (one of each
// class stays mapped), and when a block of GIVE_BACK bytes or more is freed. The file's end moves
// up; it comes down when the last region is freed. Between, holes cost nothing but numbers.
#include "boot/shmem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "os/os.h"

enum {
    CLASSES = 25,
    LARGEST = 256 << 10,
    FIRST_SLAB = 64 << 10,
    MOST_SLAB = 4 << 20,
    BLOCKS_A_SLAB = 8, // at least
    GIVE_BACK = 64 << 10,
    KEEP = 256 << 10, // an empty slab of at most that many bytes keeps its pages
    FILE_STEP = 16 << 20,
};

typedef struct slab slab;

// Blocks of one size in a region.
struct slab {
    slab *next, *last; // among those of its class that have free blocks
    char *at;
    size_t bytes;
    uint32_t class, count, live;
    uint32_t hint;   // no free block in the words of `used` before it
    uint64_t used[]; // a bit a block
};

typedef struct region {
    char *at;
    size_t bytes;
    uint64_t offset; // in the file
    slab *slab;      // NULL: one large block
} region;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static uint64_t file_end, file_size;
static region *regions; // sorted by address
static size_t region_count, region_room;
static slab *open_slabs[CLASSES]; // those with free blocks
static size_t next_slab[CLASSES]; // bytes of the next one; 0: the first
static uint32_t slabs_of_class[CLASSES];

// ---- sizes

static size_t size_of_class(uint32_t class)
{
    return (size_t)(class % 2 ? 96 : 64) << class / 2;
}

// The smallest class for that many bytes. Class 1 would be 96, of a lower alignment.
static uint32_t class_for(size_t bytes, size_t align)
{
    uint32_t class = 0;
    while (size_of_class(class) < bytes || class == 1 ||
           (align > MLT_SHMEM_ALIGN && size_of_class(class) % align))
        class ++;
    mlt_assert(class < CLASSES);
    return class;
}

static size_t shmem_round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

// ---- regions; with the lock held

// The index of the first region that begins after the address.
static size_t first_after(const char *address)
{
    return MLT_ARRAY_SEARCH(i, region_count, regions[i].at <= address);
}

static region *region_with(const char *address)
{
    size_t i = first_after(address);
    region *r = i > 0 ? &regions[i - 1] : NULL;
    return r && address < r->at + r->bytes ? r : NULL;
}

static bool make_room(uint64_t end)
{
    if (end <= file_size)
        return true;
    uint64_t size = (end + FILE_STEP - 1) / FILE_STEP * FILE_STEP;
    if (mlt_os_resize(file, size) != MLT_OK)
        return false;
    file_size = size;
    return true;
}

// A new region of whole pages; NULL: the system gives no more.
static region *region_new(size_t bytes, size_t align)
{
    size_t page = mlt_os_page_size();
    if (bytes > SIZE_MAX / 4 || align > SIZE_MAX / 4)
        return NULL;
    bytes = shmem_round_up(bytes, page);
    if (!MLT_ARRAY_TRY(regions, region_count + 1, region_room))
        return NULL;
    if (file < 0)
        file = mlt_os_memfd("millet-memory", 0);
    char *at = file < 0 ? NULL : mlt_os_map_part(file, file_end, bytes, align);
    if (!at || !make_room(file_end + bytes)) {
        mlt_os_unmap(at, bytes);
        return NULL;
    }
    size_t i = first_after(at);
    memmove(&regions[i + 1], &regions[i], (region_count - i) * sizeof *regions);
    regions[i] = (region){.at = at, .bytes = bytes, .offset = file_end};
    region_count++;
    file_end += bytes;
    return &regions[i];
}

static void region_free(region *r)
{
    mlt_os_remove(r->at, r->bytes);
    mlt_os_unmap(r->at, r->bytes);
    if (r->offset + r->bytes == file_end)
        file_end = r->offset;
    size_t i = (size_t)(r - regions);
    region_count--;
    memmove(r, r + 1, (region_count - i) * sizeof *regions);
    if (region_count == 0)
        file_end = 0;
}

// ---- slabs; with the lock held

static void open_add(slab *s)
{
    slab **first = &open_slabs[s->class];
    s->last = NULL;
    s->next = *first;
    if (*first)
        (*first)->last = s;
    *first = s;
}

static void open_remove(slab *s)
{
    if (s->last)
        s->last->next = s->next;
    else
        open_slabs[s->class] = s->next;
    if (s->next)
        s->next->last = s->last;
}

static slab *slab_new(uint32_t class)
{
    size_t size = size_of_class(class), bytes = next_slab[class];
    if (bytes == 0)
        bytes = size * BLOCKS_A_SLAB > FIRST_SLAB ? size * BLOCKS_A_SLAB : FIRST_SLAB;
    bytes = shmem_round_up(bytes, mlt_os_page_size());
    uint32_t count = (uint32_t)(bytes / size), words = (count + 63) / 64;
    slab *s = calloc(1, sizeof *s + words * sizeof *s->used);
    region *r = s ? region_new(bytes, 1) : NULL;
    if (!r) {
        free(s);
        return NULL;
    }
    r->slab = s;
    s->at = r->at;
    s->bytes = r->bytes;
    s->class = class;
    s->count = count;
    for (uint32_t i = count; i < words * 64; i++) // blocks that are none
        s->used[i / 64] |= UINT64_C(1) << i % 64;
    open_add(s);
    slabs_of_class[class]++;
    next_slab[class] = 2 * bytes <= MOST_SLAB ? 2 * bytes : bytes;
    return s;
}

static void *slab_take(slab *s)
{
    uint32_t word = s->hint;
    while (s->used[word] == UINT64_MAX)
        word++;
    uint32_t bit = (uint32_t)__builtin_ctzll(~s->used[word]), i = word * 64 + bit;
    s->used[word] |= UINT64_C(1) << bit;
    s->hint = word;
    if (++s->live == s->count)
        open_remove(s);
    return s->at + i * size_of_class(s->class);
}

// The block's whole pages.
static void give_back(char *at, size_t bytes)
{
    size_t page = mlt_os_page_size(), skip = (size_t)(-(uintptr_t)at & (page - 1));
    if (bytes > skip)
        mlt_os_remove(at + skip, (bytes - skip) / page * page);
}

// Empty. One of each class stays, so that a program that takes and frees one block again and again
// does not map and unmap.
static void slab_rest(slab *s)
{
    bool only = open_slabs[s->class] == s && !s->next;
    if (only) {
        if (s->bytes > KEEP && size_of_class(s->class) < GIVE_BACK)
            mlt_os_remove(s->at, s->bytes);
        return;
    }
    open_remove(s);
    if (--slabs_of_class[s->class] == 1)
        next_slab[s->class] = 0;
    region_free(region_with(s->at));
    free(s);
}

static bool slab_give(slab *s, char *address)
{
    size_t size = size_of_class(s->class), distance = (size_t)(address - s->at),
           i = distance / size;
    uint64_t bit = UINT64_C(1) << i % 64;
    if (distance % size || i >= s->count || !(s->used[i / 64] & bit))
        return false;
    s->used[i / 64] &= ~bit;
    if (i / 64 < s->hint)
        s->hint = (uint32_t)(i / 64);
    if (size >= GIVE_BACK)
        give_back(address, size);
    if (s->live-- == s->count)
        open_add(s);
    if (s->live == 0)
        slab_rest(s);
    return true;
}

// ---- the contract

static void *alloc(size_t bytes, size_t align)
{
    if (bytes > LARGEST || align > mlt_os_page_size()) {
        region *r = region_new(bytes ? bytes : 1, align);
        return r ? r->at : NULL;
    }
    uint32_t class = class_for(bytes, align);
    slab *s = open_slabs[class] ? open_slabs[class] : slab_new(class);
    return s ? slab_take(s) : NULL;
}

void *mlt_shmem_alloc(size_t bytes, size_t align)
{
    mlt_assert(align > 0 && (align & (align - 1)) == 0);
    pthread_mutex_lock(&lock);
    void *address = alloc(bytes, align);
    pthread_mutex_unlock(&lock);
    return address;
}

bool mlt_shmem_free(void *address)
{
    pthread_mutex_lock(&lock);
    region *r = region_with(address);
    bool found = r && (r->slab || r->at == (char *)address);
    if (found && r->slab)
        found = slab_give(r->slab, address);
    else if (found)
        region_free(r);
    pthread_mutex_unlock(&lock);
    return found;
}

bool mlt_shmem_find(const void *address, size_t bytes, uint32_t *segment, uint64_t *offset)
{
    pthread_mutex_lock(&lock);
    const region *r = region_with(address);
    size_t from = r ? (size_t)((const char *)address - r->at) : 0;
    bool found = r && bytes <= r->bytes - from;
    if (found) {
        *segment = 0;
        *offset = r->offset + from;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int mlt_shmem_fd(uint32_t segment)
{
    pthread_mutex_lock(&lock);
    int fd = segment == 0 ? file : -1;
    pthread_mutex_unlock(&lock);
    return fd;
}
