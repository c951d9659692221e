// SPDX-License-Identifier: BSD-3-Clause
// Pi by many ranks: each adds up its share of the area under 4 / (1 + x^2), and all get the sum.
//
//     mpicc -O2 pi.c -o pi
//     mpirun -n 4 ./pi
//     mpirun -n 2 -nfg 50000 ./pi
//     mpirun --reproducible -n 4 ./pi      the same bits as with -n 2 -nfg 2
//
// ./pi S takes S strips in all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long strips = argc > 1 ? atoll(argv[1]) : 10000000;
    MPI_Bcast(&strips, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);

    double width = 1.0 / (double)strips, mine = 0, pi = 0;
    for (long long i = rank; i < strips; i += size) {
        double x = ((double)i + 0.5) * width;
        mine += 4 / (1 + x * x) * width;
    }
    enum { TIMES = 10 };
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < TIMES; i++)
        MPI_Allreduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double took = (MPI_Wtime() - start) / TIMES;
    if (rank == 0)
        printf("%d ranks: pi is %.12f; all of them agree after %.1f us\n", size, pi, took * 1e6);
    MPI_Finalize();
}
