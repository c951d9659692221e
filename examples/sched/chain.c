// SPDX-License-Identifier: BSD-3-Clause
// A chain on the critical path, among ranks that have a lot to do. The first ranks pass a token on;
// each asks a slow device before (it sleeps, as it would for an answer from a disk or another host).
// The others compute in slices. A rank of the chain has little to do, but if it waits for its turn,
// the device has nothing to do meanwhile, and the job ends late.
//
//     mpicc -O2 chain.c -o chain
//     mpirun -n 1 -nfg 44 --sched rr ./chain          each step of the chain waits for all slices
//     mpirun -n 1 -nfg 44 --sched priority ./chain    Millet sees who is waited for
//     mpirun -n 1 -nfg 44 --sched priority ./chain 9  ... or the chain says that it goes first
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 4, ROUNDS = 25, DEVICE_US = 2000, SLICES = 10, SLICE = 150000 };

static volatile double sink;

static void link_of_chain(int rank)
{
    int token = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank > 0 || round > 0)
            MPI_Recv(&token, 1, MPI_INT, (rank + LINKS - 1) % LINKS, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPIX_Usleep(DEVICE_US);
        token++;
        if (rank < LINKS - 1 || round < ROUNDS - 1)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % LINKS, 0, MPI_COMM_WORLD);
    }
}

static void compute(void)
{
    for (int slice = 0; slice < SLICES; slice++) {
        double x = 1;
        for (int i = 0; i < SLICE; i++)
            x = x * 1.0000001 + 0.1;
        sink = x;
        MPIX_Yield();
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank < LINKS && argc > 1)
        MPIX_Set_priority(atoi(argv[1]));
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (rank < LINKS)
        link_of_chain(rank);
    else
        compute();
    double mine = MPI_Wtime() - start, chain, all;
    if (rank >= LINKS)
        mine = 0;
    MPI_Reduce(&mine, &chain, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    all = MPI_Wtime() - start;
    if (rank == 0)
        printf("the chain took %.0f ms, the job %.0f ms\n", 1e3 * chain, 1e3 * all);
    MPI_Finalize();
    return 0;
}
