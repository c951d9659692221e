// SPDX-License-Identifier: BSD-3-Clause
// The program has no variables, but its library has.
#include <mpi.h>
#include <stdio.h>

#include "hidden.h"

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    add_to_total(rank);
    snprintf(last_text(), 32, "of rank %d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("total %d %s\n", add_to_total(0), last_text());
    MPI_Finalize();
    return 0;
}
