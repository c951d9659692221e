// SPDX-License-Identifier: BSD-3-Clause
// Things by a number that they have: edges by node, lines by task. Those of number n are
// list[first[n]] to list[first[n + 1] - 1], in order.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "flow/graph/arena.h"

// Where the things have it: a uint32_t member of each element of an array.
typedef struct mlt_flow_keys {
    const void *array;
    size_t size, offset; // of an element; of the member
    uint32_t count;
} mlt_flow_keys;

#define MLT_FLOW_KEYS(array, count, member)                                                        \
    ((mlt_flow_keys){(array), sizeof *(array), offsetof(__typeof__(*(array)), member), (count)})

typedef struct mlt_flow_index {
    uint32_t *first, *list;
} mlt_flow_index;

// Makes both arrays in the arena. The numbers are below `numbers`. order: all things in another order
// than that of the array; NULL: in that.
mlt_flow_index mlt_flow_index_of(mlt_flow_arena *arena, mlt_flow_keys keys, uint32_t numbers,
                                 const uint32_t *order);
