// SPDX-License-Identifier: BSD-3-Clause
//
// A program that ends with collective calls under way is wrong. MPI_Finalize tells of messages that
// the other ranks have not received; where no message is sent, it ends.

#include "check.h"

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Comm comm;
    int *out = malloc(2 * sizeof *out);
    CHECK(out != NULL);
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    out[0] = world_rank();
    // Of the first half of the ranks, so that no call comes to its end.
    if (2 * world_rank() < world_size()) {
        CHECK_OK(MPI_Iallreduce(out, out + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        CHECK_OK(MPI_Iallreduce(out, out + 1, 1, MPI_INT, MPI_SUM, comm, &request));
        CHECK_OK(MPI_Iscan(out, out + 1, 1, MPI_INT, MPI_SUM, comm, &request));
        CHECK_OK(MPI_Ibcast(out, 1, MPI_INT, 0, comm, &request)); // leaves at once
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    printf("ended\n");
    return 0; // `out` is not freed: who knows whether it is still read
}
