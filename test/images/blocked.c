// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 sleeps, rank 1 reads a pipe that nobody writes, rank 2 polls it and its like, the others
// wait for rank 0.
#include <mpi.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ends[2];
    char byte;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (pipe(ends) != 0 || dup2(ends[0], 100 + rank) < 0)
        return EXIT_FAILURE;
    struct pollfd both[] = {{.fd = ends[0], .events = POLLIN},
                            {.fd = 100 + rank, .events = POLLIN}};
    if (rank == 0)
        sleep(1000);
    else if (rank == 1)
        (void)!read(100 + rank, &byte, 1);
    else if (rank == 2)
        poll(both, 2, -1);
    else
        MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
