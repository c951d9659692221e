// SPDX-License-Identifier: BSD-3-Clause
// Ranks that work one after the other, as each needs what its neighbour made:
//
//     mpicc chain.c -o chain
//     mpirun --trace chain.mlt -n 6 ./chain
//     millet view chain.mlt
#include <mpi.h>
#include <unistd.h>

enum { STEPS = 40, WORK_US = 2000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    double x = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < STEPS; step++) {
        if (rank > 0 || step > 0)
            MPI_Recv(&x, 1, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        usleep(WORK_US); // stands for computing
        if (rank < size - 1 || step < STEPS - 1)
            MPI_Send(&x, 1, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
