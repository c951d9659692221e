// SPDX-License-Identifier: BSD-3-Clause
// What every build system's test builds: each rank tells rank 0 its number, and rank 0 prints the
// sum.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else {
        int sum = 0;
        for (int i = 1; i < size; i++) {
            int number;
            MPI_Recv(&number, 1, MPI_INT, i, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += number;
        }
        printf("sum %d of %d ranks\n", sum, size);
    }
    MPI_Finalize();
    return 0;
}
