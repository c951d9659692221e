// SPDX-License-Identifier: BSD-3-Clause
//
// MPI 4.1's functions that read a status: MPI_Status_get_source, _tag and _error agree with the
// fields.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

static void check_fields(MPI_Status *status, int source, int tag)
{
    int value = -12345;
    CHECK_OK(MPI_Status_get_source(status, &value));
    CHECK_INT(value, source);
    CHECK_INT(value, status->MPI_SOURCE);
    CHECK_OK(MPI_Status_get_tag(status, &value));
    CHECK_INT(value, tag);
    CHECK_INT(value, status->MPI_TAG);
    status->MPI_ERROR = MPI_ERR_TRUNCATE;
    CHECK_OK(MPI_Status_get_error(status, &value));
    CHECK_INT(value, MPI_ERR_TRUNCATE);
}

static void drive(int peer)
{
    char *buf = must_alloc(70000);
    MPI_Status status;
    for (int tag = 0; tag < 20; tag++) {
        ask(peer, tag, tag % 2 ? 70000 : tag);
        CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
        check_fields(&status, peer, tag);
        CHECK_OK(MPI_Recv(buf, 70000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
        check_fields(&status, peer, tag);
    }
    free(buf);
}

// The errors of MPI_Waitall are read the same way.
static void in_status(void)
{
    int me = world_rank(), small = 0, big[10] = {0}, value = -1, class = -1;
    MPI_Request r[2];
    MPI_Status statuses[2];
    errors_return();
    CHECK_OK(MPI_Irecv(&small, 1, MPI_INT, me, 1, WORLD, &r[0]));
    CHECK_OK(MPI_Isend(big, 10, MPI_INT, me, 1, WORLD, &r[1]));
    int code = MPI_Waitall(2, r, statuses);
    CHECK_INT(error_class(code), MPI_ERR_IN_STATUS);
    CHECK_OK(MPI_Status_get_error(&statuses[0], &value));
    CHECK_OK(MPI_Error_class(value, &class));
    CHECK_INT(class, MPI_ERR_TRUNCATE);
    CHECK_OK(MPI_Status_get_error(&statuses[1], &value));
    CHECK_INT(value, MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Status status;
    MPI_Request none = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Init(&argc, &argv));
    for_each_pair(drive);
    CHECK_OK(MPI_Wait(&none, &status));
    check_fields(&status, MPI_ANY_SOURCE, MPI_ANY_TAG);
    CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 3, WORLD, &status));
    check_fields(&status, MPI_PROC_NULL, MPI_ANY_TAG);
    in_status();
    CHECK_OK(MPI_Finalize());
    return 0;
}
