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

enum {
    QUARTERS = 4,
    LARGE_ALIGNED = 64,
    HAND = 8,              // pieces that a worker keeps for itself
    HAND_BYTES = 256 << 10 // of one, at most
};

typedef struct spare {  // lies in the memory itself
    mlt_list_node same; // of its size, the youngest first
    mlt_list_node all;  // the youngest first
    uint64_t bytes;
} spare;

static pthread_mutex_t large_lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; // held for some ns
static mlt_list_node classes[MLT_FLOW_LARGE_CLASSES], all; // next NULL: not used yet
static uint64_t kept;

// What this thread gave last, without the lock: it often needs as much again.
static _Thread_local struct {
    spare *of[HAND];
    uint32_t count;
    bool known; // its end gives all of it to the store
} hand __attribute__((tls_model("initial-exec")));
static pthread_key_t hand_key;
static pthread_once_t hand_once = PTHREAD_ONCE_INIT;

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

static spare *take_from_hand(uint64_t size)
{
    for (uint32_t i = hand.count; i-- > 0;) {
        spare *s = hand.of[i];
        if (s->bytes == size) {
            hand.of[i] = hand.of[--hand.count];
            return s;
        }
    }
    return NULL;
}

void *mlt_flow_large_take(uint64_t bytes)
{
    uint32_t number;
    mlt_assert(bytes >= MLT_FLOW_LARGE);
    if (bytes > SIZE_MAX / 2)
        return new_memory(0, bytes);
    uint64_t size = mlt_flow_large_class(bytes, &number);
    spare *s = take_from_hand(size);
    if (s)
        return s;
    pthread_mutex_lock(&large_lock);
    mlt_list_node *list = list_at(&classes[number]);
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

static void store(spare *s, uint32_t number)
{
    pthread_mutex_lock(&large_lock);
    mlt_list_push_front(list_at(&classes[number]), &s->same);
    mlt_list_push_front(list_at(&all), &s->all);
    kept += s->bytes;
    spare *old = surplus(MLT_FLOW_LARGE_KEPT);
    pthread_mutex_unlock(&large_lock);
    free_all(old);
}

static void empty_hand(void *unused)
{
    (void)unused;
    while (hand.count > 0) {
        spare *s = hand.of[--hand.count];
        uint32_t number;
        (void)mlt_flow_large_class(s->bytes, &number);
        store(s, number);
    }
    hand.known = false;
}

static void make_hand_key(void)
{
    if (pthread_key_create(&hand_key, empty_hand) != 0)
        mlt_fatal("the system has no key for a thread's memory of elements");
}

static MLT_COLD void know_hand(void)
{
    (void)pthread_once(&hand_once, make_hand_key);
    (void)pthread_setspecific(hand_key, &hand); // without it the end of a thread forgets its pieces
    hand.known = true;
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
    if (size > HAND_BYTES || hand.count == HAND) {
        store(s, number);
        return;
    }
    if (MLT_UNLIKELY(!hand.known))
        know_hand();
    hand.of[hand.count++] = s;
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
    empty_hand(NULL);
    pthread_mutex_lock(&large_lock);
    spare *old = surplus(0);
    pthread_mutex_unlock(&large_lock);
    free_all(old);
}
