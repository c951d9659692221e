// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 has the lock of rank 1's window for as many milliseconds as asked for, and rank 2 wants it meanwhile.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, *memory, word = 0;
    MPI_Win window;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Send(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        usleep((useconds_t)atoi(argv[1]) * 1000);
        MPI_Win_unlock(1, window);
    } else if (rank == 2) {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Win_unlock(1, window);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
