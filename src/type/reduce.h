// SPDX-License-Identifier: BSD-3-Clause
// MPI's predefined operations on MPI's predefined types: which pairs there are, and their kernels.
// Pure computation.
//
// Pairs of op.h's lists are kernels of op.h, with the same meaning; the rest have kernels of the
// same form: inout = inout op in, elements without alignment, both sides the same memory or apart.
//
// Complex products are (ac - bd, ad + bc), each product and sum rounded for itself, so that they do
// not depend on the order of the operands. The greater of two values with their indices
// (MPI_MAXLOC) is as op.h says of max, NaN and zeros included, with the index of that value, or the
// lesser index if the values are equal; MPI_MINLOC likewise. Bytes between a value and its index,
// and after the index, are left alone. Logical values are 0 or not, and become 0 or 1.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "type/op.h"

// The first ten have the numbers of mlt_op.
#define MLT_REDUCE_OP_LIST(X)                                                                      \
    X(MAX)                                                                                         \
    X(MIN)                                                                                         \
    X(SUM)                                                                                         \
    X(PROD)                                                                                        \
    X(LAND)                                                                                        \
    X(LOR)                                                                                         \
    X(LXOR)                                                                                        \
    X(BAND)                                                                                        \
    X(BOR)                                                                                         \
    X(BXOR)                                                                                        \
    X(MAXLOC)                                                                                      \
    X(MINLOC)                                                                                      \
    X(REPLACE)                                                                                     \
    X(NO_OP)

#define MLT_REDUCE_OP_ENUM(UPPER) MLT_REDUCE_##UPPER,
typedef enum mlt_reduce_op { MLT_REDUCE_OP_LIST(MLT_REDUCE_OP_ENUM) MLT_REDUCE_OPS } mlt_reduce_op;

extern const char *const mlt_reduce_op_names[MLT_REDUCE_OPS]; // "MPI_MAX"

typedef struct mlt_reduction {
    mlt_op op;             // as GOAL has it; MLT_OPS: it has none, only a kernel
    mlt_op_type type;      // if op is not MLT_OPS
    mlt_op_kernel *kernel; // never NULL
    uint32_t element;      // bytes from one element to the next: the type's extent
    bool commutes;         // all except MPI_REPLACE and MPI_NO_OP
    bool exact;            // no bit depends on brackets (except inside a NaN)
} mlt_reduction;

// `code`: the ABI's value of a named type. False: MPI has no such pair, and `why` has a message:
// "MPI_BAND works on integers and bytes, not on MPI_DOUBLE".
bool mlt_reduce_find(mlt_reduce_op op, uint16_t code, mlt_reduction *out, char *why,
                     size_t why_size);

// The same for an unnamed pair of a value and an index (MPI_Type_get_value_index), by their codes.
// The element is laid out as a C struct of the two.
bool mlt_reduce_find_pair(mlt_reduce_op op, uint16_t value, uint16_t index, mlt_reduction *out,
                          char *why, size_t why_size);

// What a kernel computes, for those who compute it elsewhere.
typedef enum mlt_reduce_shape {
    MLT_REDUCE_NUMBERS,
    MLT_REDUCE_COMPLEX, // two numbers each
    MLT_REDUCE_PAIRS,   // a value and an index, laid out as a C struct of the two
    MLT_REDUCE_MOVES,   // MPI_REPLACE, MPI_NO_OP: bytes
} mlt_reduce_shape;

typedef struct mlt_reduce_form {
    mlt_reduce_shape shape;
    mlt_reduce_op op;
    mlt_op_type number; // or the value of a pair; MLT_OP_TYPES: one that op.h has not
    mlt_op_type index;  // of a pair, likewise
} mlt_reduce_form;

// False: it is none of the kernels here, of op.h and of wide.h.
bool mlt_reduce_find_form(mlt_op_kernel *kernel, mlt_reduce_form *out);

// What an operation works on: "integers".
const char *mlt_reduce_domain(mlt_reduce_op op);
