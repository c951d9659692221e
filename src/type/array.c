// SPDX-License-Identifier: BSD-3-Clause
// Subarrays and distributed arrays, composed from vectors, displaced blocks and resizing, the
// dimension that is adjacent in memory first. So a part of an array of any size is a handful of
// nested loops.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "type/build.h"

// Dimension i in the order of memory, the innermost first.
static int dimension(int i, int ndims, bool row_major)
{
    return row_major ? ndims - 1 - i : i;
}

// The type becomes *next, which the caller gives up.
static void replace(mlt_type *type, const mlt_type *next)
{
    mlt_type_unmake(type);
    *type = *next;
}

// Moves the data by `at` bytes and sets the bounds to [0, extent).
static mlt_status place(mlt_type *type, int64_t at, int64_t extent)
{
    mlt_type next;
    mlt_status status = MLT_OK;
    if (at != 0) {
        status = mlt_type_make_indexed(&next, type, 1, NULL, 1, &at);
        if (status == MLT_OK)
            replace(type, &next);
    }
    if (status == MLT_OK)
        status = mlt_type_make_resized(&next, type, 0, extent);
    if (status == MLT_OK)
        replace(type, &next);
    return status;
}

// ---- subarrays

// One more dimension of *type: `count` of them, `step` bytes apart.
static mlt_status repeat(mlt_type *type, int64_t count, int64_t step)
{
    mlt_type next;
    mlt_status status = mlt_type_make_vector(&next, type, count, 1, step);
    if (status == MLT_OK)
        replace(type, &next);
    return status;
}

mlt_status mlt_type_make_subarray(mlt_type *out, const mlt_type *old, int ndims,
                                  const int64_t *sizes, const int64_t *subsizes,
                                  const int64_t *starts, bool row_major)
{
    int64_t step = old->extent, at = 0, skip;
    mlt_status status = MLT_OK;
    mlt_type type;
    mlt_assert(ndims > 0);
    mlt_type_make_dup(&type, old);
    for (int i = 0; i < ndims && status == MLT_OK; i++) {
        int d = dimension(i, ndims, row_major);
        mlt_assert(starts[d] >= 0 && subsizes[d] >= 0 && subsizes[d] <= sizes[d] - starts[d]);
        status = repeat(&type, subsizes[d], step);
        if (__builtin_mul_overflow(starts[d], step, &skip) ||
            __builtin_add_overflow(at, skip, &at) || __builtin_mul_overflow(sizes[d], step, &step))
            status = MLT_ERR_INVALID;
    }
    if (status == MLT_OK)
        status = place(&type, at, step); // by now the step over the whole array
    if (status == MLT_OK)
        *out = type;
    else
        mlt_type_unmake(&type);
    return status;
}

// ---- distributed arrays

// What a process has of one dimension: whole blocks, and a shorter one if the last is its.
typedef struct share {
    int64_t first, whole; // element at which its first whole block begins; how many it has
    int64_t tail, rest;   // element at which the short block begins, its length (0: none)
    int64_t block, turn;  // elements of a block, and from one of its blocks to the next
} share;

static mlt_status share_of(const mlt_distribution *d, share *s)
{
    int64_t block = d->block ? d->block : d->global;
    mlt_assert(d->global >= 0 && d->block >= 0 && d->processes > 0);
    mlt_assert(d->coordinate >= 0 && d->coordinate < d->processes);
    *s = (share){.block = block};
    if (block == 0)
        return MLT_OK; // an empty dimension
    int64_t blocks = d->global / block, rest = d->global % block;
    if (blocks > d->coordinate)
        s->whole = (blocks - d->coordinate + d->processes - 1) / d->processes;
    if (rest > 0 && blocks % d->processes == d->coordinate) {
        s->tail = blocks * block;
        s->rest = rest;
    }
    // Blocks that it does not have must not make numbers that are too large.
    if (s->whole > 0)
        s->first = d->coordinate * block;
    if (s->whole > 1 && __builtin_mul_overflow(block, d->processes, &s->turn))
        return MLT_ERR_INVALID;
    return MLT_OK;
}

// The share of a dimension of *type, whose elements are `step` bytes apart; that is type's extent.
static mlt_status deal(mlt_type *type, const share *s, int64_t step)
{
    mlt_type parts[2], next;
    int64_t lengths[2] = {1, s->rest}, at[2], stride;
    if (__builtin_mul_overflow(s->first, step, &at[0]) ||
        __builtin_mul_overflow(s->tail, step, &at[1]) ||
        __builtin_mul_overflow(s->turn, step, &stride))
        return MLT_ERR_INVALID;
    mlt_status status = mlt_type_make_vector(&parts[0], type, s->whole, s->block, stride);
    if (status != MLT_OK)
        return status;
    const mlt_type *types[2] = {&parts[0], type};
    if (s->whole == 0)
        status = mlt_type_make_indexed(&next, type, s->rest > 0, NULL, s->rest, &at[1]);
    else if (s->rest == 0)
        status = mlt_type_make_indexed(&next, &parts[0], 1, NULL, 1, &at[0]);
    else
        status = mlt_type_make_struct(&next, 2, lengths, at, types);
    mlt_type_unmake(&parts[0]);
    if (status == MLT_OK)
        replace(type, &next);
    return status;
}

mlt_status mlt_type_make_darray(mlt_type *out, const mlt_type *old, int ndims,
                                const mlt_distribution *dims, bool row_major)
{
    int64_t step = old->extent;
    mlt_status status = MLT_OK;
    mlt_type type;
    mlt_assert(ndims > 0);
    mlt_type_make_dup(&type, old);
    for (int i = 0; i < ndims && status == MLT_OK; i++) {
        const mlt_distribution *d = &dims[dimension(i, ndims, row_major)];
        share s;
        status = share_of(d, &s);
        if (status == MLT_OK)
            status = deal(&type, &s, step);
        if (status == MLT_OK && __builtin_mul_overflow(d->global, step, &step))
            status = MLT_ERR_INVALID;
        if (status == MLT_OK)
            status = place(&type, 0, step); // the next dimension counts in whole arrays of this one
    }
    if (status == MLT_OK)
        *out = type;
    else
        mlt_type_unmake(&type);
    return status;
}
