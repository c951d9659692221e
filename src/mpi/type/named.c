// SPDX-License-Identifier: BSD-3-Clause
// Predefined datatypes by their properties: Fortran's parametrised types, types of a class and a
// size, pairs of a value and an index. What the table of named types lacks is made once a worker,
// is committed and cannot be freed.
#include <float.h>
#include <stddef.h>

#include "base/log.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"
#include "type/build.h"
#include "type/reduce.h"

static const mlt_type *named_predefined(MPI_Datatype handle)
{
    return mlt_type_coded((uintptr_t)handle);
}

// ---- Fortran's parametrised types

// The kinds of a Fortran compiler on this machine, the smallest first: selected_real_kind takes the
// first that suffices.
typedef struct real_kind {
    int digits, exponent; // decimal precision and range
    MPI_Datatype real, complex;
} real_kind;

static const real_kind real_kinds[] = {
    {FLT_DIG, -FLT_MIN_10_EXP, MPI_REAL4, MPI_COMPLEX8},
    {DBL_DIG, -DBL_MIN_10_EXP, MPI_REAL8, MPI_COMPLEX16},
    {LDBL_DIG, -LDBL_MIN_10_EXP, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32}, // binary128, where long double is less
};

typedef struct integer_kind {
    int range; // all integers of at most so many digits
    MPI_Datatype type;
} integer_kind;

static const integer_kind integer_kinds[] = {
    {2, MPI_INTEGER1},  {4, MPI_INTEGER2},   {9, MPI_INTEGER4},
    {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

// The permanent type that is a named one with a combiner and its arguments: p and r, or r.
static int parametrised(mlt_rank *me, int combiner, int arguments, int first, int second,
                        MPI_Datatype named, MPI_Datatype *newtype)
{
    const mlt_type *type = named_predefined(named);
    mlt_dtype *dtype = mlt_dtype_find_permanent(me, combiner, first, second, type, NULL);
    if (dtype) {
        *newtype = mlt_dtype_handle(&dtype->type);
        return MPI_SUCCESS;
    }
    dtype = mlt_dtype_new(me, combiner, arguments, 0, 0, 0);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    dtype->contents.number[0] = first;
    dtype->contents.number[1] = second;
    dtype->contents.type[0] = type;
    mlt_type_make_dup(&dtype->type, type);
    return mlt_dtype_finish_permanent(me, dtype, MLT_OK, newtype);
}

int mlt_dtype_make_f90(mlt_rank *me, int p, int r, bool complex, MPI_Datatype *newtype)
{
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                             "arguments p and r are both MPI_UNDEFINED, but at least one of them "
                             "should be a number of decimal digits");
    if (p != MPI_UNDEFINED && p < 0)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "p", p, "at least 0, or MPI_UNDEFINED");
    if (r != MPI_UNDEFINED && r < 0)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "r", r, "at least 0, or MPI_UNDEFINED");
    for (size_t i = 0; i < sizeof real_kinds / sizeof *real_kinds; i++)
        if (p <= real_kinds[i].digits && r <= real_kinds[i].exponent)
            return parametrised(me, complex ? MPI_COMBINER_F90_COMPLEX : MPI_COMBINER_F90_REAL, 2,
                                p, r, complex ? real_kinds[i].complex : real_kinds[i].real,
                                newtype);
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                         "no kind of number has %d digits and a decimal exponent of %d; arguments "
                         "p and r should be at most 33 and 4931",
                         p, r);
}

int mlt_mpi_Type_create_f90_integer(mlt_rank *me, int r, MPI_Datatype *newtype)
{
    if (r >= 0)
        for (size_t i = 0; i < sizeof integer_kinds / sizeof *integer_kinds; i++)
            if (r <= integer_kinds[i].range)
                return parametrised(me, MPI_COMBINER_F90_INTEGER, 1, r, 0, integer_kinds[i].type,
                                    newtype);
    return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "r", r, "from 0 to 38");
}

// ---- a class and a size

