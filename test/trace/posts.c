// SPDX-License-Identifier: BSD-3-Clause
// Neighbours exchange messages: receives first ("receive"), or sends first ("send").
#include <mpi.h>
#include <string.h>

enum { ROUNDS = 10, TAG = 3 };

int main(int argc, char **argv)
{
    int rank, in = 0, out = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *how = argc > 1 ? argv[1] : "receive";
    for (int i = 0; i < ROUNDS; i++) {
        int peer = rank ^ 1;
        MPI_Request request;
        if (strcmp(how, "receive") == 0) {
            MPI_Irecv(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
            MPI_Send(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD);
            MPI_Recv(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
