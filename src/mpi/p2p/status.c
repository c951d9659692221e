// SPDX-License-Identifier: BSD-3-Clause
// What a user asks of a status, and what a user writes into one.
#include "mpi/p2p/status.h"

#include "mpi/coll/signature.h"
#include "mpi/error/error.h"
#include "mpi/type/dtype.h"
#include "mpi_bodies.h"

int mlt_mpi_Get_count(mlt_rank *me, const MPI_Status *status, const mlt_type *type,
                      MPI_Count *count)
{
    uint64_t bytes = mlt_status_bytes(status);
    if (bytes == 0)
        *count = 0; // of any type, those without bytes included
    else if (type->size == 0 || bytes % type->size != 0)
        *count = MPI_UNDEFINED;
    else
        *count = (MPI_Count)(bytes / type->size);
    return MPI_SUCCESS;
}

int mlt_mpi_Get_elements(mlt_rank *me, const MPI_Status *status, const mlt_type *type,
                         MPI_Count *count)
{
    int64_t elements = mlt_signature_count(type, mlt_status_bytes(status));
    *count = elements < 0 ? MPI_UNDEFINED : elements;
    return MPI_SUCCESS;
}

// ---- writing

// Bytes of the first `count` basic elements of an array of that type; false if it has none, or if
// the bytes do not fit into 63 bits.
static bool bytes_of_basics(const mlt_type *type, uint64_t count, uint64_t *bytes)
{
    uint64_t each = mlt_type_basics(type);
    *bytes = 0;
    if (count == 0)
        return true;
    if (each == 0 || __builtin_mul_overflow(count / each, (int64_t)type->size, &(int64_t){0}))
        return false;
    *bytes = mlt_signature_bytes(type, count); // the rest is less than an element
    return *bytes <= INT64_MAX;
}

int mlt_mpi_Status_set_elements(mlt_rank *me, MPI_Status *status, const mlt_type *type,
                                MPI_Count count)
{
    uint64_t bytes;
    if (!bytes_of_basics(type, (uint64_t)count, &bytes))
        return mlt_bad_value(me, NULL, me->fn, MPI_ERR_COUNT, "count", count,
                             type->size ? "so small that the bytes of all elements fit into 63 bits"
                                        : "0, as the datatype has no elements");
    mlt_status_set_bytes(status, bytes);
    return MPI_SUCCESS;
}
