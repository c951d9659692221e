// SPDX-License-Identifier: BSD-3-Clause
// The last rank of `processes driverless`, in a process that has no driver.
#include <mpi.h>
#include <stdio.h>

enum { N = 600 };

int main(int argc, char **argv)
{
    int me, ranks, data[N];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < N; k++)
            data[k] = me + k;
        MPI_Allreduce(MPI_IN_PLACE, data, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        int right = 1;
        for (int k = 0; k < N; k++)
            right = right && data[k] == ranks * (ranks - 1) / 2 + k * ranks;
        for (int k = 0; k < N; k++)
            data[k] = i + k;
        MPI_Bcast(data, N, MPI_INT, i % ranks, MPI_COMM_WORLD);
        for (int k = 0; k < N; k++)
            right = right && data[k] == i + k;
        if (!right) {
            printf("rank %d: wrong in round %d\n", me, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
