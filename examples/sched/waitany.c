// SPDX-License-Identifier: BSD-3-Clause
// Overlap by hand: one loop takes whatever comes, and computes meanwhile. functions.c in this folder
// does the same with one function for each kind of message (both are from the paper on FG-MPI).
//
//     mpicc waitany.c -o waitany
//     mpirun -n 2 ./waitany
//
// Rank 0 sends numbers with two tags, for which rank 1 sends back squares and doubles. Rank 1 also
// adds up the terms of a series for pi. Each time round the loop it does a part of that and then waits
// for one of two receives, whose requests and buffers it must keep apart.
#include <mpi.h>
#include <stdio.h>

enum { NUMBERS = 100, SQUARE = 1, TWICE = 2, TERMS = 1000000 };

static void ask(void)
{
    int squares = 0, doubles = 0, answer;
    for (int number = 1; number <= NUMBERS; number++) {
        MPI_Send(&number, 1, MPI_INT, 1, SQUARE, MPI_COMM_WORLD);
        MPI_Send(&number, 1, MPI_INT, 1, TWICE, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_INT, 1, SQUARE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        squares += answer;
        MPI_Recv(&answer, 1, MPI_INT, 1, TWICE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        doubles += answer;
    }
    printf("squares %d, doubles %d\n", squares, doubles);
}

static double terms(int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++)
        sum += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
    return sum;
}

static void serve(void)
{
    int in[2], at, answer;
    double pi = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(&in[0], 1, MPI_INT, 0, SQUARE, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, 0, TWICE, MPI_COMM_WORLD, &requests[1]);
    for (int turn = 0; turn < 2 * NUMBERS; turn++) {
        pi += terms(turn * (TERMS / (2 * NUMBERS)), (turn + 1) * (TERMS / (2 * NUMBERS)));
        MPI_Waitany(2, requests, &at, &status);
        switch (status.MPI_TAG) {
        case SQUARE:
            answer = in[at] * in[at];
            break;
        default:
            answer = 2 * in[at];
            break;
        }
        MPI_Send(&answer, 1, MPI_INT, 0, status.MPI_TAG, MPI_COMM_WORLD);
        if (in[at] < NUMBERS) // the last one is not asked for again
            MPI_Irecv(&in[at], 1, MPI_INT, 0, status.MPI_TAG, MPI_COMM_WORLD, &requests[at]);
    }
    printf("pi is %.5f\n", pi);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        ask();
    else if (rank == 1)
        serve();
    MPI_Finalize();
    return 0;
}
