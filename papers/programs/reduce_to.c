// SPDX-License-Identifier: BSD-3-Clause
// Aspen, Figure 4: one reduction of the first P ranks to the first A of them and to the B ranks behind them. The block is long
// enough that Millet takes the paper's algorithm, even where ranks share cores.
//
//     mpirun -n P+B --record FILE reduce_to P A B
#include <millet/coll.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 2048 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, p = atoi(argv[1]), inside = atoi(argv[2]), outside = atoi(argv[3]);
    double mine[COUNT] = {0}, sum[COUNT] = {0};
    MPI_Group world, contributors, receivers;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, (int[1][3]){{0, p - 1, 1}}, &contributors);
    if (inside && outside)
        MPI_Group_range_incl(world, 2, (int[2][3]){{0, inside - 1, 1}, {p, p + outside - 1, 1}}, &receivers);
    else if (inside)
        MPI_Group_range_incl(world, 1, (int[1][3]){{0, inside - 1, 1}}, &receivers);
    else
        MPI_Group_range_incl(world, 1, (int[1][3]){{p, p + outside - 1, 1}}, &receivers);
    mine[COUNT - 1] = rank + 1;
    MPIX_Reduce_to(mine, sum, COUNT, MPI_DOUBLE, MPI_SUM, contributors, receivers, MPI_COMM_WORLD);
    if ((rank < inside || rank >= p) && sum[COUNT - 1] != p * (p + 1) / 2.0) {
        fprintf(stderr, "reduce_to: rank %d has a wrong sum\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Group_free(&receivers);
    MPI_Group_free(&contributors);
    MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
