// SPDX-License-Identifier: BSD-3-Clause
// Every rank swaps numbers with its neighbour. This is wrong: all ranks send first.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int partner = rank ^ 1;
    double *mine = calloc((size_t)count, sizeof *mine);
    double *theirs = calloc((size_t)count, sizeof *theirs);
    MPI_Send(mine, count, MPI_DOUBLE, partner, 7, MPI_COMM_WORLD);
    MPI_Recv(theirs, count, MPI_DOUBLE, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(mine);
    free(theirs);
    MPI_Finalize();
    return 0;
}
