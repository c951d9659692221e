// SPDX-License-Identifier: BSD-3-Clause
// What the MPI programs of this folder share: memory of every kind, and checks of what it holds.
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

#define CHECK(x)                                                                                   \
    ((x) ? (void)0                                                                                 \
         : (void)(printf("%s:%d: rank %d: %s\n", __FILE__, __LINE__, me, #x),                      \
                  MPI_Abort(MPI_COMM_WORLD, 1)))
#define FINE(call) CHECK((call) == CU_OK)

enum { GAP = 0x5a };
typedef enum kind { HOST, ON_DEVICE, MANAGED, PINNED, KINDS } kind;

// What each rank has for itself.
#ifndef OWN
#define OWN
#endif

static OWN int me, ranks;

static inline void begin_device(void)
{
    cu_context context;
    int devices;
    FINE(cuInit(0));
    FINE(cuDeviceGetCount(&devices));
    FINE(cuDevicePrimaryCtxRetain(&context, me % devices));
    FINE(cuCtxSetCurrent(context));
}

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    begin_device();
    MPI_Barrier(MPI_COMM_WORLD); // from here on all ranks look for calls that they share
}

static inline void *get_memory(kind kind, size_t bytes)
{
    cu_ptr at = 0;
    void *pinned = NULL;
    bytes += !bytes;
    if (kind == HOST)
        return malloc(bytes);
    if (kind == PINNED) {
        FINE(cuMemHostAlloc(&pinned, bytes, CU_HOST_PORTABLE));
        return pinned;
    }
    FINE(kind == ON_DEVICE ? cuMemAlloc_v2(&at, bytes) : cuMemAllocManaged(&at, bytes, 1));
    return (void *)(uintptr_t)at;
}

static inline void drop_memory(kind kind, void *at)
{
    if (kind == HOST)
        free(at);
    else if (kind == PINNED)
        FINE(cuMemFreeHost(at));
    else
        FINE(cuMemFree_v2((uintptr_t)at));
}

static inline void write_memory(kind kind, void *to, const void *from, size_t bytes)
{
    if (kind != ON_DEVICE)
        memcpy(to, from, bytes);
    else if (bytes)
        FINE(cuMemcpyHtoD_v2((uintptr_t)to, from, bytes));
}

static inline void read_memory(kind kind, void *to, const void *from, size_t bytes)
{
    if (kind != ON_DEVICE)
        memcpy(to, from, bytes);
    else if (bytes)
        FINE(cuMemcpyDtoH_v2(to, (uintptr_t)from, bytes));
}

// The same numbers for the same state.
static inline uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}
