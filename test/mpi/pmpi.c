// SPDX-License-Identifier: BSD-3-Clause
//
// Interposition: the program defines some MPI functions itself and goes on to the library through
// PMPI_ names. The library must not call them by itself: neither the barrier nor a sendrecv sends
// through the program's MPI_Send. The counters travel with the messages, as a tool's global ones
// would be shared between ranks.

#include "check.h"

enum { SHIFTED = 1000 };

struct payload {
    int *calls; // the sender's counter
    int value;
};

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    const struct payload *payload = buf;
    ++*payload->calls;
    return PMPI_Send(buf, count, datatype, dest, tag + SHIFTED, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    int code = PMPI_Recv(buf, count, datatype, source, tag + SHIFTED, comm, status);
    status->MPI_TAG -= SHIFTED;
    return code;
}

int main(int argc, char **argv)
{
    CHECK_OK(PMPI_Init(&argc, &argv));
    int rank = -1, size = -1, calls = 0, in = -1;
    CHECK_OK(PMPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_OK(PMPI_Comm_size(MPI_COMM_WORLD, &size));
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    CHECK(size % 2 == 0);
    for (int i = 0; i < 10; i++) {
        struct payload out = {&calls, rank * 10 + i}, got = {NULL, -1};
        MPI_Status status;
        if (rank % 2 == 0)
            CHECK_OK(MPI_Send(&out, sizeof out, MPI_BYTE, right, i, MPI_COMM_WORLD));
        CHECK_OK(MPI_Recv(&got, sizeof got, MPI_BYTE, left, i, MPI_COMM_WORLD, &status));
        if (rank % 2 == 1)
            CHECK_OK(MPI_Send(&out, sizeof out, MPI_BYTE, right, i, MPI_COMM_WORLD));
        CHECK_STATUS(&status, left, i, sizeof got);
        CHECK_INT(got.value, left * 10 + i);
        CHECK_INT(calls, i + 1);
        // What the wrapper has shifted is what the library sees.
        if (rank % 2 == 0)
            CHECK_OK(MPI_Send(&out, sizeof out, MPI_BYTE, right, 50, MPI_COMM_WORLD));
        else
            CHECK_OK(
                PMPI_Recv(&got, sizeof got, MPI_BYTE, left, 50 + SHIFTED, MPI_COMM_WORLD, &status));
        calls = i + 1;
        CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &in, 1, MPI_INT, left, 0, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE));
        CHECK_INT(in, left);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK_INT(calls, i + 1);
    }
    CHECK(PMPI_Wtime() > 0);
    CHECK_OK(PMPI_Finalize());
    return 0;
}
