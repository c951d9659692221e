// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 reads a number and tells it to all.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && scanf("%d", &number) != 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("the number is %d\n", number);
    MPI_Finalize();
    return 0;
}
