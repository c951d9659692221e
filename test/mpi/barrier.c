// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Barrier: a ring shift and a barrier, many times (the argument, 1000 if none); nobody leaves
// before the last one has entered; and messages are not disturbed by it. The late rank of a round
// looks, before it enters, whether somebody has left already: whoever leaves tells it.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { SHIFT = 1, LEFT = 2, LOOKS = 5 };

static void rounds(int n)
{
    int rank = world_rank(), size = world_size(), flag = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int round = 0; round < n; round++) {
        int late = round % size, out = rank * 10000 + round, in = -1;
        CHECK_OK(MPI_Sendrecv(&out, 1, MPI_INT, right, SHIFT, &in, 1, MPI_INT, left, SHIFT, WORLD,
                              MPI_STATUS_IGNORE));
        CHECK_INT(in, left * 10000 + round);
        for (int i = 0; i < LOOKS && rank == late; i++) {
            CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, LEFT, WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        CHECK_OK(MPI_Barrier(WORLD));
        if (rank != late) {
            CHECK_OK(MPI_Send(&round, 1, MPI_INT, late, LEFT, WORLD));
            continue;
        }
        for (int i = 1; i < size; i++) {
            CHECK_OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, LEFT, WORLD, MPI_STATUS_IGNORE));
            CHECK_INT(in, round);
        }
    }
}

// Messages that are in flight across a barrier stay what they are, and a barrier needs none of them
// received.
static void across(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *out = must_alloc(70000), *in = must_alloc(70000);
    MPI_Request r[2];
    for (int n = 7; n <= 70000; n *= 10) {
        pattern_fill(out, (size_t)n, (unsigned)rank);
        CHECK_OK(MPI_Isend(out, n, MPI_BYTE, right, SHIFT, WORLD, &r[0]));
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Irecv(in, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &r[1]));
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        CHECK_PATTERN(in, (size_t)n, (unsigned)left);
        // A wildcard receive that is posted meanwhile takes no message of the barrier.
        CHECK_OK(MPI_Irecv(in, n, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &r[1]));
        CHECK_OK(MPI_Barrier(WORLD));
        CHECK_OK(MPI_Cancel(&r[1]));
        CHECK_OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Barrier(WORLD));
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    CHECK_OK(MPI_Init(&argc, &argv));
    rounds(n);
    across();
    for (int i = 0; i < 100; i++)
        CHECK_OK(MPI_Barrier(MPI_COMM_SELF));
    CHECK_OK(MPI_Finalize());
    return 0;
}
