// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of collective operations on intercommunicators, on all ranks alike: the right
// class, and an error message that names the function and the value. What the groups disagree about
// is told to the receivers. Afterwards the communicator works.

#include "comm_check.h"
#include "growth.h"

#define BAD CHECK_ERROR

static void roots(MPI_Comm comm)
{
    int far = -1, x[8] = {0}, y[8] = {0}, counts[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    char word[32];
    CHECK_OK(MPI_Comm_remote_size(comm, &far));
    snprintf(word, sizeof word, "root is %d", far);
    BAD(MPI_Bcast(x, 1, MPI_INT, far, comm), MPI_ERR_ROOT, "MPI_Bcast", word);
    BAD(MPI_Bcast(x, 1, MPI_INT, -77, comm), MPI_ERR_ROOT, "MPI_Bcast", "root is -77");
    BAD(MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, far, comm), MPI_ERR_ROOT, "MPI_Gather", word);
    BAD(MPI_Gatherv(x, 1, MPI_INT, y, counts, counts, MPI_INT, far, comm), MPI_ERR_ROOT,
        "MPI_Gatherv", word);
    BAD(MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_INT, far, comm), MPI_ERR_ROOT, "MPI_Scatter", word);
    BAD(MPI_Scatterv(x, counts, counts, MPI_INT, y, 1, MPI_INT, far, comm), MPI_ERR_ROOT,
        "MPI_Scatterv", word);
    BAD(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, far, comm), MPI_ERR_ROOT, "MPI_Reduce", word);
}

static void data(MPI_Comm comm)
{
    int x[8] = {0}, y[8] = {0}, counts[8] = {1, 1, 1, 1, 1, 1, 1, 1}, wrong[8] = {-9};
    MPI_Request request;
    BAD(MPI_Bcast(x, -1, MPI_INT, 0, comm), MPI_ERR_COUNT, "MPI_Bcast", "count is -1");
    BAD(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_BUFFER, "MPI_Bcast",
        "buffer is MPI_IN_PLACE");
    BAD(MPI_Gather(NULL, 1, MPI_INT, y, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, "MPI_Gather",
        "sendbuf");
    BAD(MPI_Gather(x, 1, MPI_INT, NULL, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_BUFFER, "MPI_Gather",
        "recvbuf");
    BAD(MPI_Scatter(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_TYPE,
        "MPI_Scatter", "sendtype");
    BAD(MPI_Gatherv(x, 1, MPI_INT, y, NULL, counts, MPI_INT, MPI_ROOT, comm), MPI_ERR_ARG,
        "MPI_Gatherv", "recvcounts");
    BAD(MPI_Scatterv(x, wrong, counts, MPI_INT, y, 1, MPI_INT, MPI_ROOT, comm), MPI_ERR_COUNT,
        "MPI_Scatterv", "sendcounts[0] is -9");
    BAD(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_BUFFER,
        "MPI_Allgather", "sendbuf is MPI_IN_PLACE");
    BAD(MPI_Alltoall(x, 1, MPI_INT, y, -4, MPI_INT, comm), MPI_ERR_COUNT, "MPI_Alltoall",
        "recvcount is -4");
    BAD(MPI_Alltoallv(x, counts, NULL, MPI_INT, y, counts, counts, MPI_INT, comm), MPI_ERR_ARG,
        "MPI_Alltoallv", "sdispls");
    BAD(MPI_Allreduce(MPI_IN_PLACE, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "MPI_Allreduce",
        "sendbuf is MPI_IN_PLACE");
    BAD(MPI_Allreduce(x, y, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, "MPI_Allreduce",
        "count is -1");
    BAD(MPI_Reduce(NULL, y, 1, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_BUFFER, "MPI_Reduce", "sendbuf");
    BAD(MPI_Reduce_scatter(x, y, wrong, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT,
        "MPI_Reduce_scatter", "recvcounts[0] is -9");
    BAD(MPI_Reduce_scatter(x, y, NULL, MPI_INT, MPI_SUM, comm), MPI_ERR_ARG, "MPI_Reduce_scatter",
        "recvcounts");
    BAD(MPI_Reduce_scatter_block(x, y, -2, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT,
        "MPI_Reduce_scatter_block", "recvcount is -2");
    BAD(MPI_Scan(x, y, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM, "MPI_Scan", "intercommunicator");
    BAD(MPI_Iexscan(x, y, 1, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_COMM, "MPI_Iexscan",
        "intercommunicator");
    BAD(MPI_Iallreduce(x, y, 1, MPI_INT, MPI_SUM, comm, NULL), MPI_ERR_ARG, "MPI_Iallreduce",
        "request");
    BAD(MPI_Ialltoall(x, 1, MPI_INT, y, 1, MPI_INT, comm, NULL), MPI_ERR_ARG, "MPI_Ialltoall",
        "request");
}

static void disagreement(MPI_Comm comm)
{
    int x[16] = {0}, y[16] = {0};
    BAD(MPI_Alltoall(x, 2, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_TRUNCATE, "MPI_Alltoall",
        "do not agree");
    BAD(MPI_Allgather(x, 1, MPI_INT, y, 2, MPI_INT, comm), MPI_ERR_TRUNCATE, "MPI_Allgather",
        "do not agree");
}

static void round_of_calls(int i, void *state)
{
    MPI_Comm comm = *(MPI_Comm *)state;
    int n = world_size(), far = -1, x = i + 1, y = 0, all[64];
    MPI_Request request;
    CHECK_OK(MPI_Comm_remote_size(comm, &far));
    CHECK_OK(MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm, &request));
    CHECK_OK(MPI_Allgather(&x, 1, MPI_INT, all, 1, MPI_INT, comm));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(y, far * (i + 1));
    CHECK_INT(all[far - 1], i + 1);
    CHECK(far < n);
    CHECK_OK(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int n = world_size(), low = world_rank() < n / 2;
    MPI_Comm half, comm;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? n / 2 : 0, 1, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    roots(comm);
    data(comm);
    disagreement(comm);
    check_growth(round_of_calls, &comm, rounds_of(6000));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&half));
    CHECK_OK(MPI_Finalize());
    return 0;
}
