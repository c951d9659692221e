// SPDX-License-Identifier: BSD-3-Clause
// The same with MPI: a nonblocking all-reduce.
#include <mpi.h>
#include <stdio.h>

#include "cg.h"

int main(int argc, char **argv)
{
    int rank, size, n = cg_size(argc, argv);
    double dots[2], sums[2], error, worst;
    MPI_Request moves[5];
    strip t;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > n) {
        fprintf(stderr, "%d ranks, but only %d rows\n", size, n);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    cg_begin(&t, n, rank, size);
    do {
        cg_dots(&t, dots);
        MPI_Iallreduce(dots, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &moves[4]);
        MPI_Irecv(t.w - n, n, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &moves[0]);
        MPI_Irecv(t.w + t.rows * n, n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &moves[1]);
        MPI_Isend(t.w, n, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &moves[2]);
        MPI_Isend(t.w + (t.rows - 1) * n, n, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &moves[3]);
        cg_inner(&t); // while sums and rows are under way
        MPI_Waitall(4, moves, MPI_STATUSES_IGNORE);
        cg_outer(&t);
        MPI_Wait(&moves[4], MPI_STATUS_IGNORE);
    } while (cg_step(&t, sums));
    error = cg_error(&t);
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        cg_print(n, worst);
    cg_end(&t);
    MPI_Finalize();
    return 0;
}
