// SPDX-License-Identifier: BSD-3-Clause
// Each loop below is compiled for a few lengths: where the length is a constant, a block is one
// register; elsewhere its class is a constant and two or four registers overlap.
#include "type/kernel.h"

typedef enum length_class {
    WORD_1,
    WORD_2,
    WORD_4,
    WORD_8,
    WORD_16,
    FROM_4,  // to 8
    FROM_8,  // to 16
    FROM_16, // to 32
    FROM_32, // to 64
    OTHER,
} length_class;

static length_class class_of(uint64_t length)
{
    switch (length) {
    case 1:
        return WORD_1;
    case 2:
        return WORD_2;
    case 4:
        return WORD_4;
    case 8:
        return WORD_8;
    case 16:
        return WORD_16;
    default:
        return length > 64 || length < 4 ? OTHER
               : length > 32             ? FROM_32
               : length > 16             ? FROM_16
               : length > 8              ? FROM_8
                                         : FROM_4;
    }
}

// One block. The class is a constant where this is called.
MLT_KERNEL void copy(char *to, const char *from, uint64_t length, length_class class)
{
    switch (class) {
    case WORD_1:
        *to = *from;
        break;
    case WORD_2:
        memcpy(to, from, 2);
        break;
    case WORD_4:
        memcpy(to, from, 4);
        break;
    case WORD_8:
        memcpy(to, from, 8);
        break;
    case WORD_16:
        *(mlt_word16 *)to = *(const mlt_word16 *)from;
        break;
    case FROM_4: {
        uint32_t a, b;
        memcpy(&a, from, 4);
        memcpy(&b, from + length - 4, 4);
        memcpy(to, &a, 4);
        memcpy(to + length - 4, &b, 4);
        break;
    }
    case FROM_8:
        mlt_copy_8_to_16(to, from, length);
        break;
    case FROM_16: {
        mlt_word16 a = *(const mlt_word16 *)from;
        mlt_word16 b = *(const mlt_word16 *)(from + length - 16);
        *(mlt_word16 *)to = a;
        *(mlt_word16 *)(to + length - 16) = b;
        break;
    }
    case FROM_32:
        mlt_copy_16_to_64(to, from, length);
        break;
    case OTHER:
        if (length == 3) { // colours
            memcpy(to, from, 2);
            to[2] = from[2];
        } else {
            memcpy(to, from, length);
        }
    }
}

// ---- strided

// How far to look ahead: a prefetch now and then, some blocks ahead but no more than a page, wakes
// the processor's own prefetcher early and walks the page table before it matters. What fits the
// near caches has no use for it: 0.
static int64_t ahead_of(int64_t stride, uint64_t count)
{
    enum { NEAR = 96 << 10 };
    if (stride >= 64)
        return count >= NEAR / 64 || (uint64_t)stride * count >= NEAR ? 4096 : 0;
    if (stride <= -64)
        return count >= NEAR / 64 || -(uint64_t)stride * count >= NEAR ? -4096 : 0;
    return (uint64_t)(stride < 0 ? -stride : stride) * count >= NEAR ? 64 * stride : 0;
}

MLT_KERNEL uint64_t load(const char *from, uint64_t length)
{
    uint64_t word = 0;
    memcpy(&word, from, length);
    return word;
}

MLT_KERNEL void store(char *to, uint64_t word, uint64_t length)
{
    memcpy(to, &word, length);
}

// Blocks of 1, 2, 4 or 8 bytes: eight loads are under way before the first store.
MLT_KERNEL void words(char *to, int64_t ts, const char *from, int64_t fs, uint64_t length,
                      uint64_t count)
{
    int64_t to_ahead = ts == (int64_t)length ? 0 : ahead_of(ts, count);
    int64_t from_ahead = fs == (int64_t)length ? 0 : ahead_of(fs, count);
    for (; count >= 8; count -= 8) {
        if (from_ahead)
            __builtin_prefetch(from + from_ahead);
        if (to_ahead)
            __builtin_prefetch(to + to_ahead, 1);
        const char *f = from + 4 * fs;
        uint64_t a = load(from, length), b = load(from + fs, length);
        uint64_t c = load(from + 2 * fs, length), d = load(from + 3 * fs, length);
        uint64_t e = load(f, length), g = load(f + fs, length);
        uint64_t h = load(f + 2 * fs, length), i = load(f + 3 * fs, length);
        char *t = to + 4 * ts;
        store(to, a, length);
        store(to + ts, b, length);
        store(to + 2 * ts, c, length);
        store(to + 3 * ts, d, length);
        store(t, e, length);
        store(t + ts, g, length);
        store(t + 2 * ts, h, length);
        store(t + 3 * ts, i, length);
        from += 8 * fs;
        to += 8 * ts;
    }
    for (; count; count--) {
        store(to, load(from, length), length);
        from += fs;
        to += ts;
    }
}

// The packed side's stride is a constant.
MLT_KERNEL void words_any(char *to, int64_t ts, const char *from, int64_t fs, uint64_t length,
                          uint64_t count)
{
    if (ts == (int64_t)length)
        words(to, (int64_t)length, from, fs, length, count);
    else if (fs == (int64_t)length)
        words(to, ts, from, (int64_t)length, length, count);
    else
        words(to, ts, from, fs, length, count);
}

