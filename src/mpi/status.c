// SPDX-License-Identifier: BSD-3-Clause
// What a user asks of a status.
#include "mpi/status.h"

#include "mpi/signature.h"
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

int mlt_mpi_Get_elements_x(mlt_rank *me, const MPI_Status *status, const mlt_type *type,
                           MPI_Count *count)
{
    return mlt_mpi_Get_elements(me, status, type, count);
}

int mlt_mpi_Status_get_source(mlt_rank *me, const MPI_Status *status, int *source)
{
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int mlt_mpi_Status_get_tag(mlt_rank *me, const MPI_Status *status, int *tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int mlt_mpi_Status_get_error(mlt_rank *me, const MPI_Status *status, int *err)
{
    *err = status->MPI_ERROR;
    return MPI_SUCCESS;
}
