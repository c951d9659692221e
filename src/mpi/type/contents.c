// SPDX-License-Identifier: BSD-3-Clause
// How a datatype was made: envelope and contents.
#include <limits.h>

#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"

static const mlt_contents contents_named = {.combiner = MPI_COMBINER_NAMED};

static const mlt_contents *contents_of(const mlt_type *type)
{
    return type->code ? &contents_named : &mlt_dtype_of(type)->contents;
}

// The functions without _c have no place for large counts, nor for more than an int of anything.
static bool contents_is_large(const mlt_contents *c)
{
    return c->large || c->integer_count > INT_MAX;
}

static MLT_COLD int bad_large(mlt_rank *me)
{
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_TYPE,
                         "argument datatype was made by a function with large counts, and what it "
                         "was given may not fit into an int; call %s_c",
                         mlt_mpi_call(me));
}

int mlt_mpi_Type_get_envelope(mlt_rank *me, const mlt_type *datatype, int *num_integers,
                              int *num_addresses, int *num_datatypes, int *combiner)
{
    const mlt_contents *c = contents_of(datatype);
    if (contents_is_large(c))
        return bad_large(me);
    *num_integers = (int)c->integer_count;
    *num_addresses = (int)c->address_count;
    *num_datatypes = (int)c->type_count;
    *combiner = c->combiner;
    return MPI_SUCCESS;
}

int mlt_mpi_Type_get_envelope_c(mlt_rank *me, const mlt_type *datatype, MPI_Count *num_integers,
                                MPI_Count *num_addresses, MPI_Count *num_large_counts,
                                MPI_Count *num_datatypes, int *combiner)
{
    const mlt_contents *c = contents_of(datatype);
    *num_integers = c->integer_count;
    *num_addresses = c->address_count;
    *num_large_counts = c->large_count;
    *num_datatypes = c->type_count;
    *combiner = c->combiner;
    return MPI_SUCCESS;
}

static MLT_COLD int too_few(mlt_rank *me, const char *name, int64_t room, int64_t need)
{
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_ARG,
                         "argument %s is %lld, but should be at least %lld, as the datatype's "
                         "envelope says",
                         name, (long long)room, (long long)need);
}

static MLT_COLD int bad_named(mlt_rank *me, const mlt_type *type)
{
    return mlt_mpi_raise(me, NULL, me->fn, MPI_ERR_TYPE,
                         "argument datatype is %s, which is predefined and has no contents, but "
                         "should be a datatype whose combiner is not MPI_COMBINER_NAMED",
                         type->name);
}

// Derived types go out as handles that the user must free; one that was freed lives again.
MPI_Datatype mlt_dtype_give(const mlt_type *type)
{
    mlt_dtype *dtype = mlt_dtype_of(type);
    if (!type->code && !dtype->permanent && dtype->users++ == 0) {
        mlt_dtype_hold(type);
        dtype->type.magic = MLT_TYPE_MAGIC;
    }
    return mlt_dtype_handle(type);
}

int mlt_mpi_Type_get_contents(mlt_rank *me, const mlt_type *datatype, int max_integers,
                              int max_addresses, int max_datatypes, int array_of_integers[],
                              MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    if (contents_is_large(contents_of(datatype)))
        return bad_large(me);
    return mlt_mpi_Type_get_contents_c(me, datatype, max_integers, max_addresses, 0, max_datatypes,
                                       array_of_integers, array_of_addresses, NULL,
                                       array_of_datatypes);
}

int mlt_mpi_Type_get_contents_c(mlt_rank *me, const mlt_type *datatype, MPI_Count max_integers,
                                MPI_Count max_addresses, MPI_Count max_large_counts,
                                MPI_Count max_datatypes, int array_of_integers[],
                                MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                                MPI_Datatype array_of_datatypes[])
{
    const mlt_contents *c = contents_of(datatype);
    if (c->combiner == MPI_COMBINER_NAMED)
        return bad_named(me, datatype);
    if (max_integers < c->integer_count)
        return too_few(me, "max_integers", max_integers, c->integer_count);
    if (max_addresses < c->address_count)
        return too_few(me, "max_addresses", max_addresses, c->address_count);
    if (max_large_counts < c->large_count)
        return too_few(me, "max_large_counts", max_large_counts, c->large_count);
    if (max_datatypes < c->type_count)
        return too_few(me, "max_datatypes", max_datatypes, c->type_count);
    for (int64_t i = 0; i < c->integer_count; i++)
        array_of_integers[i] = (int)c->number[i];
    for (int64_t i = 0; i < c->address_count; i++)
        array_of_addresses[i] = (MPI_Aint)c->number[c->integer_count + i];
    for (int64_t i = 0; i < c->large_count; i++)
        array_of_large_counts[i] = c->number[c->integer_count + c->address_count + i];
    for (int64_t i = 0; i < c->type_count; i++)
        array_of_datatypes[i] = mlt_dtype_give(c->type[i]);
    return MPI_SUCCESS;
}
