// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Cancel of receives. A receive that nothing has matched is cancelled, and its message goes to
// the next one; a receive that is complete is not.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

static void check_cancelled(const MPI_Status *status, int want)
{
    int flag = -1;
    CHECK_OK(MPI_Test_cancelled(status, &flag));
    CHECK_INT(!!flag, want);
}

static void unmatched(int peer)
{
    char first[64], second[64];
    for (int way = 0; way < 8; way++) {
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Status status;
        int flag = 0, index = -1, count = -1;
        int source = way & 1 ? MPI_ANY_SOURCE : peer, tag = way & 2 ? MPI_ANY_TAG : 5;
        memset(first, 0, sizeof first);
        CHECK_OK(MPI_Irecv(first, 64, MPI_BYTE, source, tag, WORLD, &r));
        CHECK_OK(MPI_Cancel(&r));
        CHECK(r != MPI_REQUEST_NULL);
        // Every way of completing it returns, whatever the others do, and says that it was
        // cancelled.
        switch (way) {
        case 0:
            CHECK_OK(MPI_Wait(&r, &status));
            break;
        case 1:
            CHECK_OK(MPI_Waitany(1, &r, &index, &status));
            break;
        case 2:
            CHECK_OK(MPI_Waitsome(1, &r, &count, &index, &status));
            break;
        case 3:
            CHECK_OK(MPI_Waitall(1, &r, &status));
            break;
        case 4:
            while (!flag)
                CHECK_OK(MPI_Test(&r, &flag, &status));
            break;
        case 5:
            while (!flag)
                CHECK_OK(MPI_Testany(1, &r, &index, &flag, &status));
            break;
        case 6:
            for (count = 0; count == 0;)
                CHECK_OK(MPI_Testsome(1, &r, &count, &index, &status));
            break;
        default:
            while (!flag)
                CHECK_OK(MPI_Testall(1, &r, &flag, &status));
            break;
        }
        CHECK(r == MPI_REQUEST_NULL);
        check_cancelled(&status, 1);
        ask(peer, 5, 40);
        CHECK_OK(MPI_Recv(second, 64, MPI_BYTE, peer, 5, WORLD, &status));
        CHECK_STATUS(&status, peer, 5, 40);
        check_cancelled(&status, 0);
        CHECK_PATTERN(second, 40, 5);
        for (int i = 0; i < 64; i++)
            CHECK_INT(first[i], 0);
    }
}

static void complete(int peer)
{
    const int sizes[] = {8, 5000, 70000};
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        char *buf = must_alloc((size_t)sizes[i]);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Status status;
        int flag = 0;
        CHECK_OK(MPI_Irecv(buf, sizes[i], MPI_BYTE, peer, 6, WORLD, &r));
        ask(peer, 6, sizes[i]);
        while (!flag)
            CHECK_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Cancel(&r));
        CHECK_OK(MPI_Wait(&r, &status));
        check_cancelled(&status, 0);
        CHECK_STATUS(&status, peer, 6, sizes[i]);
        CHECK_PATTERN(buf, (size_t)sizes[i], 6);
        free(buf);
    }
}

// The message may or may not have matched when the receive is cancelled: one of the two, never both
// or none.
static void racing(int peer)
{
    const int sizes[] = {8, 70000};
    for (int round = 0; round < 20; round++) {
        int n = sizes[round % 2], flag = -1;
        char *buf = must_alloc((size_t)n);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Status status;
        memset(buf, 0, (size_t)n);
        CHECK_OK(MPI_Irecv(buf, n, MPI_BYTE, peer, 7, WORLD, &r));
        ask(peer, 7, n);
        for (int i = 0; i < round % 5; i++)
            CHECK_OK(MPI_Iprobe(peer, 99, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Cancel(&r));
        CHECK_OK(MPI_Wait(&r, &status));
        CHECK_OK(MPI_Test_cancelled(&status, &flag));
        if (flag)
            CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, peer, 7, WORLD, &status));
        CHECK_STATUS(&status, peer, 7, n);
        CHECK_PATTERN(buf, (size_t)n, 7);
        CHECK_OK(MPI_Iprobe(peer, 7, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        free(buf);
    }
}

// A persistent receive: cancelled, then used again.
static void persistent(int peer)
{
    char buf[64];
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_OK(MPI_Recv_init(buf, 64, MPI_BYTE, peer, 8, WORLD, &r));
    for (int round = 0; round < 6; round++) {
        CHECK_OK(MPI_Start(&r));
        if (round % 2)
            ask(peer, 8, 30);
        else
            CHECK_OK(MPI_Cancel(&r));
        CHECK_OK(MPI_Wait(&r, &status));
        check_cancelled(&status, round % 2 == 0);
        CHECK(r != MPI_REQUEST_NULL);
        if (round % 2) {
            CHECK_STATUS(&status, peer, 8, 30);
            CHECK_PATTERN(buf, 30, 8);
        }
    }
    CHECK_OK(MPI_Request_free(&r));
}

// Out of many posted receives some are cancelled; the messages go to those that are left.
static void among_many(int peer)
{
    enum { N = 60 };
    int in[N], kept = 0;
    MPI_Request requests[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++)
        CHECK_OK(MPI_Irecv(&in[i], 4, MPI_BYTE, peer, i % 4 == 1 ? MPI_ANY_TAG : 9, WORLD,
                           &requests[i]));
    for (int i = 0; i < N; i++) {
        if (i % 3 == 0)
            CHECK_OK(MPI_Cancel(&requests[i]));
        else
            kept++;
    }
    for (int i = 0; i < kept; i++)
        ask(peer, 9, i % 4 + 1);
    CHECK_OK(MPI_Waitall(N, requests, statuses));
    for (int i = 0, k = 0; i < N; i++) {
        check_cancelled(&statuses[i], i % 3 == 0);
        if (i % 3 != 0) {
            CHECK_STATUS(&statuses[i], peer, 9, k % 4 + 1);
            k++;
        }
    }
}

static void drive(int peer)
{
    unmatched(peer);
    complete(peer);
    racing(peer);
    persistent(peer);
    among_many(peer);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for_each_pair(drive);
    CHECK_OK(MPI_Finalize());
    return 0;
}
