// SPDX-License-Identifier: BSD-3-Clause
// Wide integers and floats, complex numbers, pairs: kernels that op.c has not, and the table of
// what works on what.
//
// This file is compiled without contracting products and sums into one instruction: a complex
// product must have the same bits in both orders.
#include "type/reduce.h"

#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "type/number_int.h"
#include "type/reduce_int.h"
#include "type/type.h"
#include "type/wide.h"

// ---- numbers that GOAL has not

typedef __int128 reduce_wide;
typedef unsigned __int128 uwide;
typedef long double real_long;
typedef mlt_arch_quad quad;

FLOAT_PICK(max_long, real_long, >, 0)
FLOAT_PICK(min_long, real_long, <, 1)
FLOAT_PICK(max_quad, quad, >, 0)
FLOAT_PICK(min_quad, quad, <, 1)

KERNEL(max_wide_kernel, reduce_wide, a > b ? a : b)
KERNEL(min_wide_kernel, reduce_wide, a < b ? a : b)
KERNEL(sum_wide_kernel, reduce_wide, (uwide)a + (uwide)b) // wraps around
KERNEL(prod_wide_kernel, reduce_wide, (uwide)a *(uwide)b)
KERNEL(land_wide_kernel, reduce_wide, a &&b)
KERNEL(lor_wide_kernel, reduce_wide, a || b)
KERNEL(lxor_wide_kernel, reduce_wide, !a != !b)
KERNEL(band_wide_kernel, uwide, a &b)
KERNEL(bor_wide_kernel, uwide, a | b)
KERNEL(bxor_wide_kernel, uwide, a ^ b)

