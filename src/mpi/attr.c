// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators: for now the predefined ones, the same for every rank of a process.
#include <limits.h>
#include <stddef.h>

#include "boot/ctl.h"
#include "boot/job.h"
#include "mpi/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

static const int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 1;

int mlt_mpi_Comm_get_attr(mlt_rank *me, mlt_comm *comm, int comm_keyval, void *attribute_val,
                          int *flag)
{
    mlt_boot *boot = me->worker->boot;
    const void *value;
    switch (comm_keyval) {
    case MPI_TAG_UB:
        value = &tag_ub;
        break;
    case MPI_IO:
        value = &io;
        break;
    case MPI_HOST:
        value = &host;
        break;
    case MPI_WTIME_IS_GLOBAL:
        value = &wtime_is_global;
        break;
    case MPI_LASTUSEDCODE:
        value = mlt_error_last_used_code();
        break;
    case MPI_APPNUM:
        value = &mlt_job_proc_at(boot->job, boot->proc)->app;
        break;
    case MPI_UNIVERSE_SIZE:
        value = &boot->job->ranks;
        break;
    default:
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_KEYVAL, "comm_keyval", comm_keyval,
                             "an attribute key for communicators");
    }
    *(const void **)attribute_val = value;
    *flag = 1;
    return MPI_SUCCESS;
}
