// SPDX-License-Identifier: BSD-3-Clause
// Constructors of datatypes, except arrays (array.c) and predefined ones (named.c).
//
// Each copies its arguments into the contents of a new object, wide, in the order of
// MPI_Type_get_contents, and builds the layout from there. The large-count twins keep all their
// numbers as counts.
#include <stdio.h>
#include <stdlib.h>

#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"
#include "type/build.h"

enum { COUNT_BITS = 58 }; // no array of more elements fits into an address space

// An object for a constructor that the small function describes by so many integers and addresses.
static mlt_dtype *type_make_start(mlt_rank *me, int combiner, bool large, int64_t integers,
                                  int64_t addresses, int64_t types)
{
    if (large)
        return mlt_dtype_new(me, combiner, 0, 0, integers + addresses, types);
    return mlt_dtype_new(me, combiner, integers, addresses, 0, types);
}

// ---- regular ones

int mlt_mpi_Type_contiguous(mlt_rank *me, MPI_Count count, const mlt_type *oldtype,
                            MPI_Datatype *newtype)
{
    bool large = me->fn == MLT_FN_Type_contiguous_c;
    mlt_dtype *dtype = type_make_start(me, MPI_COMBINER_CONTIGUOUS, large, 1, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    dtype->contents.number[0] = count;
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_status status = mlt_type_make_vector(&dtype->type, oldtype, 1, count, 0);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

// `stride` as the user gave it, `bytes` of it.
static int make_vector(mlt_rank *me, mlt_dtype *dtype, int64_t count, int64_t length,
                       int64_t stride, int64_t unit, const mlt_type *oldtype, MPI_Datatype *newtype)
{
    int64_t bytes;
    if (!dtype)
        return mlt_dtype_no_memory(me);
    dtype->contents.number[0] = count;
    dtype->contents.number[1] = length;
    dtype->contents.number[2] = stride;
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_status status = MLT_ERR_INVALID;
    if (!__builtin_mul_overflow(stride, unit, &bytes))
        status = mlt_type_make_vector(&dtype->type, oldtype, count, length, bytes);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

int mlt_mpi_Type_vector(mlt_rank *me, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                        const mlt_type *oldtype, MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_VECTOR, me->fn == MLT_FN_Type_vector_c, 3, 0, 1);
    return make_vector(me, dtype, count, blocklength, stride, oldtype->extent, oldtype, newtype);
}

int mlt_mpi_Type_create_hvector(mlt_rank *me, MPI_Count count, MPI_Count blocklength,
                                MPI_Count stride, const mlt_type *oldtype, MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_HVECTOR, me->fn == MLT_FN_Type_create_hvector_c, 2, 1, 1);
    return make_vector(me, dtype, count, blocklength, stride, 1, oldtype, newtype);
}

int mlt_mpi_Type_create_resized(mlt_rank *me, const mlt_type *oldtype, MPI_Count lb,
                                MPI_Count extent, MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_RESIZED, me->fn == MLT_FN_Type_create_resized_c, 0, 2, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    dtype->contents.number[0] = lb;
    dtype->contents.number[1] = extent;
    mlt_dtype_set_type(dtype, 0, oldtype);
    mlt_status status = mlt_type_make_resized(&dtype->type, oldtype, lb, extent);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

// ---- irregular ones

// All blocks have the same length.
static bool is_even(int combiner)
{
    return combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;
}

// A copy of an array of the user's, wide. Returns what follows it.
static int64_t *copy_numbers(int64_t *to, const void *from, bool wide, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = wide ? ((const int64_t *)from)[i] : ((const int *)from)[i];
    return to + n;
}

// An object with these contents: count, lengths or the one length, displacements. NULL: memory is out.
static mlt_dtype *start_blocks(mlt_rank *me, int combiner, mlt_dtype_numbers kind, int64_t count,
                               const void *lengths, const void *displacements, int64_t types)
{
    int64_t length_count = is_even(combiner) ? 1 : count;
    if (count >> COUNT_BITS)
        return NULL;
    mlt_dtype *dtype = type_make_start(me, combiner, kind == MLT_DTYPE_COUNTS,
                                       1 + length_count + (kind == MLT_DTYPE_INTS ? count : 0),
                                       kind == MLT_DTYPE_INTS ? 0 : count, types);
    if (!dtype)
        return NULL;
    int64_t *number = dtype->contents.number;
    *number++ = count;
    number = copy_numbers(number, lengths, kind == MLT_DTYPE_COUNTS, length_count);
    copy_numbers(number, displacements, kind != MLT_DTYPE_INTS, count);
    return dtype;
}

// Raises the error of a negative block length, if there is one, and discards the object.
static int check_lengths(mlt_rank *me, mlt_dtype *dtype, int64_t count)
{
    char name[64];
    const int64_t *lengths = dtype->contents.number + 1;
    int64_t i = 0;
    while (i < count && lengths[i] >= 0)
        i++;
    if (i == count)
        return MPI_SUCCESS;
    int64_t wrong = lengths[i];
    mlt_dtype_discard(dtype);
    snprintf(name, sizeof name, "array_of_blocklengths[%lld]", (long long)i);
    return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, name, wrong, "at least 0");
}

// Blocks at displacements in elements, or in bytes.
int mlt_dtype_make_indexed(mlt_rank *me, int combiner, mlt_dtype_numbers kind, int64_t count,
                           const void *lengths, const void *displacements, const mlt_type *oldtype,
                           MPI_Datatype *newtype)
{
    mlt_dtype *dtype = start_blocks(me, combiner, kind, count, lengths, displacements, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    bool even = is_even(combiner);
    int code = even ? MPI_SUCCESS : check_lengths(me, dtype, count);
    if (code != MPI_SUCCESS)
        return code;
    mlt_dtype_set_type(dtype, 0, oldtype);
    int64_t *number = dtype->contents.number, *at = number + 1 + (even ? 1 : count), *bytes = NULL;
    bool elements = combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK;
    int64_t unit = elements ? oldtype->extent : 1;
    mlt_status status = MLT_OK;
    if (unit != 1 && count > 0) {
        bytes = malloc((size_t)count * sizeof *bytes);
        if (!bytes)
            status = MLT_ERR_NO_MEMORY;
        for (int64_t i = 0; i < count && status == MLT_OK; i++)
            if (__builtin_mul_overflow(at[i], unit, &bytes[i]))
                status = MLT_ERR_INVALID;
    }
    if (status == MLT_OK)
        status = mlt_type_make_indexed(&dtype->type, oldtype, count, even ? NULL : number + 1,
                                       even ? number[1] : 0, bytes ? bytes : at);
    free(bytes);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

// ---- structs

int mlt_dtype_make_struct(mlt_rank *me, mlt_dtype_numbers kind, int64_t count, const void *lengths,
                          const void *displacements, const MPI_Datatype *handles,
                          MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        start_blocks(me, MPI_COMBINER_STRUCT, kind, count, lengths, displacements, count);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    mlt_contents *c = &dtype->contents;
    int code = check_lengths(me, dtype, count);
    if (code != MPI_SUCCESS)
        return code;
    for (int64_t i = 0; i < count; i++) {
        char name[64];
        const mlt_type *type = mlt_type_mine(me, handles[i]);
        if (!type) {
            mlt_dtype_discard(dtype);
            snprintf(name, sizeof name, "array_of_types[%lld]", (long long)i);
            return mlt_bad_type(me, NULL, me->fn, name, handles[i]);
        }
        mlt_dtype_set_type(dtype, i, type);
    }
    mlt_status status =
        mlt_type_make_struct(&dtype->type, count, c->number + 1, c->number + 1 + count, c->type);
    return mlt_dtype_finish(me, dtype, status, newtype);
}
