// SPDX-License-Identifier: BSD-3-Clause
//
// Whether buffers may be in device memory, as programs of MPICH and Open MPI ask: before MPI_Init, in
// between and after MPI_Finalize, with one answer on all ranks. An argument is the answer for CUDA; what
// it is on a machine decides test/gpu/tell.

#include <mpi-ext.h>

#include "check.h"

#if !defined(MPIX_CUDA_AWARE_SUPPORT) || !MPIX_CUDA_AWARE_SUPPORT
#error "mpi-ext.h does not say that the library knows CUDA"
#endif
#if MPIX_ROCM_AWARE_SUPPORT || MPIX_ZE_AWARE_SUPPORT
#error "mpi-ext.h says what is not so"
#endif
#ifndef MPIX_GPU_SUPPORT_CUDA
#error "mpi.h does not have MPICH's name"
#endif

static void check_answers(int cuda)
{
    const struct {
        int type, by_name, want;
    } of[] = {
        {MPIX_GPU_SUPPORT_CUDA, MPIX_Query_cuda_support(), cuda},
        {MPIX_GPU_SUPPORT_ZE, MPIX_Query_ze_support(), 0},
        {MPIX_GPU_SUPPORT_HIP, MPIX_Query_hip_support(), 0},
        {MPIX_GPU_SUPPORT_HIP, MPIX_Query_rocm_support(), 0},
    };
    for (int i = 0; i < COUNT_OF(of); i++) {
        int supported = -1;
        CHECK_OK(MPIX_GPU_query_support(of[i].type, &supported));
        CHECK_INT(supported, of[i].want);
        CHECK_INT(of[i].by_name, of[i].want);
    }
}

static void check_refused(void)
{
    int supported = -1;
    errors_return();
    CHECK_ERROR(MPIX_GPU_query_support(-1, &supported), MPI_ERR_ARG, "MPIX_GPU_query_support",
                "-1");
    CHECK_ERROR(MPIX_GPU_query_support(3, &supported), MPI_ERR_ARG, "MPIX_GPU_query_support", "3");
    CHECK_ERROR(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, NULL), MPI_ERR_ARG,
                "MPIX_GPU_query_support", "is_supported");
    CHECK_INT(supported, -1);
}

int main(int argc, char **argv)
{
    int cuda = argc > 1 ? atoi(argv[1]) : MPIX_Query_cuda_support(), mine, same[2];
    CHECK(cuda == 0 || cuda == 1);
    check_answers(cuda);
    CHECK_OK(MPI_Init(&argc, &argv));
    check_answers(cuda);
    mine = MPIX_Query_cuda_support();
    CHECK_OK(MPI_Allreduce(&mine, &same[0], 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK_OK(MPI_Allreduce(&mine, &same[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_INT(same[0], same[1]);
    check_refused();
    CHECK_OK(MPI_Finalize());
    check_answers(cuda);
    return 0;
}
