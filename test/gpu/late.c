// SPDX-License-Identifier: BSD-3-Clause
// A program that loads the driver after MPI_Init.
//
// late LIBRARY: which brings the driver along
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#include "cuda_abi.h"

#define USE(name, symbol)                                                                          \
    __typeof__(name) *name##_now;                                                                  \
    *(void **)&name##_now = dlsym(driver, symbol);                                                 \
    if (!name##_now)                                                                               \
    return 2

int main(int argc, char **argv)
{
    int me, ranks, data[50], sum[50];
    cu_context context;
    cu_ptr at;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&me, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); // nobody knows of it yet
    void *driver = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!driver || !dlopen("libm.so.6", RTLD_NOW)) // any library, after it
        return 3;
    USE(cuInit, "cuInit");
    USE(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    USE(cuCtxSetCurrent, "cuCtxSetCurrent");
    USE(cuMemAlloc_v2, "cuMemAlloc_v2");
    USE(cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2");
    if (cuInit_now(0) || cuDevicePrimaryCtxRetain_now(&context, 0) ||
        cuCtxSetCurrent_now(context) || cuMemAlloc_v2_now(&at, sizeof data))
        return 4;
    for (int i = 0; i < 50; i++)
        data[i] = me * i;
    cuMemcpyHtoD_v2_now(at, data, sizeof data);
    MPI_Sendrecv((void *)(uintptr_t)at, 50, MPI_INT, (me + 1) % ranks, 0, sum, 50, MPI_INT,
                 (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 50; i++)
        if (sum[i] != (me + ranks - 1) % ranks * i)
            return 5;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        printf("right\n");
    MPI_Finalize();
    return 0;
}
