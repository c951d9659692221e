// SPDX-License-Identifier: BSD-3-Clause
//
// Wrong arguments of neighbourhood collectives, on all ranks alike: the right class, and an error
// message that names the function and the value. What neighbours disagree about is told to the
// receiver. Afterwards the communicator works, and thousands of calls do not make the process grow.

#include "growth.h"
#include "neighbor.h"

#define BAD CHECK_ERROR

static void no_neighbours(void)
{
    int out[4] = {0}, in[4] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    BAD(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY,
        "MPI_Neighbor_allgather", "no topology");
    BAD(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &request),
        MPI_ERR_TOPOLOGY, "MPI_Ineighbor_alltoall", "MPI_COMM_WORLD has no topology");
    BAD(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM,
        "MPI_Neighbor_alltoall", "MPI_COMM_NULL");
    CHECK(request == MPI_REQUEST_NULL);
}

static void alike(MPI_Comm comm)
{
    int out[4] = {0}, in[4] = {0};
    MPI_Datatype fresh;
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &fresh));
    BAD(MPI_Neighbor_allgather(out, -1, MPI_INT, in, 1, MPI_INT, comm), MPI_ERR_COUNT,
        "MPI_Neighbor_allgather", "sendcount is -1");
    BAD(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, -2, MPI_INT, comm), MPI_ERR_COUNT,
        "MPI_Neighbor_alltoall", "recvcount is -2");
    BAD(MPI_Neighbor_alltoall(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_INT, comm), MPI_ERR_TYPE,
        "MPI_Neighbor_alltoall", "sendtype");
    BAD(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, fresh, comm), MPI_ERR_TYPE,
        "MPI_Neighbor_alltoall", "recvtype");
    BAD(MPI_Neighbor_alltoall(NULL, 1, MPI_INT, in, 1, MPI_INT, comm), MPI_ERR_BUFFER,
        "MPI_Neighbor_alltoall", "sendbuf");
    BAD(MPI_Neighbor_allgather(out, 1, MPI_INT, NULL, 1, MPI_INT, comm), MPI_ERR_BUFFER,
        "MPI_Neighbor_allgather", "recvbuf");
    BAD(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, in, 1, MPI_INT, comm), MPI_ERR_BUFFER,
        "MPI_Neighbor_allgather", "sendbuf is MPI_IN_PLACE");
    BAD(MPI_Neighbor_alltoall_c(out, INT64_MAX / 8, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm),
        MPI_ERR_COUNT, "MPI_Neighbor_alltoall_c", "63 bits");
    BAD(MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm, NULL), MPI_ERR_ARG,
        "MPI_Ineighbor_allgather", "request");
    BAD(MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, MPI_INFO_NULL, NULL),
        MPI_ERR_ARG, "MPI_Neighbor_alltoall_init", "request");
    CHECK_OK(MPI_Type_free(&fresh));
}

