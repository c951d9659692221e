// SPDX-License-Identifier: BSD-3-Clause
#include "judge/sim/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "goal/heap.h"

void mlt_sim_queue_fini(mlt_sim_queue *queue)
{
    for (int b = 0; b < 65; b++)
        free(queue->bucket[b].events);
    free(queue->put_back);
    free(queue->scratch);
}

void mlt_sim_bucket_grow(mlt_sim_bucket *bucket)
{
    bucket->room = bucket->room ? 2 * bucket->room : 64;
    bucket->events = mlt_xrealloc(bucket->events, bucket->room, sizeof *bucket->events);
}

// ---- events that are put back to now: a heap of seq << 32 | what

void mlt_sim_queue_push_late(mlt_sim_queue *queue, mlt_sim_event event)
{
    MLT_ARRAY_WANT(queue->put_back, queue->put_back_count + 1ull, queue->put_back_room);
    mlt_heap_put(queue->put_back, &queue->put_back_count, (uint64_t)event.seq << 32 | event.what);
}

mlt_sim_event mlt_sim_queue_pop_late(mlt_sim_queue *queue)
{
    uint64_t least = mlt_heap_take(queue->put_back, &queue->put_back_count);
    return (mlt_sim_event){queue->now, (uint32_t)least, (uint32_t)(least >> 32)};
}

// ---- sorting by number: ascending runs are merged in pairs until one is left

// The end of the ascending run that begins at i.
static size_t run_end(const mlt_sim_event *events, size_t i, size_t count)
{
    for (i++; i < count && events[i - 1].seq < events[i].seq; i++)
        ;
    return i;
}

static void merge(const mlt_sim_event *a, size_t a_count, const mlt_sim_event *b, size_t b_count,
                  mlt_sim_event *to)
{
    const mlt_sim_event *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end)
        *to++ = a->seq < b->seq ? *a++ : *b++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

// One round: the runs of `from` in pairs into `to`. Returns how many runs `to` has.
static size_t merge_round(const mlt_sim_event *from, size_t count, mlt_sim_event *to)
{
    size_t runs = 0;
    for (size_t i = 0; i < count; runs++) {
        size_t middle = run_end(from, i, count);
        size_t end = middle < count ? run_end(from, middle, count) : count;
        merge(from + i, middle - i, from + middle, end - middle, to + i);
        i = end;
    }
    return runs;
}

static void sort_first(mlt_sim_queue *queue)
{
    mlt_sim_bucket *first = &queue->bucket[0];
    if (first->count < 2 || run_end(first->events, 0, first->count) == first->count)
        return;
    if (queue->scratch_room < first->room) {
        queue->scratch_room = first->room;
        queue->scratch = mlt_xrealloc(queue->scratch, queue->scratch_room, sizeof *queue->scratch);
    }
    size_t runs;
    do {
        runs = merge_round(first->events, first->count, queue->scratch);
        mlt_sim_event *sorted = queue->scratch;
        size_t room = queue->scratch_room;
        queue->scratch = first->events;
        queue->scratch_room = first->room;
        first->events = sorted;
        first->room = room;
    } while (runs > 1);
}

// ---- the next time

static void deal_out(mlt_sim_queue *queue, mlt_sim_bucket *bucket)
{
    for (size_t i = 0; i < bucket->count; i++) {
        mlt_sim_event event = bucket->events[i];
        int b = 0;
        if (event.time != queue->now) {
            b = 64 - __builtin_clzll(event.time ^ queue->now);
            queue->filled |= UINT64_C(1) << (b - 1);
        }
        mlt_sim_bucket *to = &queue->bucket[b];
        if (MLT_UNLIKELY(to->count == to->room))
            mlt_sim_bucket_grow(to);
        to->events[to->count++] = event;
    }
    bucket->count = 0;
}

bool mlt_sim_queue_advance(mlt_sim_queue *queue)
{
    queue->head = queue->bucket[0].count = 0;
    if (!queue->filled)
        return false;
    mlt_sim_bucket *lowest = &queue->bucket[1 + __builtin_ctzll(queue->filled)];
    queue->filled &= queue->filled - 1;
    uint64_t least = lowest->events[0].time, differs = 0;
    for (size_t i = 1; i < lowest->count; i++) {
        uint64_t time = lowest->events[i].time;
        differs |= time ^ least;
        least = time < least ? time : least;
    }
    queue->now = least;
    if (differs) {
        deal_out(queue, lowest);
    } else { // all are of one time: the bucket as it is
        mlt_sim_bucket swapped = queue->bucket[0];
        queue->bucket[0] = *lowest;
        *lowest = swapped;
    }
    sort_first(queue);
    return true;
}
