// SPDX-License-Identifier: BSD-3-Clause
// A rank loads a plug-in of which it cannot have its own, and goes on with another one.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int of_program;

int program_add(int x)
{
    return of_program += x;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW);
        const char *error = handle ? NULL : dlerror();
        printf("rank %d: %d %s\n", rank, i, handle ? "loaded" : error ? error : "no reason");
        printf("rank %d: %d more %s\n", rank, i, dlerror() ? "errors" : "none");
    }
    MPI_Finalize();
    return 0;
}
