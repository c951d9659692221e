// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of collective operations in every function that takes requests: their statuses are
// empty (functions that complete one request leave MPI_ERROR alone), they cannot be cancelled, and
// those under way cannot be freed.

#include "check.h"

static void spoil(MPI_Status *status)
{
    memset(status, 77, sizeof *status);
    status->MPI_ERROR = MPI_SUCCESS;
}

static void empty_wait(MPI_Comm comm, int size)
{
    MPI_Request request;
    MPI_Status status;
    int out = 1, in = 0, flag;
    spoil(&status);
    CHECK_OK(MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_EMPTY(&status);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_INT(in, size);

    spoil(&status);
    CHECK_OK(MPI_Ibcast(&in, 1, MPI_INT, 0, comm, &request));
    for (flag = 0; !flag;)
        CHECK_OK(MPI_Request_get_status(request, &flag, &status));
    CHECK_EMPTY(&status);
    CHECK(request != MPI_REQUEST_NULL);
    spoil(&status);
    CHECK_OK(MPI_Test(&request, &flag, &status));
    CHECK(flag && request == MPI_REQUEST_NULL);
    CHECK_EMPTY(&status);
}

enum { SET = 6 };

static void start_set(MPI_Comm comm, MPI_Request *requests, int *out, int *in)
{
    CHECK_OK(MPI_Ibarrier(comm, &requests[0]));
    CHECK_OK(MPI_Iallreduce(&out[1], &in[1], 1, MPI_INT, MPI_SUM, comm, &requests[1]));
    requests[2] = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Iscan(&out[3], &in[3], 1, MPI_INT, MPI_SUM, comm, &requests[3]));
    CHECK_OK(MPI_Iallreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm, &requests[4])); // of nothing
    CHECK_OK(MPI_Ibarrier(MPI_COMM_SELF, &requests[5]));
}

static void lists(MPI_Comm comm, int rank, int size)
{
    MPI_Request requests[SET];
    MPI_Status statuses[SET];
    int out[SET] = {1, 1, 1, 1, 1, 1}, in[SET], indices[SET], n, index, flag;
    for (int way = 0; way < 6; way++) {
        int left = SET - 1;
        start_set(comm, requests, out, in);
        while (left > 0) {
            for (int i = 0; i < SET; i++)
                spoil(&statuses[i]);
            n = 0;
            if (way == 0) {
                CHECK_OK(MPI_Waitall(SET, requests, statuses));
                n = SET;
                left = 1;
            } else if (way == 1) {
                CHECK_OK(MPI_Waitany(SET, requests, &index, statuses));
                CHECK(index != MPI_UNDEFINED && requests[index] == MPI_REQUEST_NULL);
                n = 1;
            } else if (way == 2) {
                CHECK_OK(MPI_Waitsome(SET, requests, &n, indices, statuses));
                CHECK(n > 0);
            } else if (way == 3) {
                CHECK_OK(MPI_Testany(SET, requests, &index, &flag, statuses));
                n = flag;
            } else if (way == 4) {
                CHECK_OK(MPI_Testsome(SET, requests, &n, indices, statuses));
                CHECK(n >= 0);
            } else {
                CHECK_OK(MPI_Testall(SET, requests, &flag, statuses));
                n = flag ? SET : 0;
                left = flag ? 1 : left;
            }
            for (int i = 0; i < n; i++)
                CHECK_EMPTY(&statuses[i]);
            left -= way == 0 || way == 5 ? n > 0 : n;
        }
        for (int i = 0; i < SET; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK_INT(in[1], size);
        CHECK_INT(in[3], rank + 1);
    }
}

static void refused(MPI_Comm comm, int rank, int size)
{
    MPI_Request request, copy;
    int out = 1, in = 0;
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (rank == 0 && size > 1) { // nobody else has begun: it is under way
        CHECK_OK(MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm, &request));
        copy = request;
        CHECK_ERROR(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free",
                    "MPI_Iallreduce");
        CHECK(request == copy);
        CHECK_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_Cancel", "MPI_Iallreduce");
        CHECK(request == copy);
        CHECK_ERROR(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start", "request");
        for (int i = 1; i < size; i++)
            CHECK_OK(MPI_Send(&out, 1, MPI_INT, i, 1, comm));
    } else {
        if (size > 1)
            CHECK_OK(MPI_Recv(&out, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, comm, &request));
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(in, size);
}

#if MPI_VERSION >= 4
// A communicator that is freed while its persistent request is there lives as long as that.
static void persistent(MPI_Comm comm, int size)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Comm own;
    int out = 1, in = 0, flag = 0;
    CHECK_OK(MPI_Comm_dup(comm, &own));
    CHECK_OK(MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, own, MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag);
    CHECK_EMPTY(&status);
    CHECK_ERROR(MPI_Cancel(&request), MPI_ERR_REQUEST, "MPI_Cancel", "request");
    CHECK_OK(MPI_Comm_free(&own));
    for (int i = 0; i < 3; i++) {
        in = 0;
        CHECK_OK(MPI_Start(&request));
        spoil(&status);
        CHECK_OK(MPI_Wait(&request, &status));
        CHECK_EMPTY(&status);
        CHECK_INT(in, size);
    }
    CHECK_OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
}
#endif

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int rank, size;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    empty_wait(comm, size);
    lists(comm, rank, size);
    refused(comm, rank, size);
#if MPI_VERSION >= 4
    persistent(comm, size);
#endif
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    return 0;
}
