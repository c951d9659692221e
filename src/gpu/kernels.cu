// SPDX-License-Identifier: BSD-3-Clause
// What a device computes: copies with gaps, many copies at once, and the operations of reductions.
// kernel.c starts these kernels. kernels.ptx is made of this file (test/gpu/ptx.py --write).
//
// A compiler of C understands it, too: test/gpu/kernels.c is the same for the processor. All
// parameters have 8 bytes. Results have the bits that src/type computes, but a NaN is any NaN: its
// bits differ between processors as well.
//
// Threads take every so many-th piece of the work: thread t of n takes pieces t, t + n, t + 2 n, so
// that threads that run together touch bytes that lie together.
#include "gpu/kernels.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
// So many blocks at once on a multiprocessor: each thread has 64 K / 256 / blocks registers.
#define KERNEL(blocks) extern "C" __global__ void __launch_bounds__(MLT_GPU_THREADS, blocks)
#define DEVICE         static __device__ __forceinline__
#endif

// Device memory, and host memory that the device can reach.
#define AT(T, address)       ((T *)__cvta_global_to_generic(address))
#define LOAD(T, address)     (*(const T *)__cvta_global_to_generic(address))
#define STORE(T, address, v) (*(T *)__cvta_global_to_generic(address) = (v))

DEVICE uint64_t first_piece(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

DEVICE uint64_t all_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

// ---- copies

enum { TOGETHER = 2 }; // units of a thread that are on their way at once

// The first `n` of these units, at most TOGETHER.
#define MOVE(T)                                                                                    \
    {                                                                                              \
        T held[TOGETHER];                                                                          \
        for (int i = 0; i < TOGETHER && i < n; i++)                                                \
            held[i] = LOAD(T, from[i]);                                                            \
        for (int i = 0; i < TOGETHER && i < n; i++)                                                \
            STORE(T, to[i], held[i]);                                                              \
    }                                                                                              \
    break;

DEVICE void move(const uint64_t *to, const uint64_t *from, int n, uint64_t unit)
{
    switch (unit) {
    case 16:
        MOVE(uint4)
    case 8:
        MOVE(uint64_t)
    case 4:
        MOVE(uint32_t)
    case 2:
        MOVE(uint16_t)
    default:
        MOVE(uint8_t)
    }
}

// Blocks of `units` units, in two nested loops: `inner` of them, and so on, until `total` units are
// there. to_stride, to_outer: how far it is from a block to the next of the inner loop, from a turn
// of the outer loop to the next. step_units, step_blocks, to_step: how far it is from a thread's
// unit to its next: units, blocks of the inner loop, both besides whole turns of what is around
// them, and all of it in bytes. to_block_end, to_loop_end: what is added where units make a block
// full, and blocks the inner loop. `from` has the same.
KERNEL(4)
strided(uint64_t unit, uint64_t total, uint64_t units, uint64_t inner, uint64_t step_units,
        uint64_t step_blocks, uint64_t to, uint64_t to_stride, uint64_t to_outer, uint64_t to_step,
        uint64_t to_block_end, uint64_t to_loop_end, uint64_t from, uint64_t from_stride,
        uint64_t from_outer, uint64_t from_step, uint64_t from_block_end, uint64_t from_loop_end)
{
    uint64_t i = first_piece(), block = i / units, in_block = i % units, in_loop = block % inner;
    to += block / inner * to_outer + in_loop * to_stride + in_block * unit;
    from += block / inner * from_outer + in_loop * from_stride + in_block * unit;
    while (i < total) {
        uint64_t to_all[TOGETHER], from_all[TOGETHER];
        int n = 0;
        for (int j = 0; j < TOGETHER; j++) {
            to_all[j] = to;
            from_all[j] = from;
            n += i < total;
            i += all_threads();
            to += to_step;
            from += from_step;
            in_block += step_units;
            in_loop += step_blocks;
            if (in_block >= units) {
                in_block -= units;
                in_loop++;
                to += to_block_end;
                from += from_block_end;
            }
            if (in_loop >= inner) {
                in_loop -= inner;
                to += to_loop_end;
                from += from_loop_end;
            }
        }
        move(to_all, from_all, n, unit);
    }
}

// One side of a copy by runs: elements of `size` bytes of data, which lie where the runs say,
// `extent` bytes from one to the next. Without runs the data lie together.
typedef struct side {
    uint64_t element, inside; // where the thread is: address of an element, byte of its data
    const mlt_gpu_run *runs;
    const uint64_t *before; // before[r]: bytes in all runs before r; before[n] == size
    uint64_t n, guess;      // guess: 2^64 * n / size
    uint64_t size, extent;
    uint64_t step, inside_step; // to the thread's next unit: bytes of whole elements, the rest
} side;

// The run that has this byte. Runs of equal lengths are found by the guess; the others by looking
// further and further away from it, and then by halves.
DEVICE uint64_t find_run(const side *s, uint64_t byte)
{
    uint64_t low = __umul64hi(byte, s->guess), high, step = 1;
    low = low < s->n ? low : s->n - 1;
    high = low + 1;
    for (; s->before[low] > byte; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    for (; s->before[high] <= byte; step *= 2) {
        low = high;
        high = s->n - high > step ? high + step : s->n;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (s->before[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

DEVICE uint64_t address_of(const side *s)
{
    if (!s->n)
        return s->element + s->inside;
    uint64_t r = find_run(s, s->inside);
    uint64_t in_run = s->inside - s->before[r], length = s->runs[r].length, block = 0;
    if (in_run >= length) {
        block = in_run / length;
        in_run -= block * length;
    }
    return s->element + (uint64_t)s->runs[r].at + block * (uint64_t)s->runs[r].stride + in_run;
}

DEVICE void side_begin(side *s, uint64_t byte)
{
    if (!s->n) {
        s->inside = byte;
        return;
    }
    s->element += byte / s->size * s->extent;
    s->inside = byte % s->size;
}

DEVICE void side_step(side *s)
{
    s->element += s->step;
    s->inside += s->inside_step;
    if (s->n && s->inside >= s->size) {
        s->inside -= s->size;
        s->element += s->extent;
    }
}

#define SIDE(S)                                                                                    \
    uint64_t S, uint64_t S##_runs, uint64_t S##_before, uint64_t S##_n, uint64_t S##_guess,        \
        uint64_t S##_size, uint64_t S##_extent, uint64_t S##_step, uint64_t S##_inside_step
#define SIDE_OF(S)                                                                                 \
    {                                                                                              \
        S, 0, AT(const mlt_gpu_run, S##_runs), AT(const uint64_t, S##_before), S##_n, S##_guess,   \
            S##_size, S##_extent, S##_step, S##_inside_step                                        \
    }

// Bytes [at, at + bytes) of the packed form.
KERNEL(4) runs(SIDE(to), SIDE(from), uint64_t unit, uint64_t at, uint64_t bytes)
{
    side t = SIDE_OF(to), f = SIDE_OF(from);
    uint64_t i = first_piece() * unit, step = all_threads() * unit;
    side_begin(&t, at + i);
    side_begin(&f, at + i);
    for (; i < bytes; i += step) {
        uint64_t to_at = address_of(&t), from_at = address_of(&f);
        move(&to_at, &from_at, 1, unit);
        side_step(&t);
        side_step(&f);
    }
}

// Thread `lane` of `among` that copy together.
DEVICE void copy_together(uint64_t to, uint64_t from, uint64_t bytes, uint64_t lane, uint64_t among)
{
    uint64_t unit = to | from | (bytes < 64 ? bytes : 0) | MLT_GPU_LARGEST_UNIT;
    unit &= 0 - unit; // the lowest bit
    uint64_t whole = bytes / unit * unit;
    for (uint64_t at = lane * unit; at < whole;) {
        uint64_t to_all[TOGETHER], from_all[TOGETHER];
        int n = 0;
        for (int j = 0; j < TOGETHER; j++) {
            to_all[j] = to + at;
            from_all[j] = from + at;
            n += at < whole;
            at += among * unit;
        }
        move(to_all, from_all, n, unit);
    }
    for (uint64_t at = whole + lane; at < bytes; at += among)
        STORE(uint8_t, to + at, LOAD(uint8_t, from + at));
}

// `count` copies, each by 2^lanes threads that follow each other.
KERNEL(4) copies(uint64_t list, uint64_t count, uint64_t lanes)
{
    uint64_t among = (uint64_t)1 << lanes, lane = first_piece() % among;
    for (uint64_t c = first_piece() >> lanes; c < count; c += all_threads() >> lanes) {
        const mlt_gpu_copy_item *item = AT(const mlt_gpu_copy_item, list) + c;
        copy_together(item->to, item->from, item->bytes, lane, among);
    }
}

// One copy by one warp, which then writes `value` to `word`, memory of the host: the processor sees it
// sooner than the driver tells that the kernel is over.
KERNEL(4) copy_told(uint64_t to, uint64_t from, uint64_t bytes, uint64_t word, uint64_t value)
{
    copy_together(to, from, bytes, threadIdx.x, blockDim.x);
    __threadfence_system();
    __syncwarp();
    if (threadIdx.x == blockDim.x - 1)
        STORE(volatile uint64_t, word, value);
}

// ---- reductions: one element, operation by operation

#define EACH(expression)                                                                           \
    for (int e = 0; e < n; e++)                                                                    \
        a[e] = (expression);                                                                       \
    break

// W: at least as wide, so that nothing overflows that has a sign.
#define APPLY_WHOLE(NAME, S, T, W)                                                                 \
    DEVICE void apply_##NAME(uint32_t op, T *a, const T *b, int n)                                 \
    {                                                                                              \
        switch (op) {                                                                              \
        case MLT_GPU_MAX:                                                                          \
            EACH((S)a[e] > (S)b[e] ? a[e] : b[e]);                                                 \
        case MLT_GPU_MIN:                                                                          \
            EACH((S)a[e] < (S)b[e] ? a[e] : b[e]);                                                 \
        case MLT_GPU_MAX_UNSIGNED:                                                                 \
            EACH(a[e] > b[e] ? a[e] : b[e]);                                                       \
        case MLT_GPU_MIN_UNSIGNED:                                                                 \
            EACH(a[e] < b[e] ? a[e] : b[e]);                                                       \
        case MLT_GPU_SUM:                                                                          \
            EACH((T)((W)a[e] + (W)b[e]));                                                          \
        case MLT_GPU_PROD:                                                                         \
            EACH((T)((W)a[e] * (W)b[e]));                                                          \
        case MLT_GPU_LAND:                                                                         \
            EACH((T)(a[e] != 0 && b[e] != 0));                                                     \
        case MLT_GPU_LOR:                                                                          \
            EACH((T)(a[e] != 0 || b[e] != 0));                                                     \
        case MLT_GPU_LXOR:                                                                         \
            EACH((T)((a[e] != 0) != (b[e] != 0)));                                                 \
        case MLT_GPU_BAND:                                                                         \
            EACH((T)(a[e] & b[e]));                                                                \
        case MLT_GPU_BOR:                                                                          \
            EACH((T)(a[e] | b[e]));                                                                \
        default:                                                                                   \
            EACH((T)(a[e] ^ b[e]));                                                                \
        }                                                                                          \
    }
APPLY_WHOLE(8, int8_t, uint8_t, uint32_t)
APPLY_WHOLE(16, int16_t, uint16_t, uint32_t)
APPLY_WHOLE(32, int32_t, uint32_t, uint32_t)
APPLY_WHOLE(64, int64_t, uint64_t, uint64_t)

// A NaN wins (a comparison with one fails, so that b is chosen), and of two zeros the sign decides.
#define CHOOSE(T, bits, number)                                                                    \
    DEVICE T greater_##T(T a, T b)                                                                 \
    {                                                                                              \
        T chosen = a > b || a != a ? a : b;                                                        \
        return a == b ? number(bits(a) & bits(b)) : chosen;                                        \
    }                                                                                              \
    DEVICE T lesser_##T(T a, T b)                                                                  \
    {                                                                                              \
        T chosen = a < b || a != a ? a : b;                                                        \
        return a == b ? number(bits(a) | bits(b)) : chosen;                                        \
    }
CHOOSE(float, __float_as_uint, __uint_as_float)
CHOOSE(double, __double_as_longlong, __longlong_as_double)

DEVICE float wide(uint16_t h)
{
    return __half2float(__ushort_as_half(h));
}

DEVICE uint16_t narrow(float f)
{
    return __half_as_ushort(__float2half_rn(f));
}

#define SAME(x) (x)
#define ONE     0x3c00 // as a half

// In memory T, counted in F.
#define APPLY_FLOAT(NAME, T, F, WIDE, NARROW, one)                                                 \
    DEVICE void apply_##NAME(uint32_t op, T *a, const T *b, int n)                                 \
    {                                                                                              \
        switch (op) {                                                                              \
        case MLT_GPU_MAX:                                                                          \
            EACH(NARROW(greater_##F(WIDE(a[e]), WIDE(b[e]))));                                     \
        case MLT_GPU_MIN:                                                                          \
            EACH(NARROW(lesser_##F(WIDE(a[e]), WIDE(b[e]))));                                      \
        case MLT_GPU_SUM:                                                                          \
            EACH(NARROW(WIDE(a[e]) + WIDE(b[e])));                                                 \
        case MLT_GPU_PROD:                                                                         \
            EACH(NARROW(WIDE(a[e]) * WIDE(b[e])));                                                 \
        case MLT_GPU_LAND:                                                                         \
            EACH(WIDE(a[e]) != 0 && WIDE(b[e]) != 0 ? one : 0);                                    \
        case MLT_GPU_LOR:                                                                          \
            EACH(WIDE(a[e]) != 0 || WIDE(b[e]) != 0 ? one : 0);                                    \
        default:                                                                                   \
            EACH((WIDE(a[e]) != 0) != (WIDE(b[e]) != 0) ? one : 0);                                \
        }                                                                                          \
    }
APPLY_FLOAT(half, uint16_t, float, wide, narrow, ONE)
APPLY_FLOAT(float, float, float, SAME, SAME, 1)
APPLY_FLOAT(double, double, double, SAME, SAME, 1)

// The only operation of complex numbers that is none of their parts alone.
#define APPLY_COMPLEX(NAME, T, F, WIDE, NARROW)                                                    \
    typedef struct complex_##NAME {                                                                \
        T re, im;                                                                                  \
    } complex_##NAME;                                                                              \
    DEVICE void apply_complex_##NAME(uint32_t op, complex_##NAME *a, const complex_##NAME *b,      \
                                     int n)                                                        \
    {                                                                                              \
        for (int e = 0; e < n; e++) {                                                              \
            F re = WIDE(a[e].re), im = WIDE(a[e].im), x = WIDE(b[e].re), y = WIDE(b[e].im);        \
            a[e].re = NARROW(re * x - im * y);                                                     \
            a[e].im = NARROW(re * y + im * x);                                                     \
        }                                                                                          \
    }
APPLY_COMPLEX(half, uint16_t, float, wide, narrow)
APPLY_COMPLEX(float, float, float, SAME, SAME)
APPLY_COMPLEX(double, double, double, SAME, SAME)

// ---- reductions: arrays

#define OPERANDS                                                                                   \
    uint64_t list, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5,   \
        uint64_t a6, uint64_t a7, uint64_t a8, uint64_t a9, uint64_t a10, uint64_t a11,            \
        uint64_t a12, uint64_t a13, uint64_t a14, uint64_t a15
#define OPERAND(j)                                                                                 \
    operand(j, list, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15)

// The address of operand j, from 2 on.
DEVICE uint64_t operand(uint32_t j, OPERANDS)
{
    switch (j) {
    case 2:
        return a2;
    case 3:
        return a3;
    case 4:
        return a4;
    case 5:
        return a5;
    case 6:
        return a6;
    case 7:
        return a7;
    case 8:
        return a8;
    case 9:
        return a9;
    case 10:
        return a10;
    case 11:
        return a11;
    case 12:
        return a12;
    case 13:
        return a13;
    case 14:
        return a14;
    case 15:
        return a15;
    default:
        return LOAD(uint64_t, list + (uint64_t)(j - MLT_GPU_OPERANDS) * 8);
    }
}

// a = ((a0 op a1) op a2)...; the next operand is on its way while one is computed with.
#define COMBINE(T, load, how, apply)                                                               \
    T a = load(a0 + at, how);                                                                      \
    if (number > 1) {                                                                              \
        T next = load(a1 + at, how);                                                               \
        for (uint32_t j = 2; j <= number; j++) {                                                   \
            T b = next;                                                                            \
            if (j < number)                                                                        \
                next = load(OPERAND(j) + at, how);                                                 \
            apply;                                                                                 \
        }                                                                                          \
    }

// out = ((a0 op a1) op a2)... Of `count` elements, `head` ones are reduced one by one, then
// `vectors` times 16 bytes, from where all addresses are multiples of 16 on, then the rest one by
// one. aligned: all addresses are multiples of an element's alignment.
#define REDUCE(NAME, T)                                                                            \
    typedef union vector_##NAME {                                                                  \
        uint4 all;                                                                                 \
        T each[16 / sizeof(T)];                                                                    \
    } vector_##NAME;                                                                               \
    DEVICE vector_##NAME load_vector_##NAME(uint64_t address, uint64_t unused)                     \
    {                                                                                              \
        vector_##NAME v;                                                                           \
        v.all = LOAD(uint4, address);                                                              \
        return v;                                                                                  \
    }                                                                                              \
    typedef union single_##NAME {                                                                  \
        T each[1];                                                                                 \
        uint8_t bytes[sizeof(T)];                                                                  \
    } single_##NAME;                                                                               \
    DEVICE single_##NAME load_single_##NAME(uint64_t address, uint64_t aligned)                    \
    {                                                                                              \
        single_##NAME v;                                                                           \
        if (aligned)                                                                               \
            v.each[0] = LOAD(T, address);                                                          \
        else                                                                                       \
            for (uint32_t i = 0; i < sizeof(T); i++)                                               \
                v.bytes[i] = LOAD(uint8_t, address + i);                                           \
        return v;                                                                                  \
    }                                                                                              \
    DEVICE void store_single_##NAME(uint64_t address, uint64_t aligned, single_##NAME v)           \
    {                                                                                              \
        if (aligned)                                                                               \
            STORE(T, address, v.each[0]);                                                          \
        else                                                                                       \
            for (uint32_t i = 0; i < sizeof(T); i++)                                               \
                STORE(uint8_t, address + i, v.bytes[i]);                                           \
    }                                                                                              \
    KERNEL(4)                                                                                      \
    reduce_##NAME(uint64_t op, uint64_t out, uint64_t count, uint64_t number, uint64_t aligned,    \
                  uint64_t head, uint64_t vectors, OPERANDS)                                       \
    {                                                                                              \
        const uint64_t many = 16 / sizeof(T);                                                      \
        uint64_t pieces = count - vectors * (many - 1);                                            \
        for (uint64_t i = first_piece(); i < pieces; i += all_threads()) {                         \
            if (i - head < vectors) { /* wraps around below head */                                \
                uint64_t at = head * sizeof(T) + (i - head) * 16;                                  \
                COMBINE(vector_##NAME, load_vector_##NAME, 0,                                      \
                        apply_##NAME((uint32_t)op, a.each, b.each, 16 / sizeof(T)))                \
                STORE(uint4, out + at, a.all);                                                     \
            } else {                                                                               \
                uint64_t at = (i < head ? i : i + vectors * (many - 1)) * sizeof(T);               \
                COMBINE(single_##NAME, load_single_##NAME, aligned,                                \
                        apply_##NAME((uint32_t)op, a.each, b.each, 1))                             \
                store_single_##NAME(out + at, aligned, a);                                         \
            }                                                                                      \
        }                                                                                          \
    }
REDUCE(8, uint8_t)
REDUCE(16, uint16_t)
REDUCE(32, uint32_t)
REDUCE(64, uint64_t)
REDUCE(half, uint16_t)
REDUCE(float, float)
REDUCE(double, double)
REDUCE(complex_half, complex_half)
REDUCE(complex_float, complex_float)
REDUCE(complex_double, complex_double)

// ---- reductions: pairs of a value and an index, any two numbers

DEVICE uint64_t load_number(uint64_t address, uint32_t kind, uint64_t aligned)
{
    uint32_t bytes = kind & MLT_GPU_BYTES;
    uint64_t bits = 0;
    if (!aligned)
        for (uint32_t i = 0; i < bytes; i++)
            bits |= (uint64_t)LOAD(uint8_t, address + i) << 8 * i;
    else if (bytes == 8)
        bits = LOAD(uint64_t, address);
    else if (bytes == 4)
        bits = LOAD(uint32_t, address);
    else if (bytes == 2)
        bits = LOAD(uint16_t, address);
    else
        bits = LOAD(uint8_t, address);
    return bits;
}

DEVICE void store_number(uint64_t address, uint32_t kind, uint64_t aligned, uint64_t bits)
{
    uint32_t bytes = kind & MLT_GPU_BYTES;
    if (!aligned)
        for (uint32_t i = 0; i < bytes; i++)
            STORE(uint8_t, address + i, (uint8_t)(bits >> 8 * i));
    else if (bytes == 8)
        STORE(uint64_t, address, bits);
    else if (bytes == 4)
        STORE(uint32_t, address, (uint32_t)bits);
    else if (bytes == 2)
        STORE(uint16_t, address, (uint16_t)bits);
    else
        STORE(uint8_t, address, (uint8_t)bits);
}

// A number that is the greater, the better the bits are: greater or lesser as numbers. NaN is best,
// and -0 is below +0.
DEVICE uint64_t rank_of(uint64_t bits, uint32_t kind, uint64_t lesser)
{
    uint32_t width = (kind & MLT_GPU_BYTES) * 8;
    uint64_t sign = (uint64_t)1 << (width - 1), all = sign | (sign - 1);
    uint64_t infinity = width == 64 ? 0x7ff0000000000000u : width == 32 ? 0x7f800000u : 0x7c00u;
    if (kind & MLT_GPU_FLOAT) {
        if ((bits & ~sign) > infinity)
            return ~(uint64_t)0;
        bits = bits & sign ? bits ^ all : bits ^ sign;
    } else if (kind & MLT_GPU_SIGNED) {
        bits ^= sign;
    }
    return lesser ? all - bits : bits;
}

typedef struct pair_form {
    uint32_t value, index; // kinds
    uint64_t index_at, aligned;
} pair_form;

typedef struct pair {
    uint64_t value, index;
} pair;

DEVICE pair load_pair(uint64_t address, const pair_form *form)
{
    pair p = {load_number(address, form->value, form->aligned),
              load_number(address + form->index_at, form->index, form->aligned)};
    return p;
}

DEVICE void apply_pair(const pair_form *form, uint64_t lesser, pair *a, const pair *b)
{
    uint64_t sign = (uint64_t)1 << ((form->value & MLT_GPU_BYTES) * 8 - 1);
    uint64_t ours = rank_of(a->value, form->value, lesser);
    uint64_t theirs = rank_of(b->value, form->value, lesser);
    int zeros = form->value & MLT_GPU_FLOAT && !((a->value | b->value) & ~sign);
    int least = rank_of(b->index, form->index, 1) > rank_of(a->index, form->index, 1);
    if (theirs == ours || zeros ? least : theirs > ours)
        a->index = b->index;
    if (theirs > ours)
        a->value = b->value;
}

// Elements of `element` bytes.
KERNEL(4)
reduce_pair(uint64_t lesser, uint64_t out, uint64_t count, uint64_t number, uint64_t aligned,
            uint64_t element, uint64_t value, uint64_t index, uint64_t index_at, OPERANDS)
{
    pair_form form = {(uint32_t)value, (uint32_t)index, index_at, aligned};
    for (uint64_t i = first_piece(); i < count; i += all_threads()) {
        uint64_t at = i * element;
        COMBINE(pair, load_pair, &form, apply_pair(&form, lesser, &a, &b))
        store_number(out + at, form.value, aligned, a.value);
        store_number(out + at + index_at, form.index, aligned, a.index);
    }
}
