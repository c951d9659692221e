// SPDX-License-Identifier: BSD-3-Clause
// How many copies a message takes: rank 0 sends BYTES to rank 1 and copies as many itself. Prints `send T us` and `copy T us`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    enum { TIMES = 41 };
    MPI_Init(&argc, &argv);
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 4 << 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *from = malloc((size_t)bytes), *to = malloc((size_t)bytes);
    double send[TIMES], copy[TIMES];
    memset(from, 1, (size_t)bytes);
    memset(to, 2, (size_t)bytes);
    for (int i = 0; i < TIMES; i++) {
        from[i] = (char)i;
        MPI_Barrier(MPI_COMM_WORLD);
        double began = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(from, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(to, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            if (to[i] != (char)i)
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        send[i] = MPI_Wtime() - began;
        MPI_Barrier(MPI_COMM_WORLD);
        began = MPI_Wtime();
        if (rank == 0)
            memcpy(to, from, (size_t)bytes);
        copy[i] = MPI_Wtime() - began;
    }
    if (rank == 0) {
        qsort(send, TIMES, sizeof *send, by_value);
        qsort(copy, TIMES, sizeof *copy, by_value);
        printf("send %.3f us\ncopy %.3f us\n", send[TIMES / 2] * 1e6, copy[TIMES / 2] * 1e6);
    }
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
