// SPDX-License-Identifier: BSD-3-Clause
// Rank 2 crashes: in a function of the program, or, with an argument, in a library that it loads.
#include <dlfcn.h>
#include <mpi.h>

static int *nowhere;

__attribute__((noinline)) static void of_program(int depth)
{
    if (depth)
        of_program(depth - 1);
    *nowhere = depth;
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    void (*of_library)(void (*)(int)) =
        handle ? (void (*)(void (*)(int)))dlsym(handle, "of_library") : 0;
    if (rank == 2 && of_library)
        of_library(of_program);
    if (rank == 2)
        of_program(1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
