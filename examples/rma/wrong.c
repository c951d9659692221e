// SPDX-License-Identifier: BSD-3-Clause
//
// What may go wrong: `wrong epoch`, `wrong range`, `wrong twice`, `wrong freed`, `wrong locks`.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "epoch";
    int rank, size, right, value = 7, *memory;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    MPI_Win_allocate(4 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    MPI_Win_set_name(win, "board");
    if (strcmp(what, "epoch") == 0 && rank == 0) // nobody has opened an epoch
        MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    if (strcmp(what, "range") == 0 && rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        MPI_Put(&value, 1, MPI_INT, right, 4, 1, MPI_INT, win); // behind the last
        MPI_Win_unlock(right, win);
    }
    if (strcmp(what, "twice") == 0 && rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    }
    if (strcmp(what, "freed") == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
        MPI_Win_free(&win);
    }
    if (strcmp(what, "locks") == 0) { // each holds its own and wants its neighbour's
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        MPI_Win_flush(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
        MPI_Win_flush(right, win);
        MPI_Win_unlock(right, win);
        MPI_Win_unlock(rank, win);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
