// SPDX-License-Identifier: BSD-3-Clause
//
// MPI 4.1's MPI_Request_get_status_any, _all and _some: they look at lists of requests and change
// none.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

enum { N = 5 };

// Null, two receives (tags 1 and 2), an inactive persistent one, and a receive (tag 4).
static void list_open(MPI_Request *requests, char **bufs, int peer)
{
    const int sizes[N] = {0, 100, 70000, 0, 0};
    for (int i = 0; i < N; i++) {
        bufs[i] = must_alloc((size_t)sizes[i]);
        requests[i] = MPI_REQUEST_NULL;
        if (i == 3)
            CHECK_OK(MPI_Recv_init(bufs[i], 0, MPI_BYTE, peer, 9, WORLD, &requests[i]));
        else if (i > 0)
            CHECK_OK(MPI_Irecv(bufs[i], sizes[i], MPI_BYTE, peer, i, WORLD, &requests[i]));
    }
}

static void drive(int peer)
{
    MPI_Request requests[N], before[N];
    MPI_Status status, statuses[N];
    char *bufs[N];
    int flag = -1, index = -1, count = -1, indices[N];
    list_open(requests, bufs, peer);
    memcpy(before, requests, sizeof before);

    CHECK_OK(MPI_Request_get_status_any(N, requests, &index, &flag, &status));
    CHECK(!flag);
    CHECK_INT(index, MPI_UNDEFINED);
    CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK_INT(count, 0);
    CHECK_OK(MPI_Request_get_status_all(N, requests, &flag, statuses));
    CHECK(!flag);

    ask(peer, 2, 70000);
    while (!flag)
        CHECK_OK(MPI_Request_get_status_any(N, requests, &index, &flag, &status));
    CHECK_INT(index, 2);
    CHECK_STATUS(&status, peer, 2, 70000);
    CHECK_PATTERN(bufs[2], 70000, 2);
    CHECK_OK(MPI_Request_get_status_any(N, requests, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    CHECK_INT(index, 2);
    CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK_INT(count, 1);
    CHECK_INT(indices[0], 2);
    CHECK_STATUS(&statuses[0], peer, 2, 70000);
    CHECK_OK(MPI_Request_get_status_all(N, requests, &flag, statuses));
    CHECK(!flag);
    CHECK(memcmp(before, requests, sizeof before) == 0);

    ask(peer, 4, 0);
    for (count = 1; count == 1;)
        CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, statuses));
    CHECK_INT(count, 2);
    CHECK(indices[0] + indices[1] == 2 + 4 && indices[0] != indices[1]);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(&statuses[i], peer, indices[i], indices[i] == 2 ? 70000 : 0);

    ask(peer, 1, 100);
    for (flag = 0; !flag;)
        CHECK_OK(MPI_Request_get_status_all(N, requests, &flag, statuses));
    CHECK_EMPTY(&statuses[0]);
    CHECK_STATUS(&statuses[1], peer, 1, 100);
    CHECK_STATUS(&statuses[2], peer, 2, 70000);
    CHECK_EMPTY(&statuses[3]);
    CHECK_STATUS(&statuses[4], peer, 4, 0);
    CHECK(memcmp(before, requests, sizeof before) == 0);
    CHECK_OK(MPI_Request_get_status_all(N, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    CHECK_OK(MPI_Request_get_status_some(N, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_INT(count, 3);

    CHECK_OK(MPI_Waitall(N, requests, statuses));
    CHECK_STATUS(&statuses[1], peer, 1, 100);
    CHECK_OK(MPI_Request_free(&requests[3]));
    for (int i = 0; i < N; i++)
        free(bufs[i]);
}

static void none_active(const MPI_Request *requests, int n)
{
    MPI_Status statuses[4];
    int flag = 0, index = 0, count = 0, indices[4];
    CHECK_OK(MPI_Request_get_status_any(n, requests, &index, &flag, &statuses[0]));
    CHECK(flag);
    CHECK_INT(index, MPI_UNDEFINED);
    CHECK_EMPTY(&statuses[0]);
    flag = 0;
    CHECK_OK(MPI_Request_get_status_all(n, requests, &flag, statuses));
    CHECK(flag);
    for (int i = 0; i < n; i++)
        CHECK_EMPTY(&statuses[i]);
    CHECK_OK(MPI_Request_get_status_some(n, requests, &count, indices, statuses));
    CHECK_INT(count, MPI_UNDEFINED);
}

int main(int argc, char **argv)
{
    MPI_Request requests[4];
    int value = 0;
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int i = 0; i < 4; i++)
        requests[i] = MPI_REQUEST_NULL;
    none_active(NULL, 0);
    none_active(requests, 0);
    none_active(requests, 4);
    CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, &requests[2]));
    none_active(requests, 4);
    CHECK_OK(MPI_Request_free(&requests[2]));
    for_each_pair(drive);
    CHECK_OK(MPI_Finalize());
    return 0;
}