MLT_KERNEL void blocks(char *to, int64_t ts, const char *from, int64_t fs, uint64_t length,
                       uint64_t count, length_class class)
{
    int64_t to_ahead = ahead_of(ts, count), from_ahead = ahead_of(fs, count);
    for (; count >= 4; count -= 4) {
        if (from_ahead)
            __builtin_prefetch(from + from_ahead);
        if (to_ahead)
            __builtin_prefetch(to + to_ahead, 1);
        copy(to, from, length, class);
        copy(to + ts, from + fs, length, class);
        copy(to + 2 * ts, from + 2 * fs, length, class);
        copy(to + 3 * ts, from + 3 * fs, length, class);
        from += 4 * fs;
        to += 4 * ts;
    }
    for (; count; count--) {
        copy(to, from, length, class);
        from += fs;
        to += ts;
    }
}

MLT_KERNEL void strided(char *to, int64_t ts, const char *from, int64_t fs, uint64_t length,
                        uint64_t count, length_class class)
{
    if (class == WORD_1 || class == WORD_2 || class == WORD_4 || class == WORD_8)
        words_any(to, ts, from, fs, length, count);
    else
        blocks(to, ts, from, fs, length, count, class);
}

// A call for each class of lengths: the class is a constant there, and so is the length of a word.
#define OF_EACH_CLASS(CALL)                                                                        \
    CALL(WORD_1, 1)                                                                                \
    CALL(WORD_2, 2)                                                                                \
    CALL(WORD_4, 4)                                                                                \
    CALL(WORD_8, 8)                                                                                \
    CALL(WORD_16, 16)                                                                              \
    CALL(FROM_4, length)                                                                           \
    CALL(FROM_8, length)                                                                           \
    CALL(FROM_16, length)                                                                          \
    CALL(FROM_32, length)                                                                          \
    CALL(OTHER, length)

#define STRIDED(class, bytes)                                                                      \
    case class:                                                                                    \
        strided(to, to_stride, from, from_stride, bytes, count, class);                            \
        break;
void mlt_kernel_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride,
                        uint64_t length, uint64_t count)
{
    switch (class_of(length)) {
        OF_EACH_CLASS(STRIDED)
    }
}

// ---- lists

typedef enum kernel_direction { KERNEL_OUT, KERNEL_IN } kernel_direction;

MLT_KERNEL void one(kernel_direction way, uintptr_t at, char *packed, uint64_t length,
                    length_class class)
{
    if (way == KERNEL_OUT)
        copy(packed, (const char *)at, length, class);
    else
        copy((char *)at, packed, length, class);
}

MLT_KERNEL void same(kernel_direction way, const int64_t *offset, uint64_t count, uintptr_t base,
                     char *packed, uint64_t length, length_class class)
{
    for (uint64_t i = 0; i < count; i++)
        one(way, base + (uint64_t)offset[i], packed + i * length, length, class);
}

MLT_KERNEL void differing(kernel_direction way, const int64_t *offset, const uint64_t *before,
                          uint64_t count, uintptr_t base, char *packed)
{
    uint64_t from = before[0];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next = before[i + 1], length = next - from;
        char *memory = (char *)(base + (uint64_t)offset[i]);
        if (way == KERNEL_OUT)
            mlt_copy(packed, memory, length);
        else
            mlt_copy(memory, packed, length);
        packed += length;
        from = next;
    }
}

#define LISTED(class, bytes)                                                                       \
    case class:                                                                                    \
        same(way, offset, count, base, packed, bytes, class);                                      \
        break;
MLT_KERNEL void kernel_listed(kernel_direction way, const mlt_layout *list, uint64_t first,
                              uint64_t count, uintptr_t base, char *packed)
{
    const int64_t *offset = list->offset + first;
    uint64_t length = list->length;
    if (!length) {
        differing(way, offset, list->before + first, count, base, packed);
        return;
    }
    switch (class_of(length)) {
        OF_EACH_CLASS(LISTED)
    }
}

void mlt_kernel_gather(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                       char *packed)
{
    kernel_listed(KERNEL_OUT, list, first, count, base, packed);
}

void mlt_kernel_scatter(const mlt_layout *list, uint64_t first, uint64_t count, uintptr_t base,
                        const char *packed)
{
    kernel_listed(KERNEL_IN, list, first, count, base, (char *)(uintptr_t)packed); // only read
}

uint64_t mlt_kernel_lists(const mlt_layout *to, uint64_t to_first, uintptr_t to_base,
                          const mlt_layout *from, uint64_t from_first, uintptr_t from_base,
                          uint64_t count)
{
    const int64_t *to_offset = to->offset + to_first, *from_offset = from->offset + from_first;
    if (to->length) {
        for (uint64_t i = 0; i < count; i++)
            mlt_copy((char *)(to_base + (uint64_t)to_offset[i]),
                     (const char *)(from_base + (uint64_t)from_offset[i]), to->length);
        return count;
    }
    const uint64_t *to_before = to->before + to_first, *from_before = from->before + from_first;
    uint64_t difference = to_before[0] - from_before[0], i = 0;
    for (; i < count && to_before[i + 1] - from_before[i + 1] == difference; i++)
        mlt_copy((char *)(to_base + (uint64_t)to_offset[i]),
                 (const char *)(from_base + (uint64_t)from_offset[i]),
                 to_before[i + 1] - to_before[i]);
    return i;
}
