// SPDX-License-Identifier: BSD-3-Clause
// Stands in for attributes until attr.c has them: no object has any.
#include "mpi/attr.h"

int mlt_attrs_copy(mlt_rank *me, mlt_attr_kind kind, void *from, const mlt_attrs *old,
                   mlt_attrs *new)
{
    (void)me, (void)kind, (void)from, (void)old, (void)new;
    return MPI_SUCCESS;
}

int mlt_attrs_delete_all(mlt_rank *me, mlt_attr_kind kind, void *object, mlt_attrs *attrs)
{
    (void)me, (void)kind, (void)object, (void)attrs;
    return MPI_SUCCESS;
}
