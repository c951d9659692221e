// SPDX-License-Identifier: BSD-3-Clause
// Calls MPI, each rank another number of times.
#include <mpi.h>

static int calls;

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (calls = 0; calls < 3; calls++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank && i < rank; i++)
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int i = 0; !rank && i < ranks * (ranks - 1) / 2; i++)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return calls != 3;
}
