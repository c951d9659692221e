// SPDX-License-Identifier: BSD-3-Clause
#include "type/kernel.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// One block, its length known to the compiler or not.
INLINE void copy(char *to, const char *from, uint64_t length)
{
    memcpy(to, from, length);
}

INLINE void strided(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                    uint64_t length, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        copy(to + (int64_t)i * to_stride, from + (int64_t)i * from_stride, length);
}

void mlt_kernel_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                        uint64_t length, uint64_t count)
{
    switch (length) {
    case 1:
        strided(to, to_stride, from, from_stride, 1, count);
        break;
    case 2:
        strided(to, to_stride, from, from_stride, 2, count);
        break;
    case 4:
        strided(to, to_stride, from, from_stride, 4, count);
        break;
    case 8:
        strided(to, to_stride, from, from_stride, 8, count);
        break;
    case 16:
        strided(to, to_stride, from, from_stride, 16, count);
        break;
    default:
        strided(to, to_stride, from, from_stride, length, count);
    }
}

INLINE uint64_t length_of(const mlt_layout *list, uint64_t i)
{
    return list->length ? list->length : list->before[i + 1] - list->before[i];
}

void mlt_kernel_gather(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                       char *packed)
{
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t length = length_of(list, i);
        copy(packed, (const char *)(base + (uint64_t)list->offset[i]), length);
        packed += length;
    }
}

void mlt_kernel_scatter(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                        const char *packed)
{
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t length = length_of(list, i);
        copy((char *)(base + (uint64_t)list->offset[i]), packed, length);
        packed += length;
    }
}
