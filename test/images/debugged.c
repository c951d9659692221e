// SPDX-License-Identifier: BSD-3-Clause
// For a debugger: rank 2 stops in here() while the others wait, each with its own counter.
#include <dlfcn.h>
#include <mpi.h>

int counter = 100;
static int hidden = 1000;
int step(int x); // of its library

__attribute__((noinline)) void here(int rank)
{
    hidden += rank;
    counter += rank; // line 13
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counter += step(rank);
    int (*late)(int) = 0;
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
    if (handle)
        late = (int (*)(int))dlsym(handle, "late");
    if (rank == 2) {
        here(rank);
        if (late)
            late(rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
