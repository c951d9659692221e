// SPDX-License-Identifier: BSD-3-Clause
// Aspen, Figures 9 and 11, with MPI: round trips, or elements one way as fast as they go.
//
//     pingpong latency|bandwidth BYTES...
//
// Prints `B_us T`, the time of a round trip, or `B_MBs R`, the bandwidth.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16 };

static double latency(char *data, int bytes, int rank)
{
    int times = bytes > 100000 ? 200 : 2000;
    double began = 0;
    for (int i = -20; i < times; i++) {
        if (i == 0)
            began = MPI_Wtime();
        if (rank == 0)
            MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - began) * 1e6 / times;
}

static double bandwidth(char *data, int bytes, int rank)
{
    int windows = (int)(40e6 / bytes / WINDOW) + 1;
    double began = 0;
    for (int i = -1; i < windows; i++) {
        MPI_Request requests[WINDOW];
        if (i == 0)
            began = MPI_Wtime();
        for (int k = 0; k < WINDOW; k++)
            if (rank == 0)
                MPI_Isend(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[k]);
            else
                MPI_Irecv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    return (double)bytes * WINDOW * windows / (MPI_Wtime() - began) / 1e6;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int a = 2; a < argc; a++) {
        int bytes = atoi(argv[a]), is_latency = strcmp(argv[1], "latency") == 0;
        char *data = calloc(1, (size_t)bytes);
        double value = is_latency ? latency(data, bytes, rank) : bandwidth(data, bytes, rank);
        if (rank == 0)
            printf("%d_%s %.4f\n", bytes, is_latency ? "us" : "MBs", value);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
