// SPDX-License-Identifier: BSD-3-Clause
//
// Every rank writes its number into the memory of its right neighbour.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, *inbox;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *inbox, sizeof *inbox, MPI_INFO_NULL, MPI_COMM_WORLD, &inbox, &win);

    MPI_Win_fence(0, win); // from here on others may write
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win); // all puts of all ranks are done

    printf("rank %d got %d\n", rank, *inbox);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
