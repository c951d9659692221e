// SPDX-License-Identifier: BSD-3-Clause
//
// MPIX_Yield lets other ranks of the worker run, in every kind of worker, and harms nothing.

#include <fgmpi.h>

#include "check.h"

#define WORLD MPI_COMM_WORLD

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size(), in = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request r[2];
    for (int i = 0; i < 1000; i++) {
        int out = rank * 10000 + i;
        for (int k = 0; k < (rank + i) % 4; k++)
            MPIX_Yield();
        CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, left, 1, WORLD, &r[0]));
        MPIX_Yield();
        CHECK_OK(MPI_Isend(&out, 1, MPI_INT, right, 1, WORLD, &r[1]));
        MPIX_Yield();
        CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        CHECK_INT(in, left * 10000 + i);
    }
    // A rank alone, and one with nothing to wait for, comes back.
    for (int i = 0; i < 1000; i++)
        MPIX_Yield();
    CHECK_OK(MPI_Finalize());
    return 0;
}
