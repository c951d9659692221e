// SPDX-License-Identifier: BSD-3-Clause
//
// One table for all ranks of a host: each fills its part and then reads everybody's, without a call
// of MPI for the data.
#include <mpi.h>
#include <stdio.h>

enum { EACH = 1000 };

int main(int argc, char **argv)
{
    MPI_Comm host;
    MPI_Win win;
    MPI_Aint bytes;
    int rank, size, unit;
    double *mine, *table, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_size(host, &size);
    MPI_Win_allocate_shared(EACH * sizeof *mine, sizeof *mine, MPI_INFO_NULL, host, &mine, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &table); // rank 0's part, where the table begins

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < EACH; i++)
        mine[i] = rank * EACH + i;
    MPI_Win_sync(win); // my stores before the barrier, others' loads behind it
    MPI_Barrier(host);
    MPI_Win_sync(win);
    for (int i = 0; i < size * EACH; i++)
        sum += table[i];
    MPI_Win_unlock_all(win);

    printf("rank %d sees a sum of %.0f\n", rank, sum);
    MPI_Win_free(&win);
    MPI_Comm_free(&host);
    MPI_Finalize();
    return 0;
}
