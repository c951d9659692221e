// SPDX-License-Identifier: BSD-3-Clause
// What programs of ranks need that test calls of MPI on device memory: memory, and checks.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

static int failed;

#define CHECK(x)   ((x) ? (void)0 : (void)(failed++, printf("%s:%d: %s\n", __FILE__, __LINE__, #x)))
#define FINE(call) CHECK((call) == CU_OK)

// The rank's thread has a context from now on.
static inline void device_begin(void)
{
    cu_context context;
    FINE(cuInit(0));
    FINE(cuDevicePrimaryCtxRetain(&context, 0));
    FINE(cuCtxSetCurrent(context));
}

static inline void *device_new(size_t bytes)
{
    cu_ptr at = 0;
    FINE(cuMemAlloc_v2(&at, bytes));
    return (void *)(uintptr_t)at;
}

static inline void device_free(void *at)
{
    FINE(cuMemFree_v2((uintptr_t)at));
}

// Either side may be the host's.
static inline void device_copy(void *to, const void *from, size_t bytes)
{
    FINE(cuMemcpy((uintptr_t)to, (uintptr_t)from, bytes));
}

// Memory that the test chooses: a device's, or the host's.
static inline void *any_new(bool device, size_t bytes)
{
    return device ? device_new(bytes) : malloc(bytes);
}

static inline void any_free(bool device, void *at)
{
    device ? device_free(at) : free(at);
}

// A device's with what `from` has; or the host's.
static inline void *any_copy(bool device, const void *from, size_t bytes)
{
    void *at = any_new(device, bytes);
    device_copy(at, from, bytes);
    return at;
}

// All ranks have passed: rank 0 prints "right".
static inline int device_end(void)
{
    int rank, all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0)
        printf("right\n");
    MPI_Finalize();
    return all != 0;
}
