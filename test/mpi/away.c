// SPDX-License-Identifier: BSD-3-Clause
//
// A receiver that has asked for a large message and then computes must not hold up what the same
// sender sends to others. Rank 1 stays away from MPI for three seconds; ranks 0 and 2 must be done
// with their message long before.

#define _GNU_SOURCE // beyond C11: usleep, srand48 and their like

#include "check.h"

#include <unistd.h>

#define WORLD MPI_COMM_WORLD

enum { LARGE = 32 << 20, MIDDLE = 1 << 20, AWAY_S = 3 };

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), done = 0;
    char *buf = calloc(LARGE, 1);
    CHECK(buf);
    MPI_Request request;
    if (rank == 1) {
        CHECK_OK(MPI_Irecv(buf, LARGE, MPI_CHAR, 0, 1, WORLD, &request));
        CHECK_OK(MPI_Barrier(WORLD));
        for (double start = MPI_Wtime(); MPI_Wtime() - start < 0.05;)
            CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        if (!done) {
            sleep(AWAY_S);
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    } else if (rank == 0) {
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Isend(buf, LARGE, MPI_CHAR, 1, 1, WORLD, &request));
        usleep(100000); // rank 1 has asked for it, and is away now
        double start = MPI_Wtime();
        CHECK_OK(MPI_Send(buf, MIDDLE, MPI_CHAR, 2, 2, WORLD));
        CHECK(MPI_Wtime() - start < AWAY_S / 2.0);
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