static void lists(MPI_Comm comm)
{
    int out[4] = {0}, in[4] = {0}, counts[2] = {1, 1}, displs[2] = {0, 1}, wrong[2] = {1, -7};
    MPI_Aint bytes[2] = {0, 4};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, bad[2] = {MPI_INT, MPI_DATATYPE_NULL};
    MPI_Count many[2] = {INT64_MAX / 8, INT64_MAX / 8};
    MPI_Aint wide[2] = {0, 1};
    BAD(MPI_Neighbor_alltoallv(out, wrong, displs, MPI_INT, in, counts, displs, MPI_INT, comm),
        MPI_ERR_COUNT, "MPI_Neighbor_alltoallv", "sendcounts[1] is -7");
    BAD(MPI_Neighbor_alltoallv(out, counts, displs, MPI_INT, in, NULL, displs, MPI_INT, comm),
        MPI_ERR_ARG, "MPI_Neighbor_alltoallv", "recvcounts");
    BAD(MPI_Neighbor_alltoallv(out, counts, NULL, MPI_INT, in, counts, displs, MPI_INT, comm),
        MPI_ERR_ARG, "MPI_Neighbor_alltoallv", "sdispls");
    BAD(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, counts, NULL, MPI_INT, comm), MPI_ERR_ARG,
        "MPI_Neighbor_allgatherv", "argument displs");
    BAD(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, wrong, displs, MPI_INT, comm), MPI_ERR_COUNT,
        "MPI_Neighbor_allgatherv", "recvcounts[1] is -7");
    BAD(MPI_Neighbor_alltoallv(NULL, counts, displs, MPI_INT, in, counts, displs, MPI_INT, comm),
        MPI_ERR_BUFFER, "MPI_Neighbor_alltoallv", "sendbuf");
    BAD(MPI_Neighbor_alltoallv_c(out, many, wide, MPI_DOUBLE, in, many, wide, MPI_DOUBLE, comm),
        MPI_ERR_COUNT, "MPI_Neighbor_alltoallv_c", "63 bits");
    BAD(MPI_Neighbor_alltoallw(out, counts, bytes, bad, in, counts, bytes, types, comm),
        MPI_ERR_TYPE, "MPI_Neighbor_alltoallw", "sendtypes[1]");
    BAD(MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, NULL, comm),
        MPI_ERR_ARG, "MPI_Neighbor_alltoallw", "recvtypes");
    BAD(MPI_Neighbor_alltoallw(MPI_IN_PLACE, counts, bytes, types, in, counts, bytes, types, comm),
        MPI_ERR_BUFFER, "MPI_Neighbor_alltoallw", "MPI_IN_PLACE");
}

// Everybody sends two and wants one, or the other way round: from others and from itself.
static void disagreement(MPI_Comm comm)
{
    int out[8] = {0}, in[8] = {0};
    BAD(MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 1, MPI_INT, comm), MPI_ERR_TRUNCATE,
        "MPI_Neighbor_alltoall", "do not agree");
    BAD(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 2, MPI_INT, comm), MPI_ERR_TRUNCATE,
        "MPI_Neighbor_allgather", "do not agree");
    MPI_Request request;
    CHECK_OK(MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 1, MPI_INT, comm, &request));
    BAD(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "MPI_Wait", "do not agree");
}

static void works(MPI_Comm comm)
{
    around a = look_around(comm);
    int in[2] = {-1, -1};
    CHECK_OK(MPI_Neighbor_allgather(&a.rank, 1, MPI_INT, in, 1, MPI_INT, comm));
    CHECK_INT(in[0], a.in.peer[0]);
    CHECK_INT(in[1], a.in.peer[1]);
}

// Lists of different shapes, of types with gaps, freed before they are over.
static void round_of_calls(int i, void *state)
{
    MPI_Comm comm = *(MPI_Comm *)state;
    int out[64], in[64], n = i % 3, counts[2] = {n, n}, displs[2] = {4, 0};
    MPI_Datatype type;
    MPI_Request request[2];
    memset(out, i & 127, sizeof out);
    CHECK_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Ineighbor_alltoallv(out, counts, displs, type, in, counts, displs, type, comm,
                                     &request[0]));
    CHECK_OK(MPI_Neighbor_alltoall_init(out, 1 + i % 5, MPI_INT, in + 40, 1 + i % 5, MPI_INT, comm,
                                        MPI_INFO_NULL, &request[1]));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Start(&request[1]));
    CHECK_OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Request_free(&request[1]));
    CHECK_INT(in[40], out[0]);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int line[1] = {world_size()}, one[2] = {world_size(), 1}, on[2] = {1, 1};
    MPI_Comm ring = make_grid(1, line, on), self = make_grid(2, one, on);
    no_neighbours();
    alike(ring);
    lists(ring);
    disagreement(ring);
    disagreement(self);
    works(ring);
    check_growth(round_of_calls, &ring, rounds_of(6000));
    CHECK_OK(MPI_Comm_free(&ring));
    CHECK_OK(MPI_Comm_free(&self));
    CHECK_OK(MPI_Finalize());
    return 0;
}
