// SPDX-License-Identifier: BSD-3-Clause
// Work that is spread unevenly: the last two ranks have ten times as much as the others.
//
//     mpicc spread.c -o spread
//     mpirun --trace spread.mlt -n 8 ./spread
//     millet view spread.mlt
#include <mpi.h>
#include <unistd.h>

enum { STEPS = 20, WORK_US = 2000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    double mine = 1, sum;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < STEPS; step++) {
        usleep(rank < size - 2 ? WORK_US : 10 * WORK_US); // stands for computing
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
