// SPDX-License-Identifier: BSD-3-Clause
//
// A copy of a request's handle after MPI_Request_free, while the operation is under way: refused by
// every call, and the operation ends as if nobody had asked.

#include "check.h"

static int on_query(void *extra, MPI_Status *status)
{
    check_fail(__FILE__, __LINE__, "the status of a freed request is asked for: %p, %p", extra,
               (void *)status);
}

static int on_free(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    check_fail(__FILE__, __LINE__, "a freed request is cancelled: %p, %d", extra, complete);
}

static void refused(MPI_Request freed)
{
    MPI_Request copy = freed;
    int flag = 0, index;
    CHECK_ERROR(MPI_Request_free(&copy), MPI_ERR_REQUEST, "MPI_Request_free", "freed");
    CHECK_ERROR(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait", "freed");
    CHECK_ERROR(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Test", "freed");
    CHECK_ERROR(MPI_Cancel(&copy), MPI_ERR_REQUEST, "MPI_Cancel", "freed");
    CHECK_ERROR(MPI_Request_get_status(copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
                "MPI_Request_get_status", "freed");
    CHECK_ERROR(MPI_Waitall(1, &copy, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "MPI_Waitall",
                "freed");
    CHECK_ERROR(MPI_Waitany(1, &copy, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Waitany",
                "freed");
    CHECK(copy == freed);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Request request, copy;
    int ended = 0, in = -1, out = 17;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Grequest_start(on_query, on_free, on_cancel, &ended, &request));
    copy = request;
    CHECK_OK(MPI_Request_free(&request));
    refused(copy);
    CHECK_INT(ended, 0);
    CHECK_OK(MPI_Grequest_complete(copy));
    CHECK_INT(ended, 1);
    refused(copy);
    CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, 0, 0, comm, &request));
    copy = request;
    CHECK_OK(MPI_Request_free(&request));
    refused(copy);
    CHECK_OK(MPI_Send(&out, 1, MPI_INT, 0, 0, comm));
    CHECK_OK(MPI_Comm_disconnect(&comm)); // waits for the receive, once
    CHECK_INT(in, 17);
    CHECK_OK(MPI_Finalize());
    return 0;
}
