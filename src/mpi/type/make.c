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
#include "mpi/self.h"
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

// Copies of the user's arrays, wide.
static void copy_ints(int64_t *to, const int *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

static void copy_addresses(int64_t *to, const MPI_Aint *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

static void copy_counts(int64_t *to, const MPI_Count *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
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

// Blocks of lengths[i] elements, or of `length` each, at displacements[i] units.
static int make_indexed(mlt_rank *me, mlt_dtype *dtype, int64_t count, const int64_t *lengths,
                        int64_t length, const int64_t *displacements, int64_t unit,
                        const mlt_type *oldtype, MPI_Datatype *newtype)
{
    int64_t *bytes = NULL;
    mlt_status status = MLT_OK;
    mlt_dtype_set_type(dtype, 0, oldtype);
    if (unit != 1 && count > 0) {
        bytes = malloc((size_t)count * sizeof *bytes);
        if (!bytes)
            status = MLT_ERR_NO_MEMORY;
        for (int64_t i = 0; i < count && status == MLT_OK; i++)
            if (__builtin_mul_overflow(displacements[i], unit, &bytes[i]))
                status = MLT_ERR_INVALID;
    }
    if (status == MLT_OK)
        status = mlt_type_make_indexed(&dtype->type, oldtype, count, lengths, length,
                                       bytes ? bytes : displacements);
    free(bytes);
    return mlt_dtype_finish(me, dtype, status, newtype);
}

// count, lengths, displacements are in the contents.
static int finish_indexed(mlt_rank *me, mlt_dtype *dtype, int64_t count, int64_t unit,
                          const mlt_type *oldtype, MPI_Datatype *newtype)
{
    int64_t *number = dtype->contents.number;
    number[0] = count;
    int code = check_lengths(me, dtype, count);
    if (code != MPI_SUCCESS)
        return code;
    return make_indexed(me, dtype, count, number + 1, 0, number + 1 + count, unit, oldtype,
                        newtype);
}

int mlt_mpi_Type_indexed(mlt_rank *me, int count, const int array_of_blocklengths[],
                         const int array_of_displacements[], const mlt_type *oldtype,
                         MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_INDEXED, false, 1 + 2 * (int64_t)count, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_ints(dtype->contents.number + 1, array_of_blocklengths, count);
    copy_ints(dtype->contents.number + 1 + count, array_of_displacements, count);
    return finish_indexed(me, dtype, count, oldtype->extent, oldtype, newtype);
}

// What a _c function does, by elements or by bytes.
static int indexed_large(mlt_rank *me, int combiner, int64_t count, const MPI_Count *lengths,
                         const MPI_Count *displacements, int64_t unit, const mlt_type *oldtype,
                         MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        count >> COUNT_BITS ? NULL : type_make_start(me, combiner, true, 1 + 2 * count, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_counts(dtype->contents.number + 1, lengths, count);
    copy_counts(dtype->contents.number + 1 + count, displacements, count);
    return finish_indexed(me, dtype, count, unit, oldtype, newtype);
}

int mlt_mpi_Type_indexed_c(mlt_rank *me, MPI_Count count, const MPI_Count array_of_blocklengths[],
                           const MPI_Count array_of_displacements[], const mlt_type *oldtype,
                           MPI_Datatype *newtype)
{
    return indexed_large(me, MPI_COMBINER_INDEXED, count, array_of_blocklengths,
                         array_of_displacements, oldtype->extent, oldtype, newtype);
}

int mlt_mpi_Type_create_hindexed(mlt_rank *me, int count, const int array_of_blocklengths[],
                                 const MPI_Aint array_of_displacements[], const mlt_type *oldtype,
                                 MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_HINDEXED, false, 1 + (int64_t)count, count, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_ints(dtype->contents.number + 1, array_of_blocklengths, count);
    copy_addresses(dtype->contents.number + 1 + count, array_of_displacements, count);
    return finish_indexed(me, dtype, count, 1, oldtype, newtype);
}

int mlt_mpi_Type_create_hindexed_c(mlt_rank *me, MPI_Count count,
                                   const MPI_Count array_of_blocklengths[],
                                   const MPI_Count array_of_displacements[],
                                   const mlt_type *oldtype, MPI_Datatype *newtype)
{
    return indexed_large(me, MPI_COMBINER_HINDEXED, count, array_of_blocklengths,
                         array_of_displacements, 1, oldtype, newtype);
}

// count, length, displacements: the last are in the contents already.
static int finish_block(mlt_rank *me, mlt_dtype *dtype, int64_t count, int64_t length, int64_t unit,
                        const mlt_type *oldtype, MPI_Datatype *newtype)
{
    int64_t *number = dtype->contents.number;
    number[0] = count;
    number[1] = length;
    return make_indexed(me, dtype, count, NULL, length, number + 2, unit, oldtype, newtype);
}

int mlt_mpi_Type_create_indexed_block(mlt_rank *me, int count, int blocklength,
                                      const int array_of_displacements[], const mlt_type *oldtype,
                                      MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_INDEXED_BLOCK, false, 2 + (int64_t)count, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_ints(dtype->contents.number + 2, array_of_displacements, count);
    return finish_block(me, dtype, count, blocklength, oldtype->extent, oldtype, newtype);
}

static int block_large(mlt_rank *me, int combiner, int64_t count, int64_t length,
                       const MPI_Count *displacements, int64_t unit, const mlt_type *oldtype,
                       MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        count >> COUNT_BITS ? NULL : type_make_start(me, combiner, true, 2 + count, 0, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_counts(dtype->contents.number + 2, displacements, count);
    return finish_block(me, dtype, count, length, unit, oldtype, newtype);
}

int mlt_mpi_Type_create_indexed_block_c(mlt_rank *me, MPI_Count count, MPI_Count blocklength,
                                        const MPI_Count array_of_displacements[],
                                        const mlt_type *oldtype, MPI_Datatype *newtype)
{
    return block_large(me, MPI_COMBINER_INDEXED_BLOCK, count, blocklength, array_of_displacements,
                       oldtype->extent, oldtype, newtype);
}

int mlt_mpi_Type_create_hindexed_block(mlt_rank *me, int count, int blocklength,
                                       const MPI_Aint array_of_displacements[],
                                       const mlt_type *oldtype, MPI_Datatype *newtype)
{
    mlt_dtype *dtype = type_make_start(me, MPI_COMBINER_HINDEXED_BLOCK, false, 2, count, 1);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_addresses(dtype->contents.number + 2, array_of_displacements, count);
    return finish_block(me, dtype, count, blocklength, 1, oldtype, newtype);
}

int mlt_mpi_Type_create_hindexed_block_c(mlt_rank *me, MPI_Count count, MPI_Count blocklength,
                                         const MPI_Count array_of_displacements[],
                                         const mlt_type *oldtype, MPI_Datatype *newtype)
{
    return block_large(me, MPI_COMBINER_HINDEXED_BLOCK, count, blocklength, array_of_displacements,
                       1, oldtype, newtype);
}

// ---- structs

// count, lengths, displacements: the last two are in the contents already.
static int finish_struct(mlt_rank *me, mlt_dtype *dtype, int64_t count, const MPI_Datatype *handles,
                         MPI_Datatype *newtype)
{
    mlt_contents *c = &dtype->contents;
    c->number[0] = count;
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

int mlt_mpi_Type_create_struct(mlt_rank *me, int count, const int array_of_blocklengths[],
                               const MPI_Aint array_of_displacements[],
                               const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    mlt_dtype *dtype =
        type_make_start(me, MPI_COMBINER_STRUCT, false, 1 + (int64_t)count, count, count);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_ints(dtype->contents.number + 1, array_of_blocklengths, count);
    copy_addresses(dtype->contents.number + 1 + count, array_of_displacements, count);
    return finish_struct(me, dtype, count, array_of_types, newtype);
}

int mlt_mpi_Type_create_struct_c(mlt_rank *me, MPI_Count count,
                                 const MPI_Count array_of_blocklengths[],
                                 const MPI_Count array_of_displacements[],
                                 const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    mlt_dtype *dtype = count >> COUNT_BITS ? NULL
                                           : type_make_start(me, MPI_COMBINER_STRUCT, true,
                                                             1 + 2 * count, 0, count);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    copy_counts(dtype->contents.number + 1, array_of_blocklengths, count);
    copy_counts(dtype->contents.number + 1 + count, array_of_displacements, count);
    return finish_struct(me, dtype, count, array_of_types, newtype);
}
