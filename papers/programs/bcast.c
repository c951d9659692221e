// SPDX-License-Identifier: BSD-3-Clause
// GOAL, Figure 5: latency of a broadcast from rank 0, by the library or by the binomial tree of the paper's Listing 2 as sends written by hand.
//
//     bcast library|hand BYTES...
//
// Prints `B_us T`: for a size of B, the median of the times from its begin at the root until the last rank has the data.
#include "by_hand.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef FEW // long messages
enum { TIMES = 7, WARM_UP = 1 };
#else
enum { TIMES = 61, WARM_UP = 10 };
#endif

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

// Of the host, not of the process: ranks compare it.
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int hand = argc > 1 && strcmp(argv[1], "hand") == 0;
    for (int i = 2; i < argc; i++) {
        int bytes = atoi(argv[i]);
        char *data = malloc((size_t)bytes);
        double times[TIMES];
        for (int time = -WARM_UP; time < TIMES; time++) {
            memset(data, rank == 0 ? time + WARM_UP : -1, (size_t)bytes);
            MPI_Barrier(MPI_COMM_WORLD);
            double began = now(), mine, last;
            if (hand)
                tree_bcast(data, bytes, rank, size);
            else
                MPI_Bcast(data, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
            mine = now();
            MPI_Reduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
            if (data[bytes - 1] != (char)(time + WARM_UP))
                MPI_Abort(MPI_COMM_WORLD, 1);
            if (time >= 0)
                times[time] = last - began;
        }
        qsort(times, TIMES, sizeof *times, by_value);
        if (rank == 0)
            printf("%d_us %.3f\n", bytes, times[TIMES / 2] * 1e6);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
