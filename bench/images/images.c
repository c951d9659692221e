// SPDX-License-Identifier: BSD-3-Clause
// A program with BYTES of global variables, and TLS bytes of thread-local ones. `start` waits in a
// barrier, says how long the job has taken so far, and waits to be looked at. `switch` passes a
// token between two ranks of a worker, and says what a pass costs.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef BYTES
#define BYTES 8192
#endif
#ifndef TLS
#define TLS 0
#endif

#if BYTES
static char globals[BYTES];
#endif
#if TLS
static __thread volatile char own[TLS];
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void touch(int rank)
{
#if BYTES
    memset(globals, rank, sizeof globals);
#endif
#if TLS
    own[0] = (char)rank;
#endif
}

static void start(int rank, double begun)
{
    touch(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("started %.3f\n", now() - begun);
        fflush(stdout);
        getchar(); // until it has been looked at
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pass(int rank, int turns)
{
    char token = 0;
    touch(rank);
    for (int round = 0; round < 5; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double from = now();
        for (int i = 0; i < turns; i++) {
            if (rank == 0) {
                MPI_Send(&token, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(&token, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&token, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(&token, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("pass %.2f\n", (now() - from) / turns / 2 * 1e9);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2 && strcmp(argv[1], "start") == 0)
        start(rank, atof(argv[2]));
    else if (argc > 2 && strcmp(argv[1], "switch") == 0)
        pass(rank, atoi(argv[2]));
    MPI_Finalize();
    return 0;
}
