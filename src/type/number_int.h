// SPDX-License-Identifier: BSD-3-Clause
// What the files of kernels share: halves, the greater and lesser of two floats, and the loop of a
// kernel. Elements are loaded and stored with memcpy, so that addresses need no alignment;
// compilers turn the loops into vectors.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

// ---- IEEE half. A float holds the exact sum of two halves well enough and their product exactly,
// and 24 bits are at least 2 * 11 + 2, so rounding twice gives the same as rounding once.

typedef uint16_t half;

static inline float half_to_float(half h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu, bits;
    float value;
    if (rest >= 0x7c00u) { // infinity, NaN
        bits = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
        memcpy(&value, &bits, 4);
        return value;
    }
    // As if it were a float with a much too small exponent; the multiplication puts it right, and
    // subnormal halves with it.
    bits = rest << 13;
    memcpy(&value, &bits, 4);
    value *= 0x1p112f;
    memcpy(&bits, &value, 4);
    bits |= sign;
    memcpy(&value, &bits, 4);
    return value;
}

static inline half half_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) // NaN stays one, and quiet
        return (half)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    if (rest >= 0x47800000u) // 2^16 and above
        return (half)(sign | 0x7c00u);
    if (rest < 0x38800000u) { // below 2^-14: subnormal; adding 0.5 rounds at the right bit
        float small;
        memcpy(&small, &rest, 4);
        small += 0.5f;
        memcpy(&bits, &small, 4);
        return (half)(sign | (bits - 0x3f000000u));
    }
    rest += 0xfffu + (rest >> 13 & 1);
    return (half)(sign | (rest - 0x38000000u) >> 13);
}

// ---- the greater and the lesser

// A NaN on either side wins, and of two zeros the sign decides: no order of operands matters.
#define FLOAT_PICK(NAME, F, better, zero_signed)                                                   \
    static inline F NAME(F a, F b)                                                                 \
    {                                                                                              \
        if (isnan(a) || isnan(b))                                                                  \
            return a + b;                                                                          \
        if (a == b)                                                                                \
            return (signbit(a) != 0) == (zero_signed) ? a : b;                                     \
        return a better b ? a : b;                                                                 \
    }

// The same on the bits, without a branch, so that loops become vectors. Equal numbers have equal
// bits except the sign of zeros, which `merge` decides: & gives +0, | gives -0.
#define FLOAT_PICK_BITS(NAME, F, U, better, merge)                                                 \
    static inline F NAME(F a, F b)                                                                 \
    {                                                                                              \
        F sum = a + b;                                                                             \
        U abits, bbits, nan, bits;                                                                 \
        memcpy(&abits, &a, sizeof a);                                                              \
        memcpy(&bbits, &b, sizeof b);                                                              \
        memcpy(&nan, &sum, sizeof sum);                                                            \
        bits = a better b ? abits : bbits;                                                         \
        bits = a == b ? abits merge bbits : bits;                                                  \
        bits = a != a ? nan : bits;                                                                \
        bits = b != b ? nan : bits;                                                                \
        memcpy(&a, &bits, sizeof a);                                                               \
        return a;                                                                                  \
    }
FLOAT_PICK_BITS(max_float, float, uint32_t, >, &)
FLOAT_PICK_BITS(min_float, float, uint32_t, <, |)
FLOAT_PICK_BITS(max_double, double, uint64_t, >, &)
FLOAT_PICK_BITS(min_double, double, uint64_t, <, |)

// ---- kernels

#define KERNEL(NAME, T, expression)                                                                \
    static void NAME(void *inout, const void *in, uint64_t count)                                  \
    {                                                                                              \
        char *to = inout;                                                                          \
        const char *from = in;                                                                     \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            T a, b;                                                                                \
            memcpy(&a, to + i * sizeof a, sizeof a);                                               \
            memcpy(&b, from + i * sizeof b, sizeof b);                                             \
            a = (T)(expression);                                                                   \
            memcpy(to + i * sizeof a, &a, sizeof a);                                               \
        }                                                                                          \
    }

#define COPY_KERNEL(NAME, bytes)                                                                   \
    static void NAME(void *inout, const void *in, uint64_t count)                                  \
    {                                                                                              \
        if (inout != in && count)                                                                  \
            memcpy(inout, in, count *(bytes));                                                     \
    }
