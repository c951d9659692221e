// SPDX-License-Identifier: BSD-3-Clause
// The simulator's queue: events by time, those of one time by their number (seq), which tells the
// order in which they were first put in. Only for src/judge/sim.
//
// A radix heap. Time never goes back, so an event lies in the bucket of the highest bit in which
// its time differs from now; equal times share a bucket. When nothing is left of now, the lowest
// bucket that is not empty is dealt out to those below it, which are empty, and its least time is
// now. An event moves down at most once a bit, over memory that is read from front to back.
//
// Bucket 0 holds the events of now, in order. New events have greater numbers than all before them,
// so they are appended. One that was put back keeps its number: a bucket that has become bucket 0
// is sorted if it must be (merging its ascending runs, usually one), and one that is put back to
// now goes to a small heap beside it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct mlt_sim_event {
    uint64_t time;
    uint32_t what; // the simulator's: number of an action or of a timer; the queue does not read it
    uint32_t seq;
} mlt_sim_event;
_Static_assert(sizeof(mlt_sim_event) == 16, "four to a cache line");

typedef struct mlt_sim_bucket {
    mlt_sim_event *events;
    size_t count, room;
} mlt_sim_bucket;

typedef struct mlt_sim_queue {
    uint64_t now;
    size_t head;               // next event of bucket 0
    uint64_t filled;           // bit b - 1: bucket b is not empty
    mlt_sim_bucket bucket[65]; // 1 + the highest bit that differs from now
    uint64_t *put_back;        // to now; heap of seq << 32 | what
    uint32_t put_back_count, put_back_room;
    mlt_sim_event *scratch; // for sorting
    size_t scratch_room;
} mlt_sim_queue;

void mlt_sim_queue_fini(mlt_sim_queue *queue);

// The slow parts of the two below.
void mlt_sim_bucket_grow(mlt_sim_bucket *bucket) MLT_COLD;
void mlt_sim_queue_push_late(mlt_sim_queue *queue, mlt_sim_event event) MLT_COLD;
bool mlt_sim_queue_advance(mlt_sim_queue *queue); // false: the queue is empty
mlt_sim_event mlt_sim_queue_pop_late(mlt_sim_queue *queue) MLT_COLD;

// Not before now. A number is either new and the greatest so far, or one that was popped before.
static inline void mlt_sim_queue_push(mlt_sim_queue *queue, mlt_sim_event event)
{
    int b = 0;
    if (event.time != queue->now) {
        b = 64 - __builtin_clzll(event.time ^ queue->now);
        queue->filled |= UINT64_C(1) << (b - 1);
    } else {
        const mlt_sim_bucket *first = &queue->bucket[0];
        if (MLT_UNLIKELY(queue->head < first->count &&
                         first->events[first->count - 1].seq > event.seq)) {
            mlt_sim_queue_push_late(queue, event);
            return;
        }
    }
    mlt_sim_bucket *bucket = &queue->bucket[b];
    if (MLT_UNLIKELY(bucket->count == bucket->room))
        mlt_sim_bucket_grow(bucket);
    bucket->events[bucket->count++] = event;
}

// The next event; false: there is none.
static inline bool mlt_sim_queue_pop(mlt_sim_queue *queue, mlt_sim_event *event)
{
    mlt_sim_bucket *first = &queue->bucket[0];
    if (MLT_UNLIKELY(queue->head == first->count || queue->put_back_count)) {
        if (queue->put_back_count && (queue->head == first->count ||
                                      queue->put_back[0] >> 32 < first->events[queue->head].seq)) {
            *event = mlt_sim_queue_pop_late(queue);
            return true;
        }
        if (queue->head == first->count && !mlt_sim_queue_advance(queue))
            return false;
    }
    *event = first->events[queue->head++];
    return true;
}

// The event that will be popped `ahead` events from now, if nothing comes between; NULL: unknown.
static inline const mlt_sim_event *mlt_sim_queue_peek(const mlt_sim_queue *queue, size_t ahead)
{
    const mlt_sim_bucket *first = &queue->bucket[0];
    return queue->head + ahead < first->count ? &first->events[queue->head + ahead] : NULL;
}
