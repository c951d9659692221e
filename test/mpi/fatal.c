// SPDX-License-Identifier: BSD-3-Clause
//
// Errors are fatal unless a handler says otherwise: the job ends with the error message and not
// with status 0. The argument chooses the error, and whether the handler was set back.

#include "check.h"

int main(int argc, char **argv)
{
    int value = 0;
    CHECK(argc > 1);
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (strcmp(argv[1], "back") == 0) {
        errors_return();
        CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, 77, 1, MPI_COMM_WORLD), MPI_ERR_RANK, "MPI_Send",
                    "77");
        CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    }
    if (world_rank() == 1 && strcmp(argv[1], "truncate") == 0) {
        char big[300] = "", small[20];
        MPI_Sendrecv(big, 300, MPI_CHAR, 1, 1, small, 20, MPI_CHAR, 1, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else if (world_rank() == 1) {
        MPI_Send(&value, 1, MPI_INT, 99, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_Finalize());
    return 0;
}
