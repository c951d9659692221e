// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Request_get_status looks without taking: the request stays, and may be looked at again,
// completed, or freed.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

static void drive(int peer)
{
    const int sizes[] = {0, 8, 5000, 70000, 1 << 20};
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        char *buf = must_alloc((size_t)sizes[i]);
        MPI_Request r = MPI_REQUEST_NULL, before;
        MPI_Status status;
        int flag = -1;
        CHECK_OK(MPI_Irecv(buf, sizes[i], MPI_BYTE, MPI_ANY_SOURCE, i, WORLD, &r));
        before = r;
        for (int k = 0; k < 3; k++) {
            CHECK_OK(MPI_Request_get_status(r, &flag, &status));
            CHECK(!flag);
        }
        ask(peer, i, sizes[i]);
        while (!flag)
            CHECK_OK(MPI_Request_get_status(r, &flag, &status));
        CHECK_STATUS(&status, peer, i, sizes[i]);
        CHECK_PATTERN(buf, (size_t)sizes[i], (unsigned)i);
        for (int k = 0; k < 3; k++) {
            CHECK_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
            CHECK(flag);
        }
        CHECK(r == before);
        if (i % 2) {
            CHECK_OK(MPI_Wait(&r, &status));
            CHECK_STATUS(&status, peer, i, sizes[i]);
        } else {
            CHECK_OK(MPI_Request_free(&r));
        }
        CHECK(r == MPI_REQUEST_NULL);
        free(buf);
    }
}

static void without_active(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, value = 0;
    CHECK_OK(MPI_Request_get_status(r, &flag, &status));
    CHECK(flag);
    CHECK_EMPTY(&status);
    CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &r));
    flag = 0;
    CHECK_OK(MPI_Request_get_status(r, &flag, &status));
    CHECK(flag);
    CHECK_EMPTY(&status);
    CHECK_OK(MPI_Request_free(&r));
}

// A persistent request: started and done, it stays active until it is completed.
static void persistent(void)
{
    int me = world_rank(), in = -1;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_OK(MPI_Recv_init(&in, 1, MPI_INT, me, 7, WORLD, &r));
    for (int i = 0; i < 5; i++) {
        int flag = 0;
        CHECK_OK(MPI_Start(&r));
        CHECK_OK(MPI_Send(&i, 1, MPI_INT, me, 7, WORLD));
        while (!flag)
            CHECK_OK(MPI_Request_get_status(r, &flag, &status));
        CHECK_STATUS(&status, me, 7, sizeof(int));
        CHECK_OK(MPI_Wait(&r, &status));
        CHECK_STATUS(&status, me, 7, sizeof(int));
        CHECK_INT(in, i);
        CHECK_OK(MPI_Wait(&r, &status));
        CHECK_EMPTY(&status);
    }
    CHECK_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    without_active();
    persistent();
    for_each_pair(drive);
    CHECK_OK(MPI_Finalize());
    return 0;
}
