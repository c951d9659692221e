// SPDX-License-Identifier: BSD-3-Clause
// What a rank takes, and what one more communicator takes: `rank_bytes`, `dup_bytes`, `split_bytes`, each for a rank.
// The ranks must share one process: mpirun -n 1 -nfg P memory
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// Bytes of this process that are in memory.
static double resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1)
        abort();
    fclose(file);
    return (double)pages * 4096;
}

static double now(int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double bytes = rank == 0 ? resident() : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return bytes;
}

int main(int argc, char **argv)
{
    enum { TIMES = 4 };
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm dups[TIMES], parts[TIMES], warm[2];
    // The first of each kind touches stacks and tables that the next ones find.
    MPI_Comm_dup(MPI_COMM_WORLD, &warm[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &warm[1]);
    double first = now(rank);
    for (int i = 0; i < TIMES; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &dups[i]);
    double second = now(rank);
    for (int i = 0; i < TIMES; i++)
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &parts[i]);
    double third = now(rank);
    if (rank == 0)
        printf("rank_bytes %.1f\ndup_bytes %.1f\nsplit_bytes %.1f\n", first / size, (second - first) / TIMES / size, (third - second) / TIMES / size);
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm_free(&dups[i]);
        MPI_Comm_free(&parts[i]);
    }
    MPI_Comm_free(&warm[0]);
    MPI_Comm_free(&warm[1]);
    MPI_Finalize();
    return 0;
}
