// SPDX-License-Identifier: BSD-3-Clause
// Each way to wait for another rank, with a rank that is late on purpose.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { TIMES = 4, LATE_US = 50000, LARGE = 4 << 20 };

static int me;

static void late(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == rank)
        usleep(LATE_US);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    double x = 1, y;
    char *large = calloc(LARGE, 1);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < TIMES; i++) {
        late(1);
        MPI_Barrier(MPI_COMM_WORLD);
        late(0);
        MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        late(2);
        MPI_Reduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        late(3);
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        late(1);
        if (me == 0)
            MPI_Send(large, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        if (me == 1)
            MPI_Recv(large, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(large);
    MPI_Finalize();
    return 0;
}
