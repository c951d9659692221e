// SPDX-License-Identifier: BSD-3-Clause
// What predefined types are to reductions: a group of the standard's table of operations, and a
// kind of number. The standard's integers of C, of Fortran and of both, and its characters are one
// group here: other MPIs compute with all of them, and programs rely on it. The table of types is
// generated from spec/datatypes.tsv.
#pragma once

#include <stdint.h>

#include "type/op.h"

typedef enum mlt_reduce_group_of {
    MLT_GROUP_NONE,    // wide characters, packed data
    MLT_GROUP_INTEGER, // a character is a char
    MLT_GROUP_BYTE,    // bits without a value
    MLT_GROUP_REAL,
    MLT_GROUP_COMPLEX,
    MLT_GROUP_LOGICAL,
    MLT_GROUP_PAIR,
} mlt_reduce_group_of;

// The first ones are those of mlt_op_type.
typedef enum mlt_reduce_number {
    MLT_NUMBER_FLOAT16 = MLT_OP_FLOAT16, // no C type of its own
    MLT_NUMBER_INT128 = MLT_OP_TYPES,
    MLT_NUMBER_LONG_DOUBLE,
    MLT_NUMBER_FLOAT128, // in memory 16 bytes without alignment
    MLT_NUMBER_VALUES,   // those above can be compared; below are complex ones
    MLT_NUMBER_COMPLEX_FLOAT16 = MLT_NUMBER_VALUES,
    MLT_NUMBER_COMPLEX_FLOAT32,
    MLT_NUMBER_COMPLEX_FLOAT64,
    MLT_NUMBER_COMPLEX_LONG_DOUBLE,
    MLT_NUMBER_COMPLEX_FLOAT128,
    MLT_NUMBERS,
} mlt_reduce_number;

// The kind of a C type.
#define MLT_SIGNED_OF(T)                                                                           \
    (sizeof(T) == 1   ? MLT_OP_INT8                                                                \
     : sizeof(T) == 2 ? MLT_OP_INT16                                                               \
     : sizeof(T) == 4 ? MLT_OP_INT32                                                               \
                      : MLT_OP_INT64)
#define MLT_UNSIGNED_OF(T) (MLT_SIGNED_OF(T) - MLT_OP_INT8 + MLT_OP_UINT8)
// clang-format off
#define MLT_NUMBER_OF(T)                                                                           \
    _Generic((T)0,                                                                                 \
        _Bool: MLT_OP_UINT8,                                                                       \
        char: (char)-1 < 0 ? MLT_OP_INT8 : MLT_OP_UINT8,                                           \
        signed char: MLT_SIGNED_OF(T), short: MLT_SIGNED_OF(T), int: MLT_SIGNED_OF(T),             \
        long: MLT_SIGNED_OF(T), long long: MLT_SIGNED_OF(T), __int128: MLT_NUMBER_INT128,          \
        unsigned char: MLT_UNSIGNED_OF(T), unsigned short: MLT_UNSIGNED_OF(T),                     \
        unsigned: MLT_UNSIGNED_OF(T), unsigned long: MLT_UNSIGNED_OF(T),                           \
        unsigned long long: MLT_UNSIGNED_OF(T),                                                    \
        float: MLT_OP_FLOAT32, double: MLT_OP_FLOAT64, long double: MLT_NUMBER_LONG_DOUBLE,        \
        float _Complex: MLT_NUMBER_COMPLEX_FLOAT32, double _Complex: MLT_NUMBER_COMPLEX_FLOAT64,   \
        long double _Complex: MLT_NUMBER_COMPLEX_LONG_DOUBLE)
// clang-format on

typedef struct mlt_reduce_type {
    uint8_t group;
    uint8_t number, index; // index: of a pair
} mlt_reduce_type;

// By handle value & 1023; absent ones have MLT_GROUP_NONE.
extern const mlt_reduce_type mlt_reduce_types[1024] __attribute__((visibility("hidden")));
