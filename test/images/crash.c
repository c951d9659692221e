// SPDX-License-Identifier: BSD-3-Clause
// Rank 1 handles faults; rank 0, which does not, has one.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_fault(int signal)
{
    (void)!write(2, "another's handler\n", 18);
    _exit(0);
}

static void fall_over(void)
{
    volatile int *nowhere = NULL;
    *nowhere = 1;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        signal(SIGSEGV, on_fault);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fall_over();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