int mlt_mpi_Type_match_size(mlt_rank *me, int typeclass, int size, MPI_Datatype *datatype)
{
    static const struct {
        int class;
        MPI_Datatype type;
    } all[] = {
        {MPI_TYPECLASS_INTEGER, MPI_INTEGER1},  {MPI_TYPECLASS_INTEGER, MPI_INTEGER2},
        {MPI_TYPECLASS_INTEGER, MPI_INTEGER4},  {MPI_TYPECLASS_INTEGER, MPI_INTEGER8},
        {MPI_TYPECLASS_INTEGER, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, MPI_REAL2},
        {MPI_TYPECLASS_REAL, MPI_REAL4},        {MPI_TYPECLASS_REAL, MPI_REAL8},
        {MPI_TYPECLASS_REAL, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX4},
        {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX8},  {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX16},
        {MPI_TYPECLASS_COMPLEX, MPI_COMPLEX32}, {MPIX_TYPECLASS_LOGICAL, MPI_LOGICAL1},
        {MPIX_TYPECLASS_LOGICAL, MPI_LOGICAL2}, {MPIX_TYPECLASS_LOGICAL, MPI_LOGICAL4},
        {MPIX_TYPECLASS_LOGICAL, MPI_LOGICAL8}, {MPIX_TYPECLASS_LOGICAL, MPI_LOGICAL16},
    };
    bool known = false;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].class != typeclass)
            continue;
        known = true;
        if (size > 0 && named_predefined(all[i].type)->size == (uint64_t)size) {
            *datatype = all[i].type;
            return MPI_SUCCESS;
        }
    }
    if (known)
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "size", size,
                             "the bytes of a Fortran type of this class");
    return mlt_bad_value(me, NULL, me->fn, MPI_ERR_ARG, "typeclass", typeclass,
                         "MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or MPI_TYPECLASS_COMPLEX");
}

// ---- value and index

// What MPI_MINLOC and MPI_MAXLOC can compare, and what can be an index.
typedef enum number_class { NO_NUMBER, AN_INTEGER, A_REAL } number_class;

static number_class named_class_of(const mlt_type *type)
{
    char why[8];
    mlt_reduction found;
    bool text =
        type->code == (uintptr_t)MPI_CHAR || type->code == (uintptr_t)MPI_CHARACTER; // no numbers
    if (!type->code || text ||
        !mlt_reduce_find(MLT_REDUCE_MAX, type->code, &found, why, sizeof why))
        return NO_NUMBER;
    return mlt_reduce_find(MLT_REDUCE_BAND, type->code, &found, why, sizeof why) ? AN_INTEGER
                                                                                 : A_REAL;
}

// Predefined pairs that have a name of their own.
static const struct {
    MPI_Datatype value, index, pair;
} named_pairs[] = {
    {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
    {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
    {MPI_LONG, MPI_INT, MPI_LONG_INT},
    {MPI_INT, MPI_INT, MPI_2INT},
    {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
    {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
    {MPI_REAL, MPI_REAL, MPI_2REAL},
    {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
    {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
};
enum { NAMED_PAIRS = sizeof named_pairs / sizeof *named_pairs };

void mlt_dtype_pair(uint16_t code, const mlt_type *two[2])
{
    size_t i = 0;
    while ((uintptr_t)named_pairs[i].pair != code)
        mlt_assert(++i < NAMED_PAIRS);
    two[0] = named_predefined(named_pairs[i].value);
    two[1] = named_predefined(named_pairs[i].index);
}

static MPI_Datatype named_pair(MPI_Datatype value, MPI_Datatype index)
{
    for (size_t i = 0; i < NAMED_PAIRS; i++)
        if (named_pairs[i].value == value && named_pairs[i].index == index)
            return named_pairs[i].pair;
    return MPI_DATATYPE_NULL;
}

// The index lies where a C struct has it.
static int64_t index_offset(const mlt_type *value, const mlt_type *index)
{
    int64_t align = (int64_t)1 << index->align;
    return (value->extent + align - 1) / align * align;
}

int mlt_mpi_Type_get_value_index(mlt_rank *me, const mlt_type *value_type,
                                 const mlt_type *index_type, MPI_Datatype *pair_type)
{
    MPI_Datatype pair = named_pair(mlt_dtype_handle(value_type), mlt_dtype_handle(index_type));
    if (pair != MPI_DATATYPE_NULL || named_class_of(value_type) == NO_NUMBER ||
        named_class_of(index_type) != AN_INTEGER) {
        *pair_type = pair; // null: there is no such pair, which is no error
        return MPI_SUCCESS;
    }
    mlt_dtype *dtype =
        mlt_dtype_find_permanent(me, MPI_COMBINER_VALUE_INDEX, 0, 0, value_type, index_type);
    if (dtype) {
        *pair_type = mlt_dtype_handle(&dtype->type);
        return MPI_SUCCESS;
    }
    dtype = mlt_dtype_new(me, MPI_COMBINER_VALUE_INDEX, 0, 0, 0, 2);
    if (!dtype)
        return mlt_dtype_no_memory(me);
    mlt_dtype_set_type(dtype, 0, value_type);
    mlt_dtype_set_type(dtype, 1, index_type);
    int64_t lengths[2] = {1, 1}, at[2] = {0, index_offset(value_type, index_type)};
    mlt_status status = mlt_type_make_struct(&dtype->type, 2, lengths, at, dtype->contents.type);
    return mlt_dtype_finish_permanent(me, dtype, status, pair_type);
}
