// SPDX-License-Identifier: BSD-3-Clause
// Sends a column of a matrix, and prints "right" if nothing but that has changed (faulty.c).
#include <mpi.h>
#include <stdio.h>

enum { N = 8 };

int main(int argc, char **argv)
{
    int from[N][N], to[N][N], right = 1, rank;
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(N, 1, N, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < N * N; i++) {
        from[i / N][i % N] = i;
        to[i / N][i % N] = -i;
    }
    for (int turn = 0; turn < 3; turn++) {
        if (rank == 0)
            MPI_Send(&from[0][2], 1, column, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&to[0][2], 1, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < N * N; i++)
        right &= from[i / N][i % N] == i && to[i / N][i % N] == (rank == 1 && i % N == 2 ? i : -i);
    printf("%s\n", right ? "right" : "wrong");
    MPI_Finalize();
    return 0;
}
