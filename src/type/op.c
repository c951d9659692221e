// SPDX-License-Identifier: BSD-3-Clause
// The kernels, stamped out from the two lists.
#include "type/op.h"

#include "type/number_int.h"

// ---- one element of each operation. U is the unsigned type of the width, V the type to count in.

#define INT_MAX_OF(a, b)  ((a) > (b) ? (a) : (b))
#define INT_MIN_OF(a, b)  ((a) < (b) ? (a) : (b))
#define INT_SUM_OF(a, b)  ((uint64_t)(a) + (uint64_t)(b)) // wraps around
#define INT_PROD_OF(a, b) ((uint64_t)(a) * (uint64_t)(b))

// Logic and bits are the same for all types of a kind.
#define COMMON(Name, T, U, bytes, truth_a, truth_b)                                                \
    KERNEL(land##Name, T, LOGIC_##Name((truth_a) && (truth_b)))                                    \
    KERNEL(lor##Name, T, LOGIC_##Name((truth_a) || (truth_b)))                                     \
    KERNEL(lxor##Name, T, LOGIC_##Name((truth_a) != (truth_b)))                                    \
    KERNEL(band##Name, U, a &b)                                                                    \
    KERNEL(bor##Name, U, a | b)                                                                    \
    KERNEL(bxor##Name, U, a ^ b)                                                                   \
    COPY_KERNEL(copy##Name, bytes)

#define LOGIC_Int8(x)    (x)
#define LOGIC_Int16(x)   (x)
#define LOGIC_Int32(x)   (x)
#define LOGIC_Int64(x)   (x)
#define LOGIC_UInt8(x)   (x)
#define LOGIC_UInt16(x)  (x)
#define LOGIC_UInt32(x)  (x)
#define LOGIC_UInt64(x)  (x)
#define LOGIC_Float16(x) ((x) ? 0x3c00u : 0u)
#define LOGIC_Float32(x) (x)
#define LOGIC_Float64(x) (x)

#define INTEGER(Name, T, U, bytes)                                                                 \
    KERNEL(max##Name, T, INT_MAX_OF(a, b))                                                         \
    KERNEL(min##Name, T, INT_MIN_OF(a, b))                                                         \
    KERNEL(sum##Name, T, INT_SUM_OF(a, b))                                                         \
    KERNEL(prod##Name, T, INT_PROD_OF(a, b))                                                       \
    COMMON(Name, T, U, bytes, a != 0, b != 0)

INTEGER(Int8, int8_t, uint8_t, 1)
INTEGER(Int16, int16_t, uint16_t, 2)
INTEGER(Int32, int32_t, uint32_t, 4)
INTEGER(Int64, int64_t, uint64_t, 8)
INTEGER(UInt8, uint8_t, uint8_t, 1)
INTEGER(UInt16, uint16_t, uint16_t, 2)
INTEGER(UInt32, uint32_t, uint32_t, 4)
INTEGER(UInt64, uint64_t, uint64_t, 8)

KERNEL(maxFloat16, half, half_of_float(max_float(half_to_float(a), half_to_float(b))))
KERNEL(minFloat16, half, half_of_float(min_float(half_to_float(a), half_to_float(b))))
KERNEL(sumFloat16, half, half_of_float(half_to_float(a) + half_to_float(b)))
KERNEL(prodFloat16, half, half_of_float(half_to_float(a) * half_to_float(b)))
COMMON(Float16, half, uint16_t, 2, (a & 0x7fffu) != 0, (b & 0x7fffu) != 0)

KERNEL(maxFloat32, float, max_float(a, b))
KERNEL(minFloat32, float, min_float(a, b))
KERNEL(sumFloat32, float, a + b)
KERNEL(prodFloat32, float, a *b)
COMMON(Float32, float, uint32_t, 4, a != 0, b != 0)

KERNEL(maxFloat64, double, max_double(a, b))
KERNEL(minFloat64, double, min_double(a, b))
KERNEL(sumFloat64, double, a + b)
KERNEL(prodFloat64, double, a *b)
COMMON(Float64, double, uint64_t, 8, a != 0, b != 0)

// ---- the tables

#define OP_NAME(UPPER, lower)          #lower,
#define TYPE_NAME(UPPER, Name, bytes)  #Name,
#define TYPE_BYTES(UPPER, Name, bytes) bytes,
const char *const mlt_op_names[MLT_OPS] = {MLT_OP_LIST(OP_NAME)};
const char *const mlt_op_type_names[MLT_OP_TYPES] = {MLT_OP_TYPE_LIST(TYPE_NAME)};
const uint8_t mlt_op_type_bytes[MLT_OP_TYPES] = {MLT_OP_TYPE_LIST(TYPE_BYTES)};

#define COLUMN(UPPER, Name, bytes)                                                                 \
    [MLT_OP_MAX][MLT_OP_##UPPER] = max##Name, [MLT_OP_MIN][MLT_OP_##UPPER] = min##Name,            \
    [MLT_OP_SUM][MLT_OP_##UPPER] = sum##Name, [MLT_OP_PROD][MLT_OP_##UPPER] = prod##Name,          \
    [MLT_OP_LAND][MLT_OP_##UPPER] = land##Name, [MLT_OP_LOR][MLT_OP_##UPPER] = lor##Name,          \
    [MLT_OP_LXOR][MLT_OP_##UPPER] = lxor##Name, [MLT_OP_BAND][MLT_OP_##UPPER] = band##Name,        \
    [MLT_OP_BOR][MLT_OP_##UPPER] = bor##Name, [MLT_OP_BXOR][MLT_OP_##UPPER] = bxor##Name,          \
    [MLT_OP_COPY][MLT_OP_##UPPER] = copy##Name,
mlt_op_kernel *const mlt_op_kernels[MLT_OPS][MLT_OP_TYPES] = {MLT_OP_TYPE_LIST(COLUMN)};
