// SPDX-License-Identifier: BSD-3-Clause
// Each rank ends in its own way: what it has left for that end runs, and nothing else.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank = -1;

struct Last {
    ~Last()
    {
        fprintf(stderr, "rank %d: destructor\n", rank);
    }
};

static Last last;

static void at_exit()
{
    fprintf(stderr, "rank %d: atexit\n", rank);
}

static void on_exit_of(int status, void *argument)
{
    fprintf(stderr, "rank %d: on_exit with %d of %d\n", rank, status,
            *static_cast<int *>(argument));
}

static void quickly()
{
    fprintf(stderr, "rank %d: at_quick_exit\n", rank);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    atexit(at_exit);
    on_exit(on_exit_of, &rank);
    at_quick_exit(quickly);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    switch (rank % 5) {
    case 0:
        return 0;
    case 1:
        exit(0);
    case 2:
        _exit(0);
    case 3:
        quick_exit(0);
    default:
        _Exit(0);
    }
}
