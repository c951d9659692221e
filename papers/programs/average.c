// SPDX-License-Identifier: BSD-3-Clause
// MPI as a C++ library, experiment I: each rank averages its part of a large array, and the root averages the averages.
//
//     average ELEMENTS TIMES
//
// Prints `seconds T` and `mean M`, which must be near a half.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "by_hand.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, times = argc > 2 ? atoi(argv[2]) : 1;
    long elements = argc > 1 ? atol(argv[1]) : 1l << 24;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long mine = elements / size;
    double *part = malloc((size_t)mine * sizeof *part), sum = 0, mean, all = 0;
    unsigned seed = (unsigned)rank + 1;
    for (long i = 0; i < mine; i++) {
        seed = seed * 1664525u + 1013904223u;
        part[i] = seed / 4294967296.;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int time = 0; time < times; time++)
        for (long i = 0; i < mine; i++)
            sum += part[i];
    mean = sum / (double)mine / times;
    all = tree_sum(mean, rank, size);
    if (rank == 0) {
        printf("seconds %.6f\nmean %.6f\n", MPI_Wtime() - began, all / size);
        if (all / size < 0.49 || all / size > 0.51)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(part);
    MPI_Finalize();
    return 0;
}
