// SPDX-License-Identifier: BSD-3-Clause
// The fit with MPI: Figure 3(b) of the paper.
#include <mpi.h>

#include "chemistry.h"

int main(int argc, char **argv)
{
    fit f;
    double errors[ERRORS], sum[ERRORS];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fit_begin(&f);
    do {
        for (int i = 0; i < PARAMETERS + 1; i++) {
            fit_errors(&f, i, rank, size, errors);
            MPI_Allreduce(errors, sum, ERRORS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            fit_take(&f, i, sum);
        }
    } while (fit_step(&f));
    if (rank == 0)
        fit_print(&f);
    MPI_Finalize();
    return 0;
}
