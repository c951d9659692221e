// SPDX-License-Identifier: BSD-3-Clause
// Operation x type kernels: the product of the two lists below. Pure computation.
//
// inout[i] = inout[i] op in[i] for `count` elements; for COPY inout[i] = in[i]. Integers wrap
// around. Logical operations give 1 or 0. Bitwise operations on floating point work on its bits.
// max and min of floats: a NaN on either side gives NaN, and -0 is below +0, so that the result
// does not depend on the order of the operands. FLOAT16 is IEEE half, rounded to nearest even. The
// two sides may be the same memory; otherwise they do not overlap. Addresses need no alignment.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MLT_OP_LIST(X)                                                                             \
    X(MAX, max)                                                                                    \
    X(MIN, min)                                                                                    \
    X(SUM, sum)                                                                                    \
    X(PROD, prod)                                                                                  \
    X(LAND, land)                                                                                  \
    X(LOR, lor)                                                                                    \
    X(LXOR, lxor)                                                                                  \
    X(BAND, band)                                                                                  \
    X(BOR, bor)                                                                                    \
    X(BXOR, bxor)                                                                                  \
    X(COPY, copy)

#define MLT_OP_TYPE_LIST(X)                                                                        \
    X(INT8, Int8, 1)                                                                               \
    X(INT16, Int16, 2)                                                                             \
    X(INT32, Int32, 4)                                                                             \
    X(INT64, Int64, 8)                                                                             \
    X(UINT8, UInt8, 1)                                                                             \
    X(UINT16, UInt16, 2)                                                                           \
    X(UINT32, UInt32, 4)                                                                           \
    X(UINT64, UInt64, 8)                                                                           \
    X(FLOAT16, Float16, 2)                                                                         \
    X(FLOAT32, Float32, 4)                                                                         \
    X(FLOAT64, Float64, 8)

#define MLT_OP_ENUM(UPPER, lower)            MLT_OP_##UPPER,
#define MLT_OP_TYPE_ENUM(UPPER, Name, bytes) MLT_OP_##UPPER,
typedef enum mlt_op { MLT_OP_LIST(MLT_OP_ENUM) MLT_OPS } mlt_op;
typedef enum mlt_op_type { MLT_OP_TYPE_LIST(MLT_OP_TYPE_ENUM) MLT_OP_TYPES } mlt_op_type;

typedef void mlt_op_kernel(void *inout, const void *in, uint64_t count);

// [op][type]; none is NULL.
extern mlt_op_kernel *const mlt_op_kernels[MLT_OPS][MLT_OP_TYPES];

extern const char *const mlt_op_names[MLT_OPS];           // "max", as GOAL writes it
extern const char *const mlt_op_type_names[MLT_OP_TYPES]; // "Int8"
extern const uint8_t mlt_op_type_bytes[MLT_OP_TYPES];
