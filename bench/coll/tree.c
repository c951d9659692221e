// SPDX-License-Identifier: BSD-3-Clause
#include "tree.h"

#include "../p2p/bench.h"

#include <mpi.h>
#include <stdlib.h>

enum { TAG_DOWN = 9001, TAG_UP = 9002 };

// The lowest bit that is set in a rank tells its parent: the rank without it. Rank 0 has all bits.
static long lowest_bit(int rank, int ranks)
{
    long bit = 1;
    while (rank == 0 ? bit < ranks : (rank & bit) == 0)
        bit *= 2;
    return bit;
}

double tree_from_0(int rank, int ranks, double value)
{
    long bit = lowest_bit(rank, ranks);
    if (rank != 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, rank - (int)bit, TAG_DOWN, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (bit /= 2; bit > 0; bit /= 2) {
        if (rank + bit < ranks)
            MPI_Send(&value, 1, MPI_DOUBLE, (int)(rank + bit), TAG_DOWN, MPI_COMM_WORLD);
    }
    return value;
}

void tree_max_at_0(int rank, int ranks, double *values, int count)
{
    long own = lowest_bit(rank, ranks);
    double *theirs = malloc((size_t)count * sizeof *theirs);
    bench_require(theirs != NULL, "out of memory");
    for (long bit = 1; bit < own && rank + bit < ranks; bit *= 2) {
        MPI_Recv(theirs, count, MPI_DOUBLE, (int)(rank + bit), TAG_UP, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            values[i] = theirs[i] > values[i] ? theirs[i] : values[i];
    }
    if (rank != 0)
        MPI_Send(values, count, MPI_DOUBLE, rank - (int)own, TAG_UP, MPI_COMM_WORLD);
    free(theirs);
}