#define REAL(Name, T)                                                                              \
    KERNEL(max_##Name##_kernel, T, max_##Name(a, b))                                               \
    KERNEL(min_##Name##_kernel, T, min_##Name(a, b))                                               \
    KERNEL(sum_##Name##_kernel, T, a + b)                                                          \
    KERNEL(prod_##Name##_kernel, T, a *b)
REAL(long, real_long)
REAL(quad, quad)

// ---- complex numbers: two of T in memory, counted in F

#define SAME(x) (x)
#define COMPLEX(Name, T, F, WIDEN, NARROW)                                                         \
    static void sum_complex_##Name(void *inout, const void *in, uint64_t count)                    \
    {                                                                                              \
        char *to = inout;                                                                          \
        const char *from = in;                                                                     \
        for (uint64_t i = 0; i < 2 * count; i++) {                                                 \
            T a, b;                                                                                \
            memcpy(&a, to + i * sizeof a, sizeof a);                                               \
            memcpy(&b, from + i * sizeof b, sizeof b);                                             \
            a = NARROW(WIDEN(a) + WIDEN(b));                                                       \
            memcpy(to + i * sizeof a, &a, sizeof a);                                               \
        }                                                                                          \
    }                                                                                              \
    static void prod_complex_##Name(void *inout, const void *in, uint64_t count)                   \
    {                                                                                              \
        char *to = inout;                                                                          \
        const char *from = in;                                                                     \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            T re, im, x, y;                                                                        \
            memcpy(&re, to + 2 * i * sizeof re, sizeof re);                                        \
            memcpy(&im, to + (2 * i + 1) * sizeof im, sizeof im);                                  \
            memcpy(&x, from + 2 * i * sizeof x, sizeof x);                                         \
            memcpy(&y, from + (2 * i + 1) * sizeof y, sizeof y);                                   \
            F a = WIDEN(re), b = WIDEN(im), c = WIDEN(x), d = WIDEN(y);                            \
            re = NARROW(a * c - b * d);                                                            \
            im = NARROW(a * d + b * c);                                                            \
            memcpy(to + 2 * i * sizeof re, &re, sizeof re);                                        \
            memcpy(to + (2 * i + 1) * sizeof im, &im, sizeof im);                                  \
        }                                                                                          \
    }
COMPLEX(half, half, float, half_to_float, half_of_float)
COMPLEX(float, float, float, SAME, SAME)
COMPLEX(double, double, double, SAME, SAME)
COMPLEX(long, real_long, real_long, SAME, SAME)
COMPLEX(quad, quad, quad, SAME, SAME)

enum { FIRST = MLT_NUMBER_INT128 };

static mlt_op_kernel *const kernels[MLT_OP_COPY][MLT_NUMBERS - FIRST] = {
#define WIDE_ROW(UPPER, lower) [MLT_OP_##UPPER][MLT_NUMBER_INT128 - FIRST] = lower##_wide_kernel,
#define REAL_ROW(UPPER, lower)                                                                     \
    [MLT_OP_##UPPER][MLT_NUMBER_LONG_DOUBLE - FIRST] = lower##_long_kernel,                        \
                                              [MLT_OP_##UPPER][MLT_NUMBER_FLOAT128 - FIRST] =      \
                                                  lower##_quad_kernel,
#define COMPLEX_ROW(UPPER, lower)                                                                  \
    [MLT_OP_##                                                                                     \
        UPPER][MLT_NUMBER_COMPLEX_FLOAT16 -                                                        \
               FIRST] = lower##_complex_half,                                                      \
               [MLT_OP_##UPPER][MLT_NUMBER_COMPLEX_FLOAT32 - FIRST] = lower##_complex_float,       \
               [MLT_OP_##UPPER][MLT_NUMBER_COMPLEX_FLOAT64 - FIRST] = lower##_complex_double,      \
               [MLT_OP_##UPPER][MLT_NUMBER_COMPLEX_LONG_DOUBLE - FIRST] = lower##_complex_long,    \
               [MLT_OP_##UPPER][MLT_NUMBER_COMPLEX_FLOAT128 - FIRST] = lower##_complex_quad,
    WIDE_ROW(MAX, max) WIDE_ROW(MIN, min) WIDE_ROW(SUM, sum) WIDE_ROW(PROD, prod)
        WIDE_ROW(LAND, land) WIDE_ROW(LOR, lor) WIDE_ROW(LXOR, lxor) WIDE_ROW(BAND, band)
            WIDE_ROW(BOR, bor) WIDE_ROW(BXOR, bxor) REAL_ROW(MAX, max) REAL_ROW(MIN, min)
                REAL_ROW(SUM, sum) REAL_ROW(PROD, prod) COMPLEX_ROW(SUM, sum)
                    COMPLEX_ROW(PROD, prod)};

// ---- pairs of a value and an index

#define INT_PICK(Name, T)                                                                          \
    static inline T max_##Name(T a, T b)                                                           \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static inline T min_##Name(T a, T b)                                                           \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }
INT_PICK(int8, int8_t)
INT_PICK(int16, int16_t)
INT_PICK(int32, int32_t)
INT_PICK(int64, int64_t)
INT_PICK(uint8, uint8_t)
INT_PICK(uint16, uint16_t)
INT_PICK(uint32, uint32_t)
INT_PICK(uint64, uint64_t)
INT_PICK(reduce_wide, reduce_wide)

// The value is of M in memory, V to count with; the index of I. A value is the chosen one if it is
// equal to it, or both are NaN.
#define SAME_VALUE(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))
#define PAIR_KERNEL(NAME, pick, M, V, WIDEN, NARROW, I, i_least)                                   \
    static void NAME(void *inout, const void *in, uint64_t count)                                  \
    {                                                                                              \
        struct pair {                                                                              \
            M value;                                                                               \
            I index;                                                                               \
        };                                                                                         \
        char *to = inout;                                                                          \
        const char *from = in;                                                                     \
        for (uint64_t i = 0; i < count; i++, to += sizeof(struct pair)) {                          \
            M held;                                                                                \
            I at, other;                                                                           \
            memcpy(&held, to + offsetof(struct pair, value), sizeof held);                         \
            memcpy(&at, to + offsetof(struct pair, index), sizeof at);                             \
            V a = WIDEN(held);                                                                     \
            memcpy(&held, from + offsetof(struct pair, value), sizeof held);                       \
            memcpy(&other, from + offsetof(struct pair, index), sizeof other);                     \
            V b = WIDEN(held);                                                                     \
            from += sizeof(struct pair);                                                           \
            V best = pick(a, b);                                                                   \
            if (!SAME_VALUE(best, a))                                                              \
                at = other;                                                                        \
            else if (SAME_VALUE(best, b))                                                          \
                at = i_least(at, other);                                                           \
            held = NARROW(best);                                                                   \
            memcpy(to + offsetof(struct pair, value), &held, sizeof held);                         \
            memcpy(to + offsetof(struct pair, index), &at, sizeof at);                             \
        }                                                                                          \
    }

// Bytes without alignment, so that the pair lies as the type says.
typedef struct quad_bytes {
    char bytes[sizeof(quad)];
} quad_bytes;

static inline quad quad_of_bytes(quad_bytes bytes)
{
    quad value;
    memcpy(&value, &bytes, sizeof value);
    return value;
}

static inline quad_bytes bytes_of_quad(quad value)
{
    quad_bytes bytes;
    memcpy(&bytes, &value, sizeof value);
    return bytes;
}

// X(number, name, memory, counted in, its name, widen, narrow, and the last two through)
#define VALUE_LIST(X, ...)                                                                         \
    X(MLT_OP_INT8, int8, int8_t, int8_t, int8, SAME, SAME, __VA_ARGS__)                            \
    X(MLT_OP_INT16, int16, int16_t, int16_t, int16, SAME, SAME, __VA_ARGS__)                       \
    X(MLT_OP_INT32, int32, int32_t, int32_t, int32, SAME, SAME, __VA_ARGS__)                       \
    X(MLT_OP_INT64, int64, int64_t, int64_t, int64, SAME, SAME, __VA_ARGS__)                       \
    X(MLT_OP_UINT8, uint8, uint8_t, uint8_t, uint8, SAME, SAME, __VA_ARGS__)                       \
    X(MLT_OP_UINT16, uint16, uint16_t, uint16_t, uint16, SAME, SAME, __VA_ARGS__)                  \
    X(MLT_OP_UINT32, uint32, uint32_t, uint32_t, uint32, SAME, SAME, __VA_ARGS__)                  \
    X(MLT_OP_UINT64, uint64, uint64_t, uint64_t, uint64, SAME, SAME, __VA_ARGS__)                  \
    X(MLT_OP_FLOAT16, half, half, float, float, half_to_float, half_of_float, __VA_ARGS__)         \
    X(MLT_OP_FLOAT32, float, float, float, float, SAME, SAME, __VA_ARGS__)                         \
    X(MLT_OP_FLOAT64, double, double, double, double, SAME, SAME, __VA_ARGS__)                     \
    X(MLT_NUMBER_INT128, reduce_wide, reduce_wide, reduce_wide, reduce_wide, SAME, SAME,           \
      __VA_ARGS__)                                                                                 \
    X(MLT_NUMBER_LONG_DOUBLE, long, real_long, real_long, long, SAME, SAME, __VA_ARGS__)           \
    X(MLT_NUMBER_FLOAT128, quad, quad_bytes, quad, quad, quad_of_bytes, bytes_of_quad, __VA_ARGS__)

#define STAMP(number, name, M, V, v, WIDEN, NARROW, i_number, i_name, I)                           \
    PAIR_KERNEL(maxloc_##name##_##i_name, max_##v, M, V, WIDEN, NARROW, I, min_##i_name)           \
    PAIR_KERNEL(minloc_##name##_##i_name, min_##v, M, V, WIDEN, NARROW, I, min_##i_name)
VALUE_LIST(STAMP, MLT_OP_INT8, int8, int8_t)
VALUE_LIST(STAMP, MLT_OP_INT16, int16, int16_t)
VALUE_LIST(STAMP, MLT_OP_INT32, int32, int32_t)
VALUE_LIST(STAMP, MLT_OP_INT64, int64, int64_t)
VALUE_LIST(STAMP, MLT_OP_UINT8, uint8, uint8_t)
VALUE_LIST(STAMP, MLT_OP_UINT16, uint16, uint16_t)
VALUE_LIST(STAMP, MLT_OP_UINT32, uint32, uint32_t)
VALUE_LIST(STAMP, MLT_OP_UINT64, uint64, uint64_t)
VALUE_LIST(STAMP, MLT_NUMBER_INT128, reduce_wide, reduce_wide)
// Fortran's named pairs have two of the same.
STAMP(MLT_OP_FLOAT32, float, float, float, float, SAME, SAME, MLT_OP_FLOAT32, float, float)
STAMP(MLT_OP_FLOAT64, double, double, double, double, SAME, SAME, MLT_OP_FLOAT64, double, double)

typedef struct pair_row {
    mlt_op_kernel *maxloc, *minloc;
    uint32_t bytes; // 0: there is no such pair
} pair_row;

#define STRUCT_OF(M, I)                                                                            \
    struct {                                                                                       \
        M value;                                                                                   \
        I index;                                                                                   \
    }
#define PAIR_ROW(number, name, M, V, v, WIDEN, NARROW, i_number, i_name, I)                        \
    [number][i_number] = {maxloc_##name##_##i_name, minloc_##name##_##i_name,                      \
                          sizeof(STRUCT_OF(M, I))},
static const pair_row pairs[MLT_NUMBER_VALUES][MLT_NUMBER_VALUES] = {
    VALUE_LIST(PAIR_ROW, MLT_OP_INT8, int8, int8_t) VALUE_LIST(
        PAIR_ROW, MLT_OP_INT16, int16, int16_t) VALUE_LIST(PAIR_ROW, MLT_OP_INT32, int32, int32_t)
        VALUE_LIST(PAIR_ROW, MLT_OP_INT64, int64, int64_t)
            VALUE_LIST(PAIR_ROW, MLT_OP_UINT8, uint8, uint8_t)
                VALUE_LIST(PAIR_ROW, MLT_OP_UINT16, uint16, uint16_t)
                    VALUE_LIST(PAIR_ROW, MLT_OP_UINT32, uint32, uint32_t)
                        VALUE_LIST(PAIR_ROW, MLT_OP_UINT64, uint64, uint64_t)
                            VALUE_LIST(PAIR_ROW, MLT_NUMBER_INT128, reduce_wide, reduce_wide)
                                PAIR_ROW(MLT_OP_FLOAT32, float, float, float, float, SAME, SAME,
                                         MLT_OP_FLOAT32, float, float)
                                    PAIR_ROW(MLT_OP_FLOAT64, double, double, double, double, SAME,
                                             SAME, MLT_OP_FLOAT64, double, double)};

// ---- replace, no op: by the bytes of an element

static void no_op(void *inout, const void *in, uint64_t count)
{
    (void)inout;
    (void)in;
    (void)count;
}

#define SIZE_LIST(X)   X(1) X(2) X(4) X(8) X(16) X(17) X(18) X(20) X(24) X(32)
#define REPLACE(bytes) COPY_KERNEL(replace_##bytes, bytes)
SIZE_LIST(REPLACE)

static mlt_op_kernel *find_replace(uint32_t bytes)
{
#define REPLACE_ROW(bytes) {bytes, replace_##bytes},
    static const struct {
        uint32_t bytes;
        mlt_op_kernel *kernel;
    } rows[] = {SIZE_LIST(REPLACE_ROW)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].bytes == bytes)
            return rows[i].kernel;
    return NULL;
}

static bool is_replace(mlt_op_kernel *kernel)
{
#define IS_REPLACE(bytes) || kernel == replace_##bytes
    return false SIZE_LIST(IS_REPLACE);
}

// ---- what works on what

#define REDUCE_OP_NAME(UPPER) "MPI_" #UPPER,
const char *const mlt_reduce_op_names[MLT_REDUCE_OPS] = {MLT_REDUCE_OP_LIST(REDUCE_OP_NAME)};
_Static_assert((int)MLT_REDUCE_BXOR == (int)MLT_OP_BXOR && MLT_REDUCE_MAXLOC == 10, "as mlt_op");

#define REDUCE_IN(group) (1u << MLT_GROUP_##group)
enum {
    ANY = REDUCE_IN(INTEGER) | REDUCE_IN(BYTE) | REDUCE_IN(REAL) | REDUCE_IN(COMPLEX) |
          REDUCE_IN(LOGICAL) | REDUCE_IN(PAIR) | REDUCE_IN(NONE)
};

typedef struct domain {
    uint32_t groups;
    const char *text;
} domain;

static const domain *domain_of(mlt_reduce_op op)
{
    static const domain order = {REDUCE_IN(INTEGER) | REDUCE_IN(REAL),
                                 "integers and floating-point numbers"};
    static const domain sum = {REDUCE_IN(INTEGER) | REDUCE_IN(REAL) | REDUCE_IN(COMPLEX),
                               "integers, floating-point and complex numbers"};
    static const domain logic = {REDUCE_IN(INTEGER) | REDUCE_IN(LOGICAL),
                                 "integers and logical types"};
    static const domain bits = {REDUCE_IN(INTEGER) | REDUCE_IN(BYTE), "integers and bytes"};
    static const domain located = {REDUCE_IN(PAIR),
                                   "pairs of a value and an index such as MPI_DOUBLE_INT"};
    static const domain any = {ANY, "predefined datatypes"};
    switch (op) {
    case MLT_REDUCE_MAX:
    case MLT_REDUCE_MIN:
        return &order;
    case MLT_REDUCE_SUM:
    case MLT_REDUCE_PROD:
        return &sum;
    case MLT_REDUCE_LAND:
    case MLT_REDUCE_LOR:
    case MLT_REDUCE_LXOR:
        return &logic;
    case MLT_REDUCE_BAND:
    case MLT_REDUCE_BOR:
    case MLT_REDUCE_BXOR:
        return &bits;
    case MLT_REDUCE_MAXLOC:
    case MLT_REDUCE_MINLOC:
        return &located;
    default:
        return &any;
    }
}

const char *mlt_reduce_domain(mlt_reduce_op op)
{
    return domain_of(op)->text;
}

static bool find_moving(mlt_reduce_op op, uint32_t bytes, mlt_reduction *out)
{
    *out = (mlt_reduction){.op = MLT_OPS, .element = bytes, .exact = true};
    out->kernel = op == MLT_REDUCE_NO_OP ? no_op : find_replace(bytes);
    return out->kernel;
}

static bool find_located(mlt_reduce_op op, unsigned value, unsigned index, mlt_reduction *out)
{
    const pair_row *row = &pairs[value][index];
    if (op >= MLT_REDUCE_REPLACE)
        return row->bytes && find_moving(op, row->bytes, out);
    *out = (mlt_reduction){.op = MLT_OPS, .element = row->bytes, .commutes = true, .exact = true};
    out->kernel = op == MLT_REDUCE_MAXLOC ? row->maxloc : row->minloc;
    return out->kernel;
}

static bool find_number(mlt_reduce_op op, unsigned number, uint32_t bytes, mlt_reduction *out)
{
    bool listed = number < MLT_OP_TYPES;
    bool whole = number < MLT_OP_FLOAT16 || number == MLT_NUMBER_INT128;
    *out = (mlt_reduction){
        .op = listed ? (mlt_op)op : MLT_OPS,
        .type = listed ? (mlt_op_type)number : MLT_OP_TYPES,
        .kernel = listed ? mlt_op_kernels[op][number] : kernels[op][number - FIRST],
        .element = bytes,
        .commutes = true,
        .exact = whole || (op != MLT_REDUCE_SUM && op != MLT_REDUCE_PROD),
    };
    return out->kernel;
}

bool mlt_reduce_find(mlt_reduce_op op, uint16_t code, mlt_reduction *out, char *why,
                     size_t why_size)
{
    const mlt_reduce_type *t = &mlt_reduce_types[code % 1024];
    const mlt_type *type = mlt_type_coded(code);
    bool found = false;
    if (type->magic == MLT_TYPE_MAGIC && domain_of(op)->groups & 1u << t->group) {
        if (op >= MLT_REDUCE_REPLACE)
            found = find_moving(op, (uint32_t)type->extent, out);
        else if (t->group == MLT_GROUP_PAIR)
            found = find_located(op, t->number, t->index, out);
        else
            found = find_number(op, t->number, (uint32_t)type->extent, out);
    }
    if (!found)
        snprintf(why, why_size, "%s works on %s, not on %s", mlt_reduce_op_names[op],
                 mlt_reduce_domain(op), type->name ? type->name : "an unknown type");
    return found;
}

bool mlt_reduce_find_pair(mlt_reduce_op op, uint16_t value, uint16_t index, mlt_reduction *out,
                          char *why, size_t why_size)
{
    const mlt_reduce_type *v = &mlt_reduce_types[value % 1024];
    const mlt_reduce_type *i = &mlt_reduce_types[index % 1024];
    bool numbers =
        1u << v->group & (REDUCE_IN(INTEGER) | REDUCE_IN(REAL)) && i->group == MLT_GROUP_INTEGER;
    if (numbers && op >= MLT_REDUCE_MAXLOC && find_located(op, v->number, i->number, out))
        return true;
    snprintf(why, why_size, "%s works on %s, not on a pair of %s and %s", mlt_reduce_op_names[op],
             mlt_reduce_domain(op), mlt_type_coded(value)->name, mlt_type_coded(index)->name);
    return false;
}

// ---- what a kernel computes

static bool find_listed(mlt_op_kernel *kernel, mlt_reduce_form *out)
{
    for (int op = 0; op < MLT_OPS; op++)
        for (int type = 0; type < MLT_OP_TYPES; type++)
            if (kernel == mlt_op_kernels[op][type] ||
                kernel == mlt_op_wide((mlt_op)op, (mlt_op_type)type)) {
                *out = (mlt_reduce_form){.shape = MLT_REDUCE_NUMBERS,
                                         .op = (mlt_reduce_op)op,
                                         .number = (mlt_op_type)type};
                if (op == MLT_OP_COPY)
                    *out = (mlt_reduce_form){.shape = MLT_REDUCE_MOVES, .op = MLT_REDUCE_REPLACE};
                return true;
            }
    return false;
}

static bool find_unlisted(mlt_op_kernel *kernel, mlt_reduce_form *out)
{
    static const uint8_t parts[] = {
        [MLT_NUMBER_COMPLEX_FLOAT16 - FIRST] = MLT_OP_FLOAT16,
        [MLT_NUMBER_COMPLEX_FLOAT32 - FIRST] = MLT_OP_FLOAT32,
        [MLT_NUMBER_COMPLEX_FLOAT64 - FIRST] = MLT_OP_FLOAT64,
        [MLT_NUMBER_COMPLEX_LONG_DOUBLE - FIRST] = MLT_OP_TYPES,
        [MLT_NUMBER_COMPLEX_FLOAT128 - FIRST] = MLT_OP_TYPES,
    };
    for (int op = 0; op < MLT_OP_COPY; op++)
        for (int number = 0; number < MLT_NUMBERS - FIRST; number++)
            if (kernel == kernels[op][number]) {
                bool is_complex = number >= MLT_NUMBER_VALUES - FIRST;
                *out = (mlt_reduce_form){
                    .shape = is_complex ? MLT_REDUCE_COMPLEX : MLT_REDUCE_NUMBERS,
                    .op = (mlt_reduce_op)op,
                    .number = is_complex ? (mlt_op_type)parts[number] : MLT_OP_TYPES};
                return true;
            }
    return false;
}

static bool find_pairs(mlt_op_kernel *kernel, mlt_reduce_form *out)
{
    for (int value = 0; value < MLT_NUMBER_VALUES; value++)
        for (int index = 0; index < MLT_NUMBER_VALUES; index++) {
            const pair_row *row = &pairs[value][index];
            if (kernel != row->maxloc && kernel != row->minloc)
                continue;
            *out = (mlt_reduce_form){
                .shape = MLT_REDUCE_PAIRS,
                .op = kernel == row->maxloc ? MLT_REDUCE_MAXLOC : MLT_REDUCE_MINLOC,
                .number = value < MLT_OP_TYPES ? (mlt_op_type)value : MLT_OP_TYPES,
                .index = index < MLT_OP_TYPES ? (mlt_op_type)index : MLT_OP_TYPES};
            return true;
        }
    return false;
}

bool mlt_reduce_find_form(mlt_op_kernel *kernel, mlt_reduce_form *out)
{
    if (!kernel)
        return false;
    *out = (mlt_reduce_form){.shape = MLT_REDUCE_MOVES, .op = MLT_REDUCE_NO_OP};
    if (kernel == no_op)
        return true;
    out->op = MLT_REDUCE_REPLACE;
    return is_replace(kernel) || find_listed(kernel, out) || find_unlisted(kernel, out) ||
           find_pairs(kernel, out);
}
