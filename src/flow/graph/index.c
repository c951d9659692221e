// SPDX-License-Identifier: BSD-3-Clause
#include "flow/graph/index.h"

static uint32_t key_of(const mlt_flow_key_column *keys, uint32_t i)
{
    const char *element = (const char *)keys->array + i * keys->size;
    return *(const uint32_t *)(const void *)(element + keys->offset);
}

mlt_flow_index mlt_flow_index_new(mlt_flow_arena *arena, mlt_flow_key_column keys, uint32_t numbers,
                                  const uint32_t *order)
{
    uint32_t *first = mlt_flow_arena_take(arena, (numbers + 1ull) * sizeof *first);
    uint32_t *list = mlt_flow_arena_take(arena, keys.count * sizeof *list);
    for (uint32_t i = 0; i < keys.count; i++)
        first[key_of(&keys, i)]++;
    uint32_t sum = 0; // first[n] becomes the end of n's things, then their beginning
    for (uint32_t n = 0; n <= numbers; n++) {
        sum += first[n];
        first[n] = sum;
    }
    for (uint32_t i = keys.count; i-- > 0;) {
        uint32_t at = order ? order[i] : i;
        list[--first[key_of(&keys, at)]] = at;
    }
    return (mlt_flow_index){first, list};
}
