// SPDX-License-Identifier: BSD-3-Clause
//
// Rank 0 computes a message piece by piece; each piece leaves as soon as it is ready. Rank 1 has cut
// the same message into fewer pieces, and works on each as soon as it is there.
#include <mpi.h>
#include <stdio.h>

enum { ELEMENTS = 1200, SENT = 12, RECEIVED = 4, STEPS = 3 };

static void send(int *data)
{
    MPI_Request request;
    MPI_Psend_init(data, SENT, ELEMENTS / SENT, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    for (int step = 0; step < STEPS; step++) {
        MPI_Start(&request);
        for (int part = SENT - 1; part >= 0; part--) { // in any order
            for (int i = 0; i < ELEMENTS / SENT; i++)
                data[part * (ELEMENTS / SENT) + i] = step;
            MPI_Pready(part, request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void receive(int *data)
{
    MPI_Request request;
    MPI_Precv_init(data, RECEIVED, ELEMENTS / RECEIVED, MPI_INT, 0, 0, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &request);
    for (int step = 0; step < STEPS; step++) {
        long sum = 0;
        MPI_Start(&request);
        for (int part = 0; part < RECEIVED; part++) {
            int here = 0;
            while (!here)
                MPI_Parrived(request, part, &here);
            for (int i = 0; i < ELEMENTS / RECEIVED; i++)
                sum += data[part * (ELEMENTS / RECEIVED) + i];
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("step %d: the sum is %ld\n", step, sum);
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    int rank, data[ELEMENTS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        send(data);
    if (rank == 1)
        receive(data);
    MPI_Finalize();
    return 0;
}
