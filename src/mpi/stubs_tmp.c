// SPDX-License-Identifier: BSD-3-Clause
// Until attributes and topologies are here.
#include <mpi.h>

#include "mpi/attr.h"
#include "mpi/topo.h"

#define WEAK __attribute__((weak))

WEAK void mlt_topo_drop(mlt_topo *topo)
{
}

WEAK bool mlt_topo_equal(const mlt_topo *a, const mlt_topo *b)
{
    return a == b;
}

WEAK int mlt_attrs_copy(mlt_rank *me, mlt_attr_kind kind, void *from, const mlt_attrs *old,
                        mlt_attrs *new)
{
    return MPI_SUCCESS;
}

WEAK int mlt_attrs_delete_all(mlt_rank *me, mlt_attr_kind kind, void *object, mlt_attrs *attrs)
{
    return MPI_SUCCESS;
}
