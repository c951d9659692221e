// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Request_free of active requests: the handle is null at once, the communication completes all
// the same.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { DATA = 1, DONE = 2, AFTER = 3 };

// Sends are started and freed; the receiver gets every message, in order.
static void free_sends(int n)
{
    enum { N = 20 };
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *out = must_alloc((size_t)n * N), *in = must_alloc((size_t)n);
    MPI_Status status;
    for (int i = 0; i < N; i++) {
        MPI_Request r = MPI_REQUEST_NULL;
        pattern_fill(out + (size_t)i * (size_t)n, (size_t)n, (unsigned)(rank + i));
        if (i % 2)
            CHECK_OK(MPI_Isend(out + (size_t)i * (size_t)n, n, MPI_BYTE, right, DATA, WORLD, &r));
        else
            CHECK_OK(MPI_Issend(out + (size_t)i * (size_t)n, n, MPI_BYTE, right, DATA, WORLD, &r));
        CHECK_OK(MPI_Request_free(&r));
        CHECK(r == MPI_REQUEST_NULL);
    }
    for (int i = 0; i < N; i++) {
        memset(in, 0, (size_t)n);
        CHECK_OK(MPI_Recv(in, n, MPI_BYTE, left, DATA, WORLD, &status));
        CHECK_STATUS(&status, left, DATA, n);
        CHECK_PATTERN(in, (size_t)n, (unsigned)(left + i));
    }
    // The right neighbour has all our messages, so `out` is ours again.
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, DONE, NULL, 0, MPI_BYTE, right, DONE, WORLD,
                          MPI_STATUS_IGNORE));
    free(out);
    free(in);
}

// A receive is posted and freed; only its buffer can tell that it is complete.
static void free_receive(int n)
{
    int rank = world_rank(), size = world_size(), flag = 0, after = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n);
    MPI_Request recv = MPI_REQUEST_NULL, sends[2];
    memset(in, 0, (size_t)n);
    pattern_fill(out, (size_t)n, (unsigned)rank);
    CHECK_OK(MPI_Irecv(in, n, MPI_BYTE, left, DATA, WORLD, &recv));
    CHECK_OK(MPI_Request_free(&recv));
    CHECK(recv == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Isend(out, n, MPI_BYTE, right, DATA, WORLD, &sends[0]));
    CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, right, DATA, WORLD, &sends[1]));
    // The freed receive was posted first, so this one gets the second message.
    CHECK_OK(MPI_Recv(&after, 1, MPI_INT, left, DATA, WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(after, left);
    while (!pattern_holds(in, (size_t)n, (unsigned)left))
        CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, AFTER, WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, DONE, NULL, 0, MPI_BYTE, right, DONE, WORLD,
                          MPI_STATUS_IGNORE));
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const int sizes[] = {1, 8, 500, 5000, 70000, 1 << 20};
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        if (sizes[i] <= 70000)
            free_sends(sizes[i]);
        free_receive(sizes[i]);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
