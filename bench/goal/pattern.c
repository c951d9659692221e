// SPDX-License-Identifier: BSD-3-Clause
// Three patterns of communication, for bench/goal/predict: prints the time of a round in us.
//
//     pattern ring|stencil|alltoall ROUNDS BYTES
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double work(double *a, int n)
{
    double s = 0;
    for (int i = 1; i < n - 1; i++)
        s += a[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1]);
    return s;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, n, rounds = atoi(argv[2]), bytes = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int left = (rank + n - 1) % n, right = (rank + 1) % n;
    char *out = calloc(1, (size_t)bytes * n), *in = calloc(1, (size_t)bytes * n);
    double *a = calloc(4096, 8), s = 0;
    for (int i = -1; i < 1; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double t = MPI_Wtime();
        for (int k = 0; k < (i < 0 ? 1 : rounds); k++) {
            if (!strcmp(argv[1], "ring")) {
                if (rank == 0)
                    MPI_Send(out, bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rank)
                    MPI_Send(out, bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD);
            } else if (!strcmp(argv[1], "stencil")) {
                MPI_Request r[4];
                MPI_Irecv(in, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD, &r[0]);
                MPI_Irecv(in + bytes, bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &r[1]);
                MPI_Isend(out, bytes, MPI_BYTE, right, 1, MPI_COMM_WORLD, &r[2]);
                MPI_Isend(out + bytes, bytes, MPI_BYTE, left, 2, MPI_COMM_WORLD, &r[3]);
                MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
                s += work(a, 4096);
            } else {
                MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
                s += work(a, 4096);
            }
        }
        if (i == 0 && rank == 0)
            printf("%.3f\n", (MPI_Wtime() - t) * 1e6 / rounds);
    }
    if (s == 42)
        printf("\n");
    MPI_Finalize();
    return 0;
}
