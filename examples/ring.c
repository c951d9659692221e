// SPDX-License-Identifier: BSD-3-Clause
// A token goes round a ring of all ranks; each rank adds its own number to it.
//
//     mpicc ring.c -o ring
//     mpirun -n 4 ./ring
//     mpirun -n 1 -nfg 100000 --report ./ring
//
// ./ring R goes round R times.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    long long token = 0;
    double start = MPI_Wtime();

    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            // A lone rank sends to itself, so the receive must not come first.
            MPI_Sendrecv_replace(&token, 1, MPI_LONG_LONG, right, 0, left, 0, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&token, 1, MPI_LONG_LONG, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            token += rank;
            MPI_Send(&token, 1, MPI_LONG_LONG, right, 0, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        long long expected = (long long)size * (size - 1) / 2 * rounds;
        double hops = (double)size * rounds;
        printf("%d ranks, %d times round: the token is %lld (%s), %.2f us a hop\n", size, rounds,
               token, token == expected ? "right" : "WRONG", (MPI_Wtime() - start) / hops * 1e6);
    }
    MPI_Finalize();
    return 0;
}
