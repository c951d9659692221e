// SPDX-License-Identifier: BSD-3-Clause
// A message is on its way when the call that has completed it returns: the sender makes no call of
// MPI for two seconds, and the receiver has the message long before. So it is with the first message
// to a rank, for which a connection may have to be made, with later ones, and with bursts.
#include <mpi.h>
#include <unistd.h>

#include "check.h"

enum { BURST = 4, PAUSE_S = 2, FEW = 6 };

typedef void way(int *data);

static void send_one(int *data)
{
    for (int i = 0; i < BURST; i++)
        MPI_Send(&data[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD);
}

static void send_burst(int *data)
{
    MPI_Request requests[BURST];
    for (int i = 0; i < BURST; i++)
        MPI_Isend(&data[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
}

static void send_and_test(int *data)
{
    for (int i = 0; i < BURST; i++) {
        MPI_Request request;
        int done = 0;
        MPI_Isend(&data[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void start_all(int *data)
{
    MPI_Request requests[BURST];
    for (int i = 0; i < BURST; i++)
        MPI_Send_init(&data[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Startall(BURST, requests);
    MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < BURST; i++)
        MPI_Request_free(&requests[i]);
}

static way *const ways[] = {send_one, send_burst, send_and_test, start_all};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, way_no = argc > 1 ? argv[1][0] - '0' : 0, data[BURST] = {1, 2, 3, 4};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) { // the second time the connection is there
        if (rank == 0) {
            ways[way_no](data);
            sleep(PAUSE_S);
        } else {
            int got;
            for (int k = 0; k < BURST; k++) {
                MPI_Recv(&got, 1, MPI_INT, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK(got == k + 1);
            }
            double pause = MPI_Wtime();
            MPI_Recv(&got, 1, MPI_INT, 0, FEW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(MPI_Wtime() - pause > PAUSE_S / 2.0);
        }
        if (rank == 0)
            MPI_Send(data, 1, MPI_INT, 1, FEW, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
