// SPDX-License-Identifier: BSD-3-Clause
// Rank 2 writes where it must not.
#include <mpi.h>

static void store(int *where)
{
    *where = 42;
}

int main(int argc, char **argv)
{
    int rank, good;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    store(rank == 2 ? (int *)16 : &good);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
