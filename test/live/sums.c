// SPDX-License-Identifier: BSD-3-Clause
// Collective operations and messages whose results are known, until a file is there: `sums FILE`. Ends
// with 1 if a result is wrong. Rank 0 prints how many rounds there were.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 300 };

static void check(int is_right, const char *what)
{
    if (!is_right) {
        fprintf(stderr, "%s has a wrong result\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void run_round(MPI_Comm comm, int round)
{
    int rank, size, data[COUNT], sum[COUNT], token;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; i++)
        data[i] = rank + i + round;
    MPI_Allreduce(data, sum, COUNT, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < COUNT; i++)
        check(sum[i] == size * (size - 1) / 2 + size * (i + round), "MPI_Allreduce");
    token = rank == round % size ? round : -1;
    MPI_Bcast(&token, 1, MPI_INT, round % size, comm);
    check(token == round, "MPI_Bcast");
    MPI_Reduce(data, sum, COUNT, MPI_INT, MPI_MAX, 0, comm);
    check(rank != 0 || sum[0] == size - 1 + round, "MPI_Reduce");
    token = rank + round;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 1, (rank + size - 1) % size, 1,
                         comm, MPI_STATUS_IGNORE);
    check(token == (rank + size - 1) % size + round, "MPI_Sendrecv_replace");
    if (round % 3 == 0)
        MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int rank, round = 0, goes_on = 1;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, "half");
    for (; goes_on; round++) {
        run_round(MPI_COMM_WORLD, round);
        run_round(half, round);
        goes_on = access(argv[1], F_OK) != 0;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d rounds\n", round);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
