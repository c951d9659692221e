// SPDX-License-Identifier: BSD-3-Clause
// Wrong on purpose: every rank first receives from its left neighbour, so nobody ever sends.
// Millet proves that no rank can go on, says who waits for whom, and ends the job.
//
//     mpicc deadlock.c -o deadlock
//     mpirun -n 3 ./deadlock
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Recv(&token, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
