// SPDX-License-Identifier: BSD-3-Clause
// Variables that want more than a page's alignment.
#include <mpi.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>

static alignas(65536) char large[65536];
static alignas(16384) int small = 3;
static _Thread_local alignas(4096) int threaded = 5;

// The compiler must not know.
static int past(void *address, uintptr_t align)
{
    void *volatile at = address;
    return (int)((uintptr_t)at % align);
}

int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    large[1]++;
    small += me;
    threaded += me;
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d %d %d, at %d %d %d\n", me, large[1], small, threaded, past(large, 65536),
           past(&small, 16384), past(&threaded, 4096));
    MPI_Finalize();
    return 0;
}
