// SPDX-License-Identifier: BSD-3-Clause
// Every rank says who it is and which OS process it lives in.
//
//     mpicc hello.c -o hello
//     mpirun -n 4 ./hello            four processes
//     mpirun -n 2 -nfg 2 ./hello     four fibers in one process: the same program, the same ranks
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, length;
    char host[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    printf("rank %d of %d, in process %ld on %s\n", rank, size, (long)getpid(), host);
    MPI_Finalize();
    return 0;
}
