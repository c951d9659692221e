// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Comm_disconnect waits for messages of its communicator whose requests were freed, and for
// nothing else: not for persistent requests that are not started, nor for other communicators.

#include "comm_check.h"

enum { TAG = 8, BIG = 1 << 20 };

static void check_freed_requests(int left, int right)
{
    MPI_Comm comm;
    MPI_Request send, recv;
    unsigned char *out = must_alloc(BIG), *in = must_alloc(BIG);
    pattern_fill(out, BIG, (unsigned)world_rank());
    memset(in, 0, BIG);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Irecv(in, BIG, MPI_BYTE, left, TAG, comm, &recv));
    CHECK_OK(MPI_Issend(out, BIG, MPI_BYTE, right, TAG, comm, &send));
    CHECK_OK(MPI_Request_free(&recv));
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Comm_disconnect(&comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK_PATTERN(in, BIG, (unsigned)left);
    memset(out, 0, BIG);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_PATTERN(in, BIG, (unsigned)left);
    free(out);
    free(in);
}

// The message on the world is received after the communicator has gone.
static void check_nothing_else(int left, int right)
{
    MPI_Comm comm;
    MPI_Request later, send;
    int mine = world_rank(), got = -1;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Send_init(&mine, 1, MPI_INT, right, TAG, comm, &later));
    CHECK_OK(MPI_Issend(&mine, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &send));
    CHECK_OK(MPI_Comm_disconnect(&comm));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(&got, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(got, left);
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Request_free(&later));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < 10; i++) {
        check_freed_requests(left, right);
        check_nothing_else(left, right);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
