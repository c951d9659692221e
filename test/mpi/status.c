// SPDX-License-Identifier: BSD-3-Clause
//
// What a status says: counts in every unit, MPI_UNDEFINED for parts of an element, MPI_PROC_NULL's
// status, and that MPI_PROC_NULL is accepted by every function that takes a rank.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

static int count_of(const MPI_Status *status, MPI_Datatype type)
{
    int count = -1;
    MPI_Count large = -1;
    CHECK_OK(MPI_Get_count(status, type, &count));
    CHECK_OK(MPI_Get_count_c(status, type, &large));
    CHECK_INT(large, count);
    return count;
}

// The message of `bytes` bytes was received as bytes; ask in other units of the same memory.
static void check_counts(const MPI_Status *status, int bytes)
{
    CHECK_INT(count_of(status, MPI_BYTE), bytes);
    CHECK_INT(count_of(status, MPI_CHAR), bytes);
    CHECK_INT(count_of(status, MPI_SHORT), bytes % 2 ? MPI_UNDEFINED : bytes / 2);
    CHECK_INT(count_of(status, MPI_INT), bytes % 4 ? MPI_UNDEFINED : bytes / 4);
    CHECK_INT(count_of(status, MPI_DOUBLE), bytes % 8 ? MPI_UNDEFINED : bytes / 8);
    CHECK_INT(count_of(status, MPI_C_DOUBLE_COMPLEX), bytes % 16 ? MPI_UNDEFINED : bytes / 16);
}

static void drive(int peer)
{
    const int sizes[] = {0, 1, 2, 3, 4, 7, 8, 12, 13, 16, 48, 1024, 4100, 70001, 1 << 20};
    char *buf = must_alloc(1 << 20);
    MPI_Status status;
    int flag = -1;
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        ask(peer, i, sizes[i]);
        CHECK_OK(MPI_Recv(buf, 1 << 20, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
        CHECK_STATUS(&status, peer, i, sizes[i]);
        check_counts(&status, sizes[i]);
        CHECK_OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag);
    }
    free(buf);
}

static void wait_null(MPI_Request *request, int receive)
{
    MPI_Status status;
    CHECK_OK(MPI_Wait(request, &status));
    CHECK(*request == MPI_REQUEST_NULL);
    if (receive && STRICT)
        CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static void with_proc_null(void)
{
    int value = 42;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    const int none = MPI_PROC_NULL;
    // Also without an attached buffer, which a message to nobody does not need.
    CHECK_OK(MPI_Send(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Send_c(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Ssend(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Ssend_c(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Rsend(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Rsend_c(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Bsend(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Bsend_c(&value, 1, MPI_INT, none, 1, WORLD));
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, none, 1, WORLD, &status));
    CHECK_STATUS(&status, none, MPI_ANY_TAG, 0);
    check_counts(&status, 0);
    CHECK_OK(MPI_Recv_c(&value, 1, MPI_INT, none, MPI_ANY_TAG, WORLD, &status));
    CHECK_STATUS(&status, none, MPI_ANY_TAG, 0);
    CHECK_OK(MPI_Isend(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 0);
    CHECK_OK(MPI_Issend(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 0);
    CHECK_OK(MPI_Irsend(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 0);
    CHECK_OK(MPI_Ibsend(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 0);
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 1);
    CHECK_OK(MPI_Irecv_c(&value, 1, MPI_INT, none, 1, WORLD, &r));
    wait_null(&r, 1);
    CHECK_INT(value, 42);
}

static void persistent_with_proc_null(void)
{
    int value = 42;
    MPI_Request requests[5];
    MPI_Status statuses[5];
    CHECK_OK(MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[0]));
    CHECK_OK(MPI_Ssend_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[1]));
    CHECK_OK(MPI_Rsend_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[2]));
    CHECK_OK(MPI_Bsend_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[3]));
    CHECK_OK(MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &requests[4]));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(MPI_Startall(5, requests));
        CHECK_OK(MPI_Waitall(5, requests, statuses));
        if (STRICT)
            CHECK_STATUS(&statuses[4], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    }
    for (int i = 0; i < 5; i++)
        CHECK_OK(MPI_Request_free(&requests[i]));
    CHECK_INT(value, 42);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for_each_pair(drive);
    with_proc_null();
    persistent_with_proc_null();
    CHECK_OK(MPI_Finalize());
    return 0;
}
