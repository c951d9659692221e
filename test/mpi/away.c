// SPDX-License-Identifier: BSD-3-Clause
//
// A receiver that has asked for a large message and then computes must not hold up what the same
// sender sends to others. Rank 1 stays away from MPI until ranks 0 and 2 are done with their message.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "sign.h"

#define WORLD MPI_COMM_WORLD

enum { LARGE = 32 << 20, MIDDLE = 1 << 20 };

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), done = 0;
    char *buf = calloc(LARGE, 1);
    CHECK(buf);
    int sign = sign_new();
    MPI_Request request;
    CHECK_OK(MPI_Bcast(&sign, 1, MPI_INT, 0, WORLD));
    if (rank == 1) {
        CHECK_OK(MPI_Irecv(buf, LARGE, MPI_CHAR, 0, 1, WORLD, &request));
        CHECK_OK(MPI_Barrier(WORLD));
        for (double start = MPI_Wtime(); MPI_Wtime() - start < 0.05;)
            CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        sign_await(sign);
        if (!done)
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (rank == 0) {
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Isend(buf, LARGE, MPI_CHAR, 1, 1, WORLD, &request));
        usleep(100000); // rank 1 has asked for it, and is away now
        CHECK_OK(MPI_Send(buf, MIDDLE, MPI_CHAR, 2, 2, WORLD));
        sign_give(sign);
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        CHECK_OK(MPI_Barrier(WORLD));
        if (rank == 2)
            CHECK_OK(MPI_Recv(buf, MIDDLE, MPI_CHAR, 0, 2, WORLD, MPI_STATUS_IGNORE));
    }
    free(buf);
    CHECK_OK(MPI_Finalize());
    return 0;
}
