// SPDX-License-Identifier: BSD-3-Clause
// The fit with MPI: Figure 3(b) of the paper.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "chemistry.h"

int main(int argc, char **argv)
{
    fit f;
    const char *wrong = fit_begin(&f, argc, argv);
    double *sum = malloc((f.errors + 1) * sizeof(double));
    int rank, size;

    if (wrong || !sum) {
        fprintf(stderr, "%s\n", wrong ? wrong : "there is no memory for the sum");
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    do {
        for (int i = 0; i < PARAMETERS + 1; i++) {
            fit_errors(&f, i, rank, size);
            MPI_Allreduce(f.own, sum, (int)f.errors, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            fit_take(&f, i, sum);
        }
    } while (fit_step(&f));
    if (rank == 0)
        fit_print(&f);
    MPI_Finalize();
    free(sum);
    fit_end(&f);
    return 0;
}
