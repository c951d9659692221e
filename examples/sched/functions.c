// SPDX-License-Identifier: BSD-3-Clause
// Overlap by the scheduler: what waitany.c does in one loop, as one function for each kind of message
// and one that computes. No requests, no buffers to keep apart, no loop that decides who is next: a
// function that waits lets the others run. Both are from the paper on FG-MPI.
//
//     mpicc functions.c -o functions
//     mpirun -n 1 -nfg 4 ./functions      all in one process
//     mpirun -n 2 -nfg 2 ./functions      the same in two
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>

enum { NUMBERS = 100, SLICES = 200, TERMS = 1000000 };
enum { ASKER, SQUARES, DOUBLES, PI }; // ranks

static int ask(int argc, char **argv)
{
    int squares = 0, doubles = 0, answer;
    MPI_Init(&argc, &argv);
    for (int number = 1; number <= NUMBERS; number++) {
        MPI_Send(&number, 1, MPI_INT, SQUARES, 0, MPI_COMM_WORLD);
        MPI_Send(&number, 1, MPI_INT, DOUBLES, 0, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_INT, SQUARES, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        squares += answer;
        MPI_Recv(&answer, 1, MPI_INT, DOUBLES, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        doubles += answer;
    }
    printf("squares %d, doubles %d\n", squares, doubles);
    MPI_Finalize();
    return 0;
}

static int square(int argc, char **argv)
{
    int number;
    MPI_Init(&argc, &argv);
    do {
        MPI_Recv(&number, 1, MPI_INT, ASKER, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int answer = number * number;
        MPI_Send(&answer, 1, MPI_INT, ASKER, 0, MPI_COMM_WORLD);
    } while (number < NUMBERS);
    MPI_Finalize();
    return 0;
}

static int twice(int argc, char **argv)
{
    int number;
    MPI_Init(&argc, &argv);
    do {
        MPI_Recv(&number, 1, MPI_INT, ASKER, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int answer = 2 * number;
        MPI_Send(&answer, 1, MPI_INT, ASKER, 0, MPI_COMM_WORLD);
    } while (number < NUMBERS);
    MPI_Finalize();
    return 0;
}

static int compute(int argc, char **argv)
{
    double pi = 0;
    MPI_Init(&argc, &argv);
    for (int slice = 0; slice < SLICES; slice++) {
        for (int i = slice * (TERMS / SLICES); i < (slice + 1) * (TERMS / SLICES); i++)
            pi += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
        MPIX_Yield(); // how often the others get their turn
    }
    printf("pi is %.5f\n", pi);
    MPI_Finalize();
    return 0;
}

static int nothing(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}

// Which function a rank runs.
static FG_ProcessPtr_t binding(int rank)
{
    static const FG_ProcessPtr_t functions[] = {ask, square, twice, compute};
    return rank <= PI ? functions[rank] : nothing;
}

int main(int argc, char **argv)
{
    return FGmpiexec(&argc, &argv, &binding);
}
