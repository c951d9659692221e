// SPDX-License-Identifier: BSD-3-Clause
// Clocks, versions, names.
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/settings.h"
#include "gpu/support.h"
#include "host/entry.h"
#include "mpi/error/error.h"
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

// ---- whether buffers may be in device memory

// Before the process joins its job nobody has read the settings. A bad value is MPI_Init's to refuse.
static bool cuda_is_supported(void)
{
    char why[256];
    const mlt_settings_table *table = &mlt_gpu_settings_table;
    return (mlt_entry_joined() || mlt_settings_read_own(table, why, sizeof why) == MLT_OK) &&
           mlt_gpu_is_supported();
}

int mlt_mpi_Query_cuda_support(void)
{
    return cuda_is_supported();
}

// No other maker's driver is called.
int mlt_mpi_Query_hip_support(void)
{
    return 0;
}

int mlt_mpi_Query_rocm_support(void)
{
    return 0;
}

int mlt_mpi_Query_ze_support(void)
{
    return 0;
}

int mlt_mpi_GPU_query_support(mlt_rank *me, int gpu_type, int *is_supported)
{
    if (gpu_type != MPIX_GPU_SUPPORT_CUDA && gpu_type != MPIX_GPU_SUPPORT_ZE &&
        gpu_type != MPIX_GPU_SUPPORT_HIP)
        return mlt_mpi_raise(me, NULL, MLT_FN_MPIX_GPU_query_support, MPI_ERR_ARG,
                             "argument gpu_type is %d, but should be MPIX_GPU_SUPPORT_CUDA (%d), "
                             "MPIX_GPU_SUPPORT_ZE (%d) or MPIX_GPU_SUPPORT_HIP (%d)",
                             gpu_type, MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_ZE,
                             MPIX_GPU_SUPPORT_HIP);
    *is_supported = gpu_type == MPIX_GPU_SUPPORT_CUDA && cuda_is_supported();
    return MPI_SUCCESS;
}
