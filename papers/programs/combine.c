// SPDX-License-Identifier: BSD-3-Clause
// PATHS, Figure 2: all-reduces of many ranks on each of some hosts. Prints `allreduce T us`.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, times = argc > 1 ? atoi(argv[1]) : 200;
    double mine, sum = 0, began = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = -10; i < times; i++) {
        if (i == 0)
            began = MPI_Wtime();
        mine = rank + 1;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (sum != size * (size + 1) / 2.0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("allreduce %.4f us\n", (MPI_Wtime() - began) * 1e6 / times);
    MPI_Finalize();
    return 0;
}
