// SPDX-License-Identifier: BSD-3-Clause
// A heap of numbers, the smallest on top: for topological orders that prefer what stands first. The
// array is the caller's and has room for all that are in it at once.
#pragma once

#include <stdint.h>

static inline void mlt_heap_put(uint64_t *heap, uint32_t *count, uint64_t value)
{
    uint32_t i = (*count)++;
    for (; i && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = value;
}

// The smallest; there is one.
static inline uint64_t mlt_heap_take(uint64_t *heap, uint32_t *count)
{
    uint64_t first = heap[0], value = heap[--*count];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < *count; i = child) {
        if (child + 1 < *count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= value)
            break;
        heap[i] = heap[child];
    }
    heap[i] = value;
    return first;
}
