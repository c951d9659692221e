// SPDX-License-Identifier: BSD-3-Clause
// MPI as a C++ library, experiment V: sums of arrays at rank 0, by gathering all of them and adding there, or by a tree.
//
//     reduction gather|tree|library TIMES ENTRIES...
//
// Prints `E_us T`: for E entries, the median of the times of one reduction.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void add(int *to, const int *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] += from[i];
}

static void gather(const int *mine, int *sum, int *all, int count, int rank, int size)
{
    MPI_Gather(mine, count, MPI_INT, all, count, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    memcpy(sum, all, (size_t)count * sizeof *sum);
    for (int r = 1; r < size; r++)
        add(sum, all + (size_t)r * (size_t)count, count);
}

static void tree(const int *mine, int *sum, int *other, int count, int rank, int size)
{
    memcpy(sum, mine, (size_t)count * sizeof *sum);
    for (int bit = 1; bit < size; bit <<= 1) {
        if (rank & bit) {
            MPI_Send(sum, count, MPI_INT, rank - bit, 0, MPI_COMM_WORLD);
            return;
        }
        if (rank + bit < size) {
            MPI_Recv(other, count, MPI_INT, rank + bit, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            add(sum, other, count);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, times = argc > 2 ? atoi(argv[2]) : 5;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 3; i < argc; i++) {
        int count = atoi(argv[i]);
        int wide = strcmp(argv[1], "gather") == 0 && rank == 0 ? size : 1;
        int *mine = malloc((size_t)count * sizeof *mine), *sum = malloc((size_t)count * sizeof *sum);
        int *other = malloc((size_t)count * (size_t)wide * sizeof *other);
        double *took = malloc((size_t)times * sizeof *took);
        for (int k = 0; k < count; k++)
            mine[k] = rank + k;
        for (int time = -1; time < times; time++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double began = MPI_Wtime();
            if (strcmp(argv[1], "gather") == 0)
                gather(mine, sum, other, count, rank, size);
            else if (strcmp(argv[1], "tree") == 0)
                tree(mine, sum, other, count, rank, size);
            else
                MPI_Reduce(mine, sum, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
            took[time < 0 ? 0 : time] = MPI_Wtime() - began;
            if (rank == 0 && sum[count - 1] != size * (size - 1) / 2 + size * (count - 1))
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        qsort(took, (size_t)times, sizeof *took, by_value);
        if (rank == 0)
            printf("%d_us %.3f\n", count, took[times / 2] * 1e6);
        free(took);
        free(other);
        free(sum);
        free(mine);
    }
    MPI_Finalize();
    return 0;
}
