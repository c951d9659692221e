// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of one process that keep requests or communicators in the same global variables: the one
// that loses is told so. This is the one test whose globals are written, as it is about them.
//
// usage: shared_requests waitall|waitany|wait|test|hang|comm

#include "check.h"

#define WORLD MPI_COMM_WORLD

static MPI_Request requests[4];
static MPI_Comm shared;

// Rank 0 goes on when rank 1 stands in its call, and writes into the same array.
static void writer(const char *what)
{
    int data[2] = {1, 2};
    CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, 1, 1, WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++)
        if (strcmp(what, "hang") == 0)
            requests[i] = MPI_REQUEST_NULL;
        else
            CHECK_OK(MPI_Isend(&data[i], 1, MPI_INT, 1, 2, WORLD, &requests[i]));
    if (strcmp(what, "test") == 0) // a request of its own, where rank 1 looks again
        CHECK_OK(MPI_Irecv(data, 1, MPI_INT, 1, 3, WORLD, &requests[1]));
    else
        CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}

static void reader(const char *what)
{
    int data[2], index, flag = 0;
    for (int i = 0; i < 2; i++)
        CHECK_OK(MPI_Irecv(&data[i], 1, MPI_INT, 0, 2, WORLD, &requests[i]));
    CHECK_OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, WORLD));
    if (strcmp(what, "waitany") == 0)
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    else if (strcmp(what, "wait") == 0)
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    else if (strcmp(what, "test") == 0)
        while (!flag)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    else
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK(argc > 1);
    if (strcmp(argv[1], "comm") == 0) { // the last one wins
        CHECK_OK(MPI_Comm_dup(WORLD, &shared));
        CHECK_OK(MPI_Barrier(WORLD));
        MPI_Barrier(shared);
    } else if (world_rank() == 0) {
        writer(argv[1]);
    } else if (world_rank() == 1) {
        reader(argv[1]);
    }
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Finalize());
    return 0;
}
