// SPDX-License-Identifier: BSD-3-Clause
// A library that uses MPI for a program (tell_main.c) that does not mention MPI at all.
#include <mpi.h>
#include <stdio.h>

#include "tell.h"

void tell(void)
{
    int rank, size, token = 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank > 0) {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token += rank;
    } else {
        token = 0;
    }
    if (rank < size - 1)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    else
        printf("sum %d of %d ranks\n", token, size);
    MPI_Finalize();
}
