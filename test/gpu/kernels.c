// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/gpu/kernels.cu, compiled for the processor: what the stand-in runs
// (STAND_IN_KERNELS). Threads run one after the other. Compiled with -fsanitize=alignment, as a
// device takes no address that is not a multiple of what it loads there.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define API            __attribute__((visibility("default")))
#define KERNEL(blocks) static void
#define DEVICE         static inline __attribute__((always_inline))

// ---- what CUDA has

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

static dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16))) uint4;

// Where the processor finds what is at an address of a device: the stand-in says how. The last answer
// holds for the rest of that allocation; a kernel goes back and forth between a few.
typedef struct reach {
    uint64_t from, bytes;
    char *at;
} reach;
API extern void (*stand_in_reach)(uint64_t address, uint64_t *from, uint64_t *bytes, char **at);
void (*stand_in_reach)(uint64_t address, uint64_t *from, uint64_t *bytes, char **at);
enum { REACHES = 8 };
static reach reaches[REACHES];
static unsigned next_reach;

static reach *reach_of(uint64_t address)
{
    reach *r = &reaches[next_reach++ % REACHES];
    stand_in_reach(address, &r->from, &r->bytes, &r->at);
    return r;
}

static void forget_reaches(void)
{
    memset(reaches, 0, sizeof reaches);
}

DEVICE void *__cvta_global_to_generic(uint64_t address)
{
    const reach *r = NULL;
    if (!address) // a list that a kernel does not have
        return NULL;
    for (int i = 0; i < REACHES && !r; i++)
        if (address - reaches[i].from < reaches[i].bytes)
            r = &reaches[i];
    r = r ? r : reach_of(address);
    return r->at + (address - r->from);
}

DEVICE uint64_t __umul64hi(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

#define SAME_BITS(NAME, TO, FROM)                                                                  \
    DEVICE TO NAME(FROM from)                                                                      \
    {                                                                                              \
        TO to;                                                                                     \
        memcpy(&to, &from, sizeof to);                                                             \
        return to;                                                                                 \
    }
SAME_BITS(__float_as_uint, uint32_t, float)
SAME_BITS(__uint_as_float, float, uint32_t)
SAME_BITS(__double_as_longlong, uint64_t, double)
SAME_BITS(__longlong_as_double, double, uint64_t)

// A half is its bits.
#define __ushort_as_half(bits) (bits)
#define __half_as_ushort(half) (half)

DEVICE float __half2float(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float size = exponent == 31  ? (fraction ? __builtin_nanf("") : __builtin_inff())
                 : exponent == 0 ? __builtin_ldexpf((float)fraction, -24)
                                 : __builtin_ldexpf((float)(1024 + fraction), exponent - 25);
    return half & 0x8000 ? -size : size;
}

// To the nearest, and of two to the even one.
DEVICE uint16_t __float2half_rn(float f)
{
    uint32_t sign = __float_as_uint(f) >> 16 & 0x8000;
    float size = __builtin_fabsf(f), ulp = 0x1p-24f, greatest = 65520;
    if (f != f)
        return 0x7fff;
    if (size >= greatest)
        return (uint16_t)(sign | 0x7c00);
    uint32_t exponent = 0;
    for (; size >= 2048 * ulp; ulp *= 2)
        exponent++;
    uint32_t ulps = (uint32_t)__builtin_rintf(size / ulp);
    return (uint16_t)(sign | ((exponent << 10) + ulps));
}

// Threads run one after the other, so the last one of a warp comes after all.
DEVICE void __threadfence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

DEVICE void __syncwarp(void)
{
}

// ---- the kernels

#include "../../src/gpu/kernels.cu"

// ---- what the stand-in calls

#define P(i) (*(const uint64_t *)params[i])
#define P3   P(0), P(1), P(2)
#define P5   P3, P(3), P(4)
#define P10  P3, P(3), P(4), P(5), P(6), P(7), P(8), P(9)
#define P18  P10, P(10), P(11), P(12), P(13), P(14), P(15), P(16), P(17)
#define P21  P18, P(18), P(19), P(20)
#define P24  P21, P(21), P(22), P(23)
#define P26  P24, P(24), P(25)
#define ENTRY(NAME, N)                                                                             \
    API extern const size_t stand_in_count_##NAME;                                                 \
    const size_t stand_in_count_##NAME = N;                                                        \
    API void stand_in_##NAME(const unsigned grid[3], const unsigned block[3], void **params);      \
    void stand_in_##NAME(const unsigned grid[3], const unsigned block[3], void **params)           \
    {                                                                                              \
        forget_reaches();                                                                          \
        gridDim = (dim3){grid[0], grid[1], grid[2]};                                               \
        blockDim = (dim3){block[0], block[1], block[2]};                                           \
        for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                                 \
            for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)                         \
                NAME(P##N);                                                                        \
    }
ENTRY(strided, 18)
ENTRY(runs, 21)
ENTRY(copies, 3)
ENTRY(copy_told, 5)
ENTRY(reduce_8, 24)
ENTRY(reduce_16, 24)
ENTRY(reduce_32, 24)
ENTRY(reduce_64, 24)
ENTRY(reduce_half, 24)
ENTRY(reduce_float, 24)
ENTRY(reduce_double, 24)
ENTRY(reduce_complex_half, 24)
ENTRY(reduce_complex_float, 24)
ENTRY(reduce_complex_double, 24)
ENTRY(reduce_pair, 26)
