// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of a datatype, and arithmetic on addresses.
#include "type/type.h"

#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

int mlt_mpi_Type_size(mlt_rank *me, const mlt_type *type, MPI_Count *size)
{
    *size = (MPI_Count)type->size;
    return MPI_SUCCESS;
}

int mlt_mpi_Type_get_extent(mlt_rank *me, const mlt_type *type, MPI_Count *lb, MPI_Count *extent)
{
    *lb = type->lb;
    *extent = type->extent;
    return MPI_SUCCESS;
}

int mlt_mpi_Type_get_true_extent(mlt_rank *me, const mlt_type *type, MPI_Count *true_lb,
                                 MPI_Count *true_extent)
{
    *true_lb = type->true_lb;
    *true_extent = type->true_extent;
    return MPI_SUCCESS;
}

int mlt_mpi_Get_address(mlt_rank *me, const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)(intptr_t)location;
    return MPI_SUCCESS;
}

MPI_Aint mlt_mpi_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint mlt_mpi_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
