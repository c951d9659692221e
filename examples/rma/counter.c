// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks take numbers from a counter in rank 0's memory until all work is given away. Rank 0 does not
// hand anything out: it works as the others do.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

enum { PIECES = 1000 };

int main(int argc, char **argv)
{
    int rank, done = 0, all;
    int64_t *counter, one = 1, mine;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(rank == 0 ? sizeof *counter : 0, sizeof *counter, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &counter, &win);
    if (rank == 0)
        *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, win);
    for (;;) {
        MPI_Fetch_and_op(&one, &mine, MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win); // now `mine` is there
        if (mine >= PIECES)
            break;
        done++; // piece number `mine` is this rank's
    }
    MPI_Win_unlock_all(win);

    MPI_Reduce(&done, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d pieces were done, each of them once\n", all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
