// SPDX-License-Identifier: BSD-3-Clause
// Makes derived types from others. Each function fills *out in (magic, size, bounds, true bounds,
// alignment, contiguous, layout; code 0, not committed, no name) and takes a reference on the new
// layout, which mlt_type_unmake drops; the old types may go afterwards. Displacements, strides and
// bounds are in bytes, counts and lengths are not negative (asserted: the MPI layer has checked).
//
// Bounds follow MPI: lb is the least displacement and ub the greatest end of what a type contains,
// unless some part was resized: then only such parts count. A struct's ub is rounded up to its
// alignment, unless it was resized.
//
// MLT_ERR_INVALID: a size, bound or displacement does not fit into 63 bits. MLT_ERR_NO_MEMORY.
// Either way *out is untouched.
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "type/type.h"

// `count` blocks of `length` elements, `stride` bytes from one to the next. Contiguous: count 1.
mlt_status mlt_type_make_vector(mlt_type *out, const mlt_type *old, int64_t count, int64_t length,
                                int64_t stride) MLT_MUST_CHECK;

// `count` blocks at displacements[i], of lengths[i] elements, or of `length` each if lengths is
// NULL.
mlt_status mlt_type_make_indexed(mlt_type *out, const mlt_type *old, int64_t count,
                                 const int64_t *lengths, int64_t length,
                                 const int64_t *displacements) MLT_MUST_CHECK;

mlt_status mlt_type_make_struct(mlt_type *out, int64_t count, const int64_t *lengths,
                                const int64_t *displacements,
                                const mlt_type *const *types) MLT_MUST_CHECK;

mlt_status mlt_type_make_resized(mlt_type *out, const mlt_type *old, int64_t lb,
                                 int64_t extent) MLT_MUST_CHECK;

// The same data and bounds, shared.
void mlt_type_make_dup(mlt_type *out, const mlt_type *old);

// Drops the layout.
void mlt_type_unmake(mlt_type *type);

// ---- arrays (array.c). `row_major` is MPI_ORDER_C.

// The part [starts, starts + subsizes) of an array of `sizes`; its extent is the whole array's.
mlt_status mlt_type_make_subarray(mlt_type *out, const mlt_type *old, int ndims,
                                  const int64_t *sizes, const int64_t *subsizes,
                                  const int64_t *starts, bool row_major) MLT_MUST_CHECK;

typedef struct mlt_distribution {
    int64_t global;                // elements of the array in this dimension
    int64_t block;                 // elements of a block, dealt out in turns; 0: not distributed
    int64_t processes, coordinate; // in this dimension; 1, 0 if it is not distributed
} mlt_distribution;

// What the process at these coordinates holds of a distributed array; the extent is the whole
// array's. A block distribution is the cyclic one whose blocks are so large that one turn suffices.
mlt_status mlt_type_make_darray(mlt_type *out, const mlt_type *old, int ndims,
                                const mlt_distribution *dims, bool row_major) MLT_MUST_CHECK;
