// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of collectives at the edges: addresses from MPI_BOTTOM, signatures that agree though
// counts and types do not, hints, counts that overflow; what errors say and to whom, and that the
// communicator works after them.

#include <stdint.h>
#include <stdlib.h>

#include "check.h"

enum { N = 10 };

static _Thread_local int handled; // calls of the handler by ranks of a worker

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled++;
}

static void works(MPI_Comm comm)
{
    int one = 1, sum = 0, n;
    CHECK_OK(MPI_Comm_size(comm, &n));
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(sum, n);
}

// Ten ints that lie wherever they lie, as one element at MPI_BOTTOM.
static MPI_Datatype absolute(const int *at, int gap)
{
    MPI_Datatype type;
    int lengths[N];
    MPI_Aint displs[N];
    for (int i = 0; i < N; i++) {
        lengths[i] = 1;
        CHECK_OK(MPI_Get_address(at + i * gap, &displs[i]));
    }
    CHECK_OK(MPI_Type_create_hindexed(N, lengths, displs, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// Every collective that moves data, the root's or the even ranks' side at MPI_BOTTOM.
static void bottom(MPI_Comm comm)
{
    int rank = world_rank(), n = world_size(), even = rank % 2 == 0, here[2 * N], there[N];
    int *all = malloc((size_t)n * N * sizeof(int));
    MPI_Datatype type = absolute(here, 2);
    void *buf = even ? MPI_BOTTOM : there;
    MPI_Datatype own = even ? type : MPI_INT;
    int count = even ? 1 : N;
    CHECK(all != NULL);
    for (int i = 0; i < 2 * N; i++)
        here[i] = i % 2 ? -1 : rank * 100 + i / 2;
    for (int i = 0; i < N; i++)
        there[i] = rank * 100 + i;
    CHECK_OK(MPI_Allgather(buf, count, own, all, N, MPI_INT, comm));
    for (int i = 0; i < n * N; i++)
        CHECK_INT(all[i], i / N * 100 + i % N);
    CHECK_OK(MPI_Gather(buf, count, own, all, N, MPI_INT, n - 1, comm));
    CHECK_OK(MPI_Scatter(all, N, MPI_INT, buf, count, own, n - 1, comm));
    CHECK_OK(MPI_Bcast(buf, count, own, n / 2, comm));
    for (int i = 0; i < N; i++) {
        CHECK_INT(even ? here[2 * i] : there[i], n / 2 * 100 + i);
        CHECK_INT(here[2 * i + 1], -1); // gaps
    }
    CHECK_OK(MPI_Type_free(&type));
    free(all);
}

// Displacements in bytes from MPI_BOTTOM, and basic types.
static void addresses(MPI_Comm comm)
{
    int n = world_size(), rank = world_rank();
    int *out = malloc((size_t)n * sizeof(int)), *in = malloc((size_t)n * sizeof(int));
    MPI_Count *counts = malloc((size_t)n * sizeof *counts);
    MPI_Aint *from = malloc((size_t)n * sizeof *from), *to = malloc((size_t)n * sizeof *to);
    MPI_Datatype *types = malloc((size_t)n * sizeof(MPI_Datatype));
    CHECK(out && in && counts && from && to && types);
    for (int r = 0; r < n; r++) {
        out[r] = rank * 100 + r;
        in[r] = -1;
        counts[r] = 1;
        types[r] = MPI_INT;
        CHECK_OK(MPI_Get_address(&out[r], &from[r]));
        CHECK_OK(MPI_Get_address(&in[r], &to[r]));
    }
    CHECK_OK(MPI_Alltoallw_c(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, comm));
    for (int r = 0; r < n; r++)
        CHECK_INT(in[r], r * 100 + rank);
    to[0] = 0;
    CHECK_ERROR(
        MPI_Alltoallw_c(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, comm),
        MPI_ERR_BUFFER, "MPI_Alltoallw_c", "recvbuf");
    free(out), free(in), free(counts), free(from), free(to), free(types);
}

// NULL is no address of data that begins there, whoever made the type.
static void null(MPI_Comm comm)
{
    int out[2] = {1, 2}, *in = calloc(2 * (size_t)world_size(), sizeof(int));
    MPI_Datatype pair;
    CHECK(in != NULL);
    CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    CHECK_OK(MPI_Type_commit(&pair));
    CHECK_ERROR(MPI_Allgather(NULL, 1, pair, in, 1, pair, comm), MPI_ERR_BUFFER, "MPI_Allgather",
                "sendbuf");
    CHECK_ERROR(MPI_Bcast(NULL, 1, pair, 0, comm), MPI_ERR_BUFFER, "MPI_Bcast", "buffer");
    CHECK_ERROR(MPI_Allreduce(NULL, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "MPI_Allreduce",
                "sendbuf");
    CHECK_ERROR(MPI_Allreduce(out, NULL, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER,
                "MPI_Allreduce", "recvbuf");
    int one[2] = {1, 1}, at[2] = {0, 1}, periodic = 1, n = world_size();
    MPI_Aint bytes[2] = {0, sizeof out};
    const MPI_Datatype types[2] = {pair, pair};
    MPI_Comm ring;
    CHECK_OK(MPI_Cart_create(comm, 1, &n, &periodic, 0, &ring));
    CHECK_OK(MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN));
    CHECK_ERROR(MPI_Neighbor_alltoallv(NULL, one, at, pair, in, one, at, pair, ring),
                MPI_ERR_BUFFER, "MPI_Neighbor_alltoallv", "sendbuf");
    CHECK_ERROR(MPI_Neighbor_alltoallw(in, one, bytes, types, NULL, one, bytes, types, ring),
                MPI_ERR_BUFFER, "MPI_Neighbor_alltoallw", "recvbuf");
    CHECK_OK(MPI_Comm_free(&ring));
    CHECK_OK(MPI_Type_free(&pair));
    free(in);
}

static void counts(MPI_Comm comm)
{
    int n = world_size(), out = 0, in = 0;
    MPI_Count *many = malloc((size_t)n * sizeof *many);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(many != NULL);
    CHECK_ERROR(MPI_Allreduce(&out, &in, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT,
                "MPI_Allreduce", "argument count is -1");
    CHECK_ERROR(MPI_Iscan_c(&out, &in, INT64_MAX, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_COUNT,
                "MPI_Iscan_c", "argument count is 9223372036854775807");
    CHECK_ERROR(MPI_Allreduce_c(&out, &in, (MPI_Count)1 << 61, MPI_WCHAR, MPI_BAND, comm),
                MPI_ERR_OP, "MPI_Allreduce_c", "");
    CHECK_ERROR(MPI_Allreduce_c(&out, &in, (MPI_Count)1 << 61, MPI_BYTE, MPI_BAND, comm),
                MPI_ERR_COUNT, "MPI_Allreduce_c", "60 bits");
    for (int alike = 0; alike < 2; alike++) {
        for (int r = 0; r < n; r++)
            many[r] = ((MPI_Count)1 << 62) + (alike ? 0 : r);
        CHECK_ERROR(MPI_Reduce_scatter_c(&out, &in, many, MPI_BYTE, MPI_BOR, comm), MPI_ERR_COUNT,
                    "MPI_Reduce_scatter_c", "");
        CHECK_ERROR(MPI_Reduce_scatter_c(MPI_IN_PLACE, &in, many, MPI_BYTE, MPI_BOR, comm),
                    MPI_ERR_COUNT, "MPI_Reduce_scatter_c", "");
    }
    CHECK_ERROR(MPI_Reduce_scatter_block_c(&out, &in, INT64_MAX, MPI_BYTE, MPI_BOR, comm),
                MPI_ERR_COUNT, "MPI_Reduce_scatter_block_c", "recvcount");
    CHECK(request == MPI_REQUEST_NULL);
    free(many);
}

// What is read and what is written must lie apart. The own block of MPI_Allgather may lie where it
// goes, as old programs have it; that of a root may not.
static void overlaps(MPI_Comm comm)
{
    const char *words = "sendbuf and recvbuf overlap";
    int n = world_size(), me = world_rank(), *a = calloc(3 * (size_t)n, sizeof *a), *b = a + n;
    int *one = malloc((size_t)n * sizeof *one), *at = malloc((size_t)n * sizeof *at);
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK(a && one && at && n > 1);
    for (int i = 0; i < n; i++) {
        one[i] = 1;
        at[i] = i;
        b[i] = i;
    }
    CHECK_ERROR(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, words, "IN_PLACE");
    CHECK_ERROR(MPI_Iscan(a, a + 1, 2, MPI_INT, MPI_SUM, comm, &r), MPI_ERR_BUFFER, words, "");
    CHECK_ERROR(MPI_Reduce_scatter_block(a, a + 1, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER,
                words, "");
    CHECK_ERROR(MPI_Reduce_scatter(a, a, one, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, words, "");
    CHECK_ERROR(MPI_Allgather(a + (me + 1) % n, 1, MPI_INT, a, 1, MPI_INT, comm), MPI_ERR_BUFFER,
                words, "");
    CHECK_ERROR(MPI_Alltoall(a, 1, MPI_INT, a + 1, 1, MPI_INT, comm), MPI_ERR_BUFFER, words, "");
    CHECK_ERROR(MPI_Alltoallv(a, one, at, MPI_INT, a, one, at, MPI_INT, comm), MPI_ERR_BUFFER,
                words, "");
    CHECK_OK(MPI_Allgather(b + me, 1, MPI_INT, b, 1, MPI_INT, comm));
    for (int i = 0; i < n; i++)
        CHECK_INT(b[i], i);
    if (me == 0) { // before any other rank is met
        CHECK_ERROR(MPI_Gather(a, 1, MPI_INT, a, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, words, "");
        CHECK_ERROR(MPI_Scatter(a, 1, MPI_INT, a, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, words, "");
    }
    CHECK_OK(MPI_Alltoall(a, 0, MPI_INT, a, 0, MPI_INT, comm));
    CHECK_OK(MPI_Scatter(a, 1, MPI_INT, a + n, 1, MPI_INT, 0, comm));
    free(a);
    free(one);
    free(at);
}

static void hints(MPI_Comm comm)
{
    MPI_Info info, bad;
    MPI_Request request = MPI_REQUEST_NULL, none = MPI_REQUEST_NULL;
    int out = world_rank(), in = -1, sum = -1, n = world_size();
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "any", "thing"));
    CHECK_OK(MPI_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, comm, info, &request));
    bad = info;
    CHECK_OK(MPI_Info_free(&info));
    CHECK_ERROR(MPI_Barrier_init(comm, bad, &none), MPI_ERR_INFO, "MPI_Barrier_init", "info");
    CHECK_ERROR(MPI_Bcast_init(&in, 1, MPI_INT, 0, comm, bad, &none), MPI_ERR_INFO,
                "MPI_Bcast_init", "info");
    CHECK_ERROR(MPI_Gather_init(&out, 0, MPI_INT, &in, 0, MPI_INT, 0, comm, bad, &none),
                MPI_ERR_INFO, "MPI_Gather_init", "info");
    CHECK_ERROR(MPI_Reduce_init(&out, &in, 1, MPI_INT, MPI_SUM, 0, comm, bad, &none), MPI_ERR_INFO,
                "MPI_Reduce_init", "info");
    CHECK_ERROR(MPI_Reduce_init(&out, &in, 1, MPI_INT, MPI_SUM, 0, comm, MPI_INFO_NULL, NULL),
                MPI_ERR_ARG, "MPI_Reduce_init", "request");
    CHECK_ERROR(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG, "MPI_Ibarrier", "request");
    for (int round = 0; round < 2; round++) { // inactive at first; buffers are read at each start
        int done = 0;
        CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
        CHECK(done && request != MPI_REQUEST_NULL);
        CHECK_INT(sum, round ? n * (n - 1) / 2 : -1);
        out = world_rank() + round;
        CHECK_OK(MPI_Start(&request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_INT(sum, n * (n - 1) / 2 + round * n);
    }
    CHECK_OK(MPI_Request_free(&request));
}

static int call(int which, const int *out, int *in, int count, MPI_Comm comm)
{
    MPI_Request request;
    switch (which) {
    case 0:
        return MPI_Bcast(in, count, MPI_INT, 0, comm);
    case 1:
        return MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
    case 2:
        return MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, 0, comm);
    case 3:
        return MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, 0, comm);
    case 4:
        return MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, comm);
    case 5:
        return MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, comm);
    case 6:
        return MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, 0, comm);
    case 7:
        return MPI_Scan(out, in, count, MPI_INT, MPI_SUM, comm);
    case 8:
        return MPI_Reduce_scatter_block(out, in, count, MPI_INT, MPI_SUM, comm);
    default:
        CHECK_OK(MPI_Ibcast(in, count, MPI_INT, 0, comm, &request));
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// One rank has half as many elements: somebody is told, nobody writes beyond what he has, and all
// go on.
static void disagree(MPI_Comm comm)
{
    int rank = world_rank(), n = world_size(), room = (N + 1) * n;
    int *out = malloc((size_t)room * sizeof(int)), *in = malloc((size_t)room * sizeof(int));
    CHECK(out && in);
    for (int which = 0; which < 10 && n > 1; which++)
        for (int who = 0; who < n; who++) {
            int count = rank == who ? N / 2 : N, told, all;
            int blocks = which == 2 || which == 4 || which == 5;
            for (int i = 0; i < room; i++)
                out[i] = 1, in[i] = -1;
            int code = call(which, out, in, count, comm);
            CHECK(code == MPI_SUCCESS || error_class(code) == MPI_ERR_TRUNCATE);
            for (int i = (blocks ? n : 1) * count; i < room; i++)
                CHECK_INT(in[i], -1);
            told = code != MPI_SUCCESS;
            CHECK_OK(MPI_Allreduce(&told, &all, 1, MPI_INT, MPI_SUM, comm));
            CHECK(all > 0);
        }
    free(out);
    free(in);
}

// The root's own part does not fit, which nobody else knows.
static void own_part(MPI_Comm comm)
{
    int n = world_size(), rank = world_rank(), out[2] = {1, 2};
    int *counts = malloc((size_t)n * sizeof(int)), *displs = malloc((size_t)n * sizeof(int));
    int *in = malloc((size_t)n * sizeof(int));
    CHECK(counts && displs && in);
    for (int r = 0; r < n; r++) {
        counts[r] = 1;
        displs[r] = r;
    }
    int code = MPI_Gatherv(out, rank ? 1 : 2, MPI_INT, in, counts, displs, MPI_INT, 0, comm);
    CHECK_INT(code == MPI_SUCCESS ? code : error_class(code),
              rank ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
    works(comm);
    free(counts), free(displs), free(in);
}

// A rank's communicator knows about the error, once for each, and nobody else's.
static void handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler own;
    MPI_Request request;
    int x = 0, before = handled;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    CHECK_OK(MPI_Comm_create_errhandler(handler, &own));
    CHECK_OK(MPI_Comm_set_errhandler(comm, own));
    CHECK(MPI_Bcast(&x, 1, MPI_INT, 1, comm) != MPI_SUCCESS);
    CHECK(MPI_Ireduce(&x, &x, -1, MPI_INT, MPI_SUM, 0, comm, &request) != MPI_SUCCESS);
    CHECK(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm) != MPI_SUCCESS);
    CHECK(MPI_Barrier_init(comm, (MPI_Info)(uintptr_t)64, &request) != MPI_SUCCESS);
    CHECK_INT(handled - before, 4);
    works(comm);
    CHECK_OK(MPI_Errhandler_free(&own));
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    bottom(comm);
    addresses(comm);
    null(comm);
    works(comm);
    counts(comm);
    works(comm);
    overlaps(comm);
    hints(comm);
    works(comm);
    disagree(comm);
    own_part(comm);
    handlers(); // nobody is waited for inside, so nobody else counts meanwhile
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    return 0;
}
