// SPDX-License-Identifier: BSD-3-Clause
// A library that does one thing wrong to buffers in device memory, put between the layer (layer.c) and MPI: the layer,
// or the program, must notice.
//
// FAULT   reads:  MPI_Send writes to its buffer
//         beside: MPI_Recv writes behind its buffer
//         late:   MPI_Barrier writes to the buffer of the last MPI_Recv
//         gap:    MPI_Recv writes between the elements of its buffer
//         lost:   MPI_Recv receives elsewhere
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

static const void *last;

static bool is(const char *fault)
{
    const char *text = getenv("FAULT");
    return text && strcmp(text, fault) == 0;
}

static void spoil(const void *device, size_t at)
{
    *(char *)stand_in_memory((uintptr_t)device + at) ^= 1;
}

int PMPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Send");
    int code = next(buf, count, type, dest, tag, comm);
    if (is("reads"))
        spoil(buf, 0);
    return code;
}

int PMPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Status *status)
{
    enum { MOST = 4096 };
    char elsewhere[MOST];
    MPI_Aint lb, bytes;
    int (*next)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Recv");
    int code = next(is("lost") ? elsewhere : buf, count, type, source, tag, comm, status);
    PMPI_Type_get_true_extent(type, &lb, &bytes);
    if (is("beside"))
        spoil(buf, (size_t)bytes);
    if (is("gap"))
        spoil(buf, sizeof(int));
    last = buf;
    return code;
}

int PMPI_Barrier(MPI_Comm comm)
{
    int (*next)(MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Barrier");
    if (is("late") && last)
        spoil(last, 0);
    return next(comm);
}
