// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/dyn/parent.h"

#include <string.h>

#include "host/own.h"
#include "mpi/comm/port.h"
#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "p2p/worker.h"

int mlt_dyn_connect_parent(mlt_rank *me, uint16_t fn)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    mlt_port_result result;
    me->fn = fn;
    mlt_port_meet(me, &mpi->world, 0, false, me->worker->boot->parent, NULL, &result);
    me->fn = fn; // what ran meanwhile may have called, too
    if (result.error != MPI_SUCCESS)
        return mlt_mpi_raise(me, &mpi->world, fn, result.error,
                             "this job was spawned, but the one that did it is not there: %s",
                             result.why);
    mlt_own_of(me)->parent = result.comm;
    mlt_comm_extra *extra = mlt_comm_extra_of(result.comm);
    if (!extra->name)
        extra->name = strdup("MPI_COMM_PARENT");
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_parent(mlt_rank *me, MPI_Comm *parent)
{
    const mlt_rank_own *own = me->own;
    mlt_comm *comm = own ? own->parent : NULL;
    *parent = comm ? mlt_comm_handle(me, comm) : MPI_COMM_NULL;
    return MPI_SUCCESS;
}
