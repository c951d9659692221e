// SPDX-License-Identifier: BSD-3-Clause
// Everybody asks rank 0, which answers one after the other:
//
//     mpicc hot.c -o hot
//     mpirun --trace hot.mlt -n 6 ./hot
//     millet view hot.mlt
#include <mpi.h>
#include <unistd.h>

enum { QUESTIONS = 40, ANSWER_US = 500 };

static void answer(int all)
{
    double x;
    MPI_Status status;
    for (int i = 0; i < all; i++) {
        MPI_Recv(&x, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        usleep(ANSWER_US); // stands for computing
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    double x = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        answer(QUESTIONS * (size - 1));
    else
        for (int i = 0; i < QUESTIONS; i++)
            MPI_Ssend(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
