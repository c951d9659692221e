// SPDX-License-Identifier: BSD-3-Clause
// A token passes all ranks, ROUNDS times forwards or backwards. Prints `hop T us`.
//
//     mpirun -n 1 -nfg 1000 ring forward|reverse ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, token = 0, rounds = argc > 2 ? atoi(argv[2]) : 1;
    int step = argc > 1 && strcmp(argv[1], "reverse") == 0 ? -1 : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + step + size) % size, from = (rank - step + size) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            token++;
            MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token++;
            MPI_Send(&token, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        printf("hop %.4f us\n", (MPI_Wtime() - began) * 1e6 / rounds / size);
        if (token != rounds * size) {
            fprintf(stderr, "ring: the token is %d, not %d\n", token, rounds * size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Finalize();
    return 0;
}
