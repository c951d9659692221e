// SPDX-License-Identifier: BSD-3-Clause
// An index groups elements by an integer key: edges by node, lines by task. Elements with key n are
// list[first[n]] to list[first[n + 1] - 1], in order.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "flow/graph/arena.h"

// Where the things have it: a uint32_t member of each element of an array.
typedef struct mlt_flow_key_column {
    const void *array;
    size_t size, offset; // of an element; of the member
    uint32_t count;
} mlt_flow_key_column;

#define MLT_FLOW_KEY_COLUMN(array, count, member)                                                  \
    ((mlt_flow_key_column){(array), sizeof *(array), offsetof(__typeof__(*(array)), member),       \
                           (count)})

typedef struct mlt_flow_index {
    uint32_t *first, *list;
} mlt_flow_index;

// Makes both arrays in the arena. The numbers are below `numbers`. order: all things in another order
// than that of the array; NULL: in that.
mlt_flow_index mlt_flow_index_new(mlt_flow_arena *arena, mlt_flow_key_column keys, uint32_t numbers,
                                  const uint32_t *order);

static inline uint32_t mlt_flow_index_count(const uint32_t *first, uint32_t key)
{
    return first[key + 1] - first[key];
}
