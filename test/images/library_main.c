// SPDX-License-Identifier: BSD-3-Clause
// A program and its library, each with globals that the other uses.
#include <mpi.h>
#include <stdio.h>

extern int of_library;
int library_add(int x);
int *library_where(void);
int of_program;
int (*of_program_too)(int);
static int factor = 3;

static int multiply(int x)
{
    return x * factor;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    factor += rank;
    of_program_too = multiply;
    int first = library_add(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    int second = library_add(1);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d %d %d %d %d\n", rank, first, second, of_library,
           library_where() == &of_library, of_program);
    MPI_Finalize();
    return 0;
}
