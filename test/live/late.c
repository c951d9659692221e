// SPDX-License-Identifier: BSD-3-Clause
// Ten messages round a ring, then all wait for rank 1, which leaves MPI alone until a file is there:
// `late FILE recv` in MPI_Recv, `late FILE barrier` in MPI_Barrier.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 10 };

int main(int argc, char **argv)
{
    int rank, size, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 7, (rank + size - 1) % size, 7,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (rank == 1 && access(argv[1], F_OK) != 0)
        usleep(1000);
    for (int to = 0; rank == 1 && to < size; to++)
        if (to != rank && strcmp(argv[2], "recv") == 0)
            MPI_Send(&token, 1, MPI_INT, to, 8, MPI_COMM_WORLD);
    if (rank != 1 && strcmp(argv[2], "recv") == 0)
        MPI_Recv(&token, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
