// SPDX-License-Identifier: BSD-3-Clause
// Every step ends with a sum over all ranks, but the last rank has more to do: ./uneven TIMES
#include <mpi.h>
#include <stdlib.h>

static double work(long units, double x)
{
    for (long i = 0; i < units * 100000; i++)
        x = x * 0.999 + 0.001;
    return x;
}

int main(int argc, char **argv)
{
    int rank, size;
    long times = argc > 1 ? atol(argv[1]) : 3;
    double sum = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 50; step++) {
        double mine = work(rank == size - 1 ? times : 1, sum);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
