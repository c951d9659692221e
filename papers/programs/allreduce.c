// SPDX-License-Identifier: BSD-3-Clause
// Aspen, Figure 10, with MPI: all-reduces of sizes in bytes. Prints `B_us T`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int a = 1; a < argc; a++) {
        int bytes = atoi(argv[a]), values = bytes / (int)sizeof(double), times = bytes > 10000 ? 200 : 2000;
        double *mine = calloc((size_t)values, sizeof *mine), *sum = calloc((size_t)values, sizeof *sum), began = 0;
        for (int i = 0; i < values; i++)
            mine[i] = i + 1;
        for (int i = -20; i < times; i++) {
            if (i == 0)
                began = MPI_Wtime();
            MPI_Allreduce(mine, sum, values, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            if (sum[values - 1] != (double)values * size)
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (rank == 0)
            printf("%d_us %.4f\n", bytes, (MPI_Wtime() - began) * 1e6 / times);
        free(mine);
        free(sum);
    }
    MPI_Finalize();
    return 0;
}
