// SPDX-License-Identifier: BSD-3-Clause
// A message is on its way when the call that has completed it returns: the sender makes no call of
// MPI until the receiver has the message. So it is with the first message to a rank, for which a
// connection may have to be made, with later ones, and with bursts.
#define _GNU_SOURCE // beyond C11: nanosleep and its like

#include "sign.h"

enum { BURST = 4, FEW = 6 };

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
    int rank, way_no = argc > 1 ? argv[1][0] - '0' : 0, data[BURST];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++) { // the second time the connection is there
        if (rank == 0) {
            int sign = sign_new();
            for (int k = 0; k < BURST; k++)
                data[k] = sign + k;
            ways[way_no](data);
            sign_await(sign);
        } else {
            int got, sign = -1;
            for (int k = 0; k < BURST; k++) {
                MPI_Recv(&got, 1, MPI_INT, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                sign = k == 0 ? got : sign;
                CHECK(got == sign + k);
            }
            sign_give(sign);
            MPI_Recv(&got, 1, MPI_INT, 0, FEW, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (rank == 0)
            MPI_Send(data, 1, MPI_INT, 1, FEW, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
