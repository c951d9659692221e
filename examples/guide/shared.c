// SPDX-License-Identifier: BSD-3-Clause
// Every rank counts itself, in a global variable.
#include <mpi.h>
#include <stdio.h>

static int counted;

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    counted++;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("rank 0 has counted %d\n", counted);
    MPI_Finalize();
    return 0;
}
