// SPDX-License-Identifier: BSD-3-Clause
//
// Partitioned messages: wrong arguments, calls at the wrong time, receives that are too small. And,
// by arguments, programs that hang: "unready", "unstarted", "missing", "cycle".

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 5, PARTS = 16 };

static void bad_inits(void)
{
    int data[4] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_Psend_init(data, -1, 1, MPI_INT, 0, TAG, WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_ARG, "MPI_Psend_init", "partitions is -1");
    CHECK_ERROR(MPI_Psend_init(data, 2, -1, MPI_INT, 0, TAG, WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_COUNT, "MPI_Psend_init", "count is -1");
    CHECK_ERROR(
        MPI_Psend_init(data, 4, INT64_MAX / 8, MPI_INT, 0, TAG, WORLD, MPI_INFO_NULL, &request),
        MPI_ERR_COUNT, "MPI_Psend_init", "fit into 63 bits");
    CHECK_ERROR(MPI_Psend_init(data, 4, 1, MPI_INT, 99, TAG, WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_RANK, "MPI_Psend_init", "99");
    CHECK_ERROR(MPI_Psend_init(data, 4, 1, MPI_INT, 0, -3, WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_TAG, "MPI_Psend_init", "-3");
    CHECK_ERROR(MPI_Psend_init(data, 4, 1, MPI_INT, 0, TAG, WORLD, (MPI_Info)data, &request),
                MPI_ERR_INFO, "MPI_Psend_init", "info");
    CHECK_ERROR(
        MPI_Precv_init(data, 4, 1, MPI_INT, MPI_ANY_SOURCE, TAG, WORLD, MPI_INFO_NULL, &request),
        MPI_ERR_RANK, "MPI_Precv_init", "no wildcards");
    CHECK_ERROR(MPI_Precv_init(data, 4, 1, MPI_INT, 0, MPI_ANY_TAG, WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_TAG, "MPI_Precv_init", "no wildcards");
    CHECK_INT((intptr_t)request, (intptr_t)MPI_REQUEST_NULL);
}

static void bad_calls(void)
{
    int rank = world_rank(), out[PARTS] = {0}, in[PARTS], flag, list[3] = {1, PARTS, 2};
    MPI_Request send, recv, other, null = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Psend_init(out, PARTS, 1, MPI_INT, rank, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, PARTS, 1, MPI_INT, rank, TAG, WORLD, MPI_INFO_NULL, &recv));
    CHECK_OK(MPI_Send_init(out, 1, MPI_INT, rank, TAG, WORLD, &other));
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Pready", "inactive request");
    CHECK_ERROR(MPI_Pready_range(0, 1, send), MPI_ERR_REQUEST, "MPI_Pready_range", "inactive");
    CHECK_ERROR(MPI_Cancel(&send), MPI_ERR_REQUEST, "MPI_Cancel", "inactive");
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Start(&recv));
    CHECK_ERROR(MPI_Start(&send), MPI_ERR_REQUEST, "MPI_Start", "active");
    CHECK_ERROR(MPI_Cancel(&send), MPI_ERR_REQUEST, "MPI_Cancel", "cannot be cancelled");
    CHECK_ERROR(MPI_Cancel(&recv), MPI_ERR_REQUEST, "MPI_Cancel", "cannot be cancelled");
    CHECK_ERROR(MPI_Request_free(&send), MPI_ERR_REQUEST, "MPI_Request_free", "not ready yet");
    CHECK_ERROR(MPI_Pready(0, null), MPI_ERR_REQUEST, "MPI_Pready", "request");
    CHECK_ERROR(MPI_Pready(0, other), MPI_ERR_REQUEST, "MPI_Pready", "MPI_Send_init");
    CHECK_ERROR(MPI_Pready(0, recv), MPI_ERR_REQUEST, "MPI_Pready", "MPI_Precv_init");
    CHECK_ERROR(MPI_Pready(-1, send), MPI_ERR_ARG, "MPI_Pready", "from 0 to 15");
    CHECK_ERROR(MPI_Pready(PARTS, send), MPI_ERR_ARG, "MPI_Pready", "partition is 16");
    CHECK_ERROR(MPI_Pready_range(-1, 3, send), MPI_ERR_ARG, "MPI_Pready_range", "low is -1");
    CHECK_ERROR(MPI_Pready_range(3, PARTS, send), MPI_ERR_ARG, "MPI_Pready_range", "high is 16");
    CHECK_ERROR(MPI_Pready_range(3, 1, send), MPI_ERR_ARG, "MPI_Pready_range", "above");
    CHECK_OK(MPI_Pready_range(3, 2, send)); // none
    CHECK_OK(MPI_Pready_range(0, -1, send));
    CHECK_OK(MPI_Pready_range(PARTS, PARTS - 1, send));
    CHECK_ERROR(MPI_Pready_range(PARTS + 1, PARTS, send), MPI_ERR_ARG, "MPI_Pready_range", "low");
    CHECK_ERROR(MPI_Pready_list(-1, list, send), MPI_ERR_ARG, "MPI_Pready_list", "length");
    CHECK_ERROR(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG, "MPI_Pready_list", "NULL");
    CHECK_ERROR(MPI_Pready_list(3, list, send), MPI_ERR_ARG, "MPI_Pready_list", "partitions[1]");
    CHECK_ERROR(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived", "MPI_Psend_init");
    CHECK_ERROR(MPI_Parrived(null, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived", "request");
    CHECK_ERROR(MPI_Parrived(recv, PARTS, &flag), MPI_ERR_ARG, "MPI_Parrived", "from 0 to 15");
    CHECK_ERROR(MPI_Parrived(recv, 0, NULL), MPI_ERR_ARG, "MPI_Parrived", "flag");
    CHECK_OK(MPI_Pready(7, send)); // nothing of all that has made one ready
    CHECK_ERROR(MPI_Pready(7, send), MPI_ERR_ARG, "MPI_Pready", "partition 7 was ready");
    CHECK_ERROR(MPI_Pready_range(5, 9, send), MPI_ERR_ARG, "MPI_Pready_range", "partition 7 was");
    list[0] = 6;
    list[1] = 7;
    CHECK_ERROR(MPI_Pready_list(2, list, send), MPI_ERR_ARG, "MPI_Pready_list", "partition 7 was");
    CHECK_OK(MPI_Pready_range(0, 6, send));
    CHECK_OK(MPI_Pready_range(8, PARTS - 1, send));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Pready", "inactive request");
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
    CHECK_OK(MPI_Request_free(&other));
}

// The first bytes arrive, nothing else is touched, and the next round fails alike.
static void truncated(int parts, int count)
{
    int rank = world_rank(), size = world_size(), n = parts * count, room = n - 3;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int *out = must_alloc((size_t)n * sizeof *out), *in = must_alloc((size_t)n * sizeof *in);
    MPI_Request send, recv;
    MPI_Status status;
    CHECK_OK(MPI_Psend_init(out, parts, count, MPI_INT, right, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(in, 1, room, MPI_INT, left, TAG, WORLD, MPI_INFO_NULL, &recv));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) {
            out[i] = rank + i + round;
            in[i] = -1;
        }
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Start(&send));
        CHECK_OK(MPI_Pready_range(0, parts - 1, send));
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK_ERROR(MPI_Wait(&recv, &status), MPI_ERR_TRUNCATE, "MPI_Wait", "MPI_Precv_init");
        for (int i = 0; i < n; i++)
            CHECK_INT(in[i], i < room ? left + i + round : -1);
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
    free(out);
    free(in);
}

// ---- hangs

static void hang(const char *how)
{
    int rank = world_rank(), size = world_size(), data[PARTS] = {0};
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request send, recv;
    CHECK_OK(MPI_Psend_init(data, PARTS, 1, MPI_INT, right, TAG, WORLD, MPI_INFO_NULL, &send));
    CHECK_OK(MPI_Precv_init(data, PARTS, 1, MPI_INT, left, TAG, WORLD, MPI_INFO_NULL, &recv));
    if (strcmp(how, "cycle") == 0) { // everybody waits before it sends
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Start(&send));
    if (strcmp(how, "unready") == 0)
        CHECK_OK(MPI_Pready_range(0, 2, send));
    else if (strcmp(how, "missing") == 0)
        CHECK_OK(MPI_Pready_list(3, (int[]){0, 1, 8}, send));
    else
        CHECK_OK(MPI_Pready_range(0, PARTS - 1, send));
    if (strcmp(how, "missing") == 0) {
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Wait(&recv, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    if (argc > 1)
        hang(argv[1]);
    errors_return();
    bad_inits();
    bad_calls();
    truncated(4, 2);
    truncated(5, 20000);
    CHECK_OK(MPI_Finalize());
    return 0;
}
