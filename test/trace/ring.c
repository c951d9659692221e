// SPDX-License-Identifier: BSD-3-Clause
// A token goes round ROUNDS times; rank 1 is late each time. Then all meet, and rank 1 does what the word
// says.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 20, TAG = 7 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    long token = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_LONG, rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            usleep(5000);
        token++;
        MPI_Send(&token, 1, MPI_LONG, (rank + 1) % size, TAG, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_LONG, size - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "hang") == 0)
        MPI_Recv(&token, 1, MPI_LONG, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 1 && strcmp(argv[1], "die") == 0 && rank == 1) {
        sleep(1);
        raise(SIGKILL);
    }
    if (argc > 1 && strcmp(argv[1], "crash") == 0 && rank == 1)
        raise(SIGSEGV);
    if (argc > 1 && strcmp(argv[1], "stay") == 0 && rank == 1) {
        puts("here");
        fflush(stdout);
        for (;;)
            pause();
    }
    if (argc > 1 && strcmp(argv[1], "switch") == 0) {
        MPI_Pcontrol(1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(7);
    }
    if (argc > 3 &&
        strcmp(argv[1], "until") == 0) // a file of that name is there; microseconds a round
        for (token = 1; token;) {
            if (rank == 0) {
                usleep((unsigned)atoi(argv[3]));
                token = access(argv[2], F_OK) != 0;
                MPI_Send(&token, 1, MPI_LONG, 1, TAG, MPI_COMM_WORLD);
            }
            MPI_Recv(&token, 1, MPI_LONG, (rank + size - 1) % size, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            if (rank > 0)
                MPI_Send(&token, 1, MPI_LONG, (rank + 1) % size, TAG, MPI_COMM_WORLD);
        }
    MPI_Finalize();
    return 0;
}
