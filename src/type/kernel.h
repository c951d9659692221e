// SPDX-License-Identifier: BSD-3-Clause
// Copies of many small blocks. Nothing outside of the blocks is read or written: what lies between
// may be unmapped, or another thread's. The two sides do not overlap.
#pragma once

#include <stdint.h>
#include <string.h>

#include "type/layout_int.h"

#define MLT_KERNEL static inline __attribute__((always_inline))

// 16 bytes in one register, anywhere.
typedef uint8_t mlt_word16 __attribute__((vector_size(16), aligned(1), may_alias));

// Both overlap where the length is not the largest: no branch depends on it.
MLT_KERNEL void mlt_copy_8_to_16(char *to, const char *from, uint64_t length)
{
    uint64_t a, b;
    memcpy(&a, from, 8);
    memcpy(&b, from + length - 8, 8);
    memcpy(to, &a, 8);
    memcpy(to + length - 8, &b, 8);
}

MLT_KERNEL void mlt_copy_16_to_64(char *to, const char *from, uint64_t length)
{
    uint64_t last = length - 16, second = last < 16 ? last : 16, third = last < 32 ? last : 32;
    mlt_word16 a = *(const mlt_word16 *)from, b = *(const mlt_word16 *)(from + second);
    mlt_word16 c = *(const mlt_word16 *)(from + third), d = *(const mlt_word16 *)(from + last);
    *(mlt_word16 *)to = a;
    *(mlt_word16 *)(to + second) = b;
    *(mlt_word16 *)(to + third) = c;
    *(mlt_word16 *)(to + last) = d;
}

// A block of any length. Lengths of a list are often random, and a wrong guess of a branch costs
// more than a needless load: hence one way for all from 16 to 64.
MLT_KERNEL void mlt_copy(char *to, const char *from, uint64_t length)
{
    if (length - 16 <= 48)
        mlt_copy_16_to_64(to, from, length);
    else if (length > 64)
        memcpy(to, from, length);
    else if (length >= 8)
        mlt_copy_8_to_16(to, from, length);
    else
        for (uint64_t i = 0; i < length; i++)
            to[i] = from[i];
}

// `count` blocks of `length` bytes, strides apart.
void mlt_kernel_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                        uint64_t length, uint64_t count);

// Items [first, first + count) of a LIST: out of memory at `base` into `packed`, and back.
void mlt_kernel_gather(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                       char *packed);
void mlt_kernel_scatter(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                        const char *packed);

// Moves items of a LIST to items of another, from the two first ones on, as long as their lengths
// are the same. Returns how many, at most `count`. Either no list has one length for all its items,
// or both have the same one.
uint64_t mlt_kernel_lists(const mlt_layout *to, uint64_t to_first, uintptr_t to_base,
                          const mlt_layout *from, uint64_t from_first, uintptr_t from_base,
                          uint64_t count);
