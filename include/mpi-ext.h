// SPDX-License-Identifier: BSD-3-Clause
// Whether buffers of MPI calls may be in the memory of a GPU: names that programs know from Open MPI,
// MVAPICH and MPICH. The functions, and MPIX_GPU_SUPPORT_*, are in mpi.h, too, as MPICH has them.
//
//     #include <mpi-ext.h>
//     #if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
//     if (MPIX_Query_cuda_support())
//         MPI_Send(device_pointer, ...);
//     #endif
//
// The macros say what the library was built to do: 1 is yes. The functions say what holds in this
// process. MPIX_Query_cuda_support() is 1 if the setting MILLET_GPU allows it and CUDA's driver
// (libcuda.so.1) is loaded or can be loaded; it may be called at any time, before MPI_Init, too, and
// starts no driver. It is 0 under MILLET_GPU=none, and where there is no driver, so no device memory
// either.
#ifndef MPI_EXT_H_MILLET
#define MPI_EXT_H_MILLET

#include <mpi.h>

#define MPIX_CUDA_AWARE_SUPPORT 1
#define MPIX_ROCM_AWARE_SUPPORT 0
#define MPIX_ZE_AWARE_SUPPORT   0

#endif
