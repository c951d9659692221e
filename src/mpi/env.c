// SPDX-License-Identifier: BSD-3-Clause
// Clocks, versions, names.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/trace.h"
#include "mpi_bodies.h"
#include "os/os.h"

double mlt_mpi_Wtime(void)
{
    return (double)mlt_os_now_ns() * 1e-9;
}

double mlt_mpi_Wtick(void)
{
    struct timespec tick;
    return clock_getres(CLOCK_MONOTONIC, &tick) == 0
               ? (double)tick.tv_sec + (double)tick.tv_nsec * 1e-9
               : 1e-9;
}

int mlt_mpi_Get_library_version(mlt_rank *me, char *version, int *resultlen)
{
    *resultlen =
        snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Millet %s, MPI %d.%d, ABI %d.%d",
                 MLT_VERSION, MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
    return MPI_SUCCESS;
}

int mlt_mpi_Get_processor_name(mlt_rank *me, char *name, int *resultlen)
{
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0)
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "localhost");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *resultlen = (int)strlen(name);
    return MPI_SUCCESS;
}

int mlt_mpi_Pcontrol(mlt_rank *me, const int level)
{
    // Other levels are for profiling libraries, which put their own function in its place.
    if (level == 0 || level == 1)
        mlt_mpi_trace_pause(me, level == 0);
    return MPI_SUCCESS;
}
