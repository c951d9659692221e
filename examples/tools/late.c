// SPDX-License-Identifier: BSD-3-Clause
// A ring in which everybody waits for rank 3:
//
//     mpicc late.c -o late
//     mpirun --trace late.mlt -n 6 ./late
//     millet trace late.mlt
#include <mpi.h>
#include <unistd.h>

enum { STEPS = 50, LATE = 3, LATE_US = 5000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    double mine = 1, left;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < STEPS; step++) {
        if (rank == LATE)
            usleep(LATE_US); // stands for computing
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &left, 1, MPI_DOUBLE,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
