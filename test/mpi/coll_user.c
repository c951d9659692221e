// SPDX-License-Identifier: BSD-3-Clause
//
// What users' functions of reductions may rely on: the datatype they are given answers questions,
// elements are aligned as in the user's own buffers, functions may differ between ranks, elements
// without bytes are no elements, and handles may be freed while a call is under way.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

enum { COUNT = 50, CALLS = 6 };

// Only `a` and `b` are in the datatype, which therefore begins at 4.
struct record {
    int skipped, a;
    double b;
};

// The first one's a, the sum of b.
static void join(struct record *in, struct record *inout, MPI_Count len, MPI_Datatype type)
{
    MPI_Aint lb = -1, extent = -1;
    int size = -1, combiner = -1, n[3];
    CHECK_OK(MPI_Type_get_extent(type, &lb, &extent));
    CHECK_OK(MPI_Type_size(type, &size));
    CHECK_OK(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner));
    CHECK(extent == sizeof(struct record) && size == 12);
    CHECK((uintptr_t)in % _Alignof(struct record) == 0);
    CHECK((uintptr_t)inout % _Alignof(struct record) == 0);
    for (MPI_Count i = 0; i < len; i++) {
        inout[i].a = in[i].a;
        inout[i].b += in[i].b;
    }
}

static void join_few(void *in, void *inout, int *len, MPI_Datatype *type)
{
    join(in, inout, *len, *type);
}

static void join_many(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    join(in, inout, *len, *type);
}

static MPI_Datatype record_type(void)
{
    MPI_Datatype type;
    const int lengths[] = {1, 1};
    const MPI_Aint displs[] = {offsetof(struct record, a), offsetof(struct record, b)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    CHECK_OK(MPI_Type_create_struct(2, lengths, displs, types, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

static void fill(struct record *r, int rank)
{
    for (int i = 0; i < COUNT; i++)
        r[i] = (struct record){-7, rank, rank + i};
}

static void verify(const struct record *r, int ranks, int in_order)
{
    for (int i = 0; i < COUNT; i++)
        CHECK(r[i].skipped == -7 && (!in_order || r[i].a == 0) &&
              r[i].b == ranks * (ranks - 1) / 2 + ranks * i);
}

// Blocking; ranks have functions that differ in address but not in what they do.
static void functions(int in_place)
{
    int rank = world_rank(), ranks = world_size();
    struct record in[COUNT], out[COUNT];
    MPI_Op op;
    MPI_Datatype type = record_type();
    if (rank % 2)
        CHECK_OK(MPI_Op_create(join_few, 0, &op));
    else
        CHECK_OK(MPI_Op_create_c(join_many, 0, &op));
    fill(in, rank);
    fill(out, rank);
    CHECK_OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, COUNT, type, op, MPI_COMM_WORLD));
    verify(out, ranks, 1);
    fill(out, rank);
    CHECK_OK(MPI_Scan(in_place ? MPI_IN_PLACE : in, out, COUNT, type, op, MPI_COMM_WORLD));
    verify(out, rank + 1, 1);
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&type));
}

// Everything that was given is freed before the calls are over.
static void freed(void)
{
    int rank = world_rank(), ranks = world_size(), from = (rank + 1) % ranks;
    struct record in[COUNT], out[CALLS][COUNT];
    MPI_Request requests[CALLS], late;
    int token = -1;
    fill(in, rank);
    for (int c = 0; c < CALLS; c++) {
        MPI_Comm comm;
        MPI_Op op;
        MPI_Datatype type = record_type();
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        CHECK_OK(MPI_Op_create(join_few, c % 2, &op));
        fill(out[c], rank);
        if (c < 3)
            CHECK_OK(MPI_Iallreduce(in, out[c], COUNT, type, op, comm, &requests[c]));
        else
            CHECK_OK(
                MPI_Allreduce_init(in, out[c], COUNT, type, op, comm, MPI_INFO_NULL, &requests[c]));
        CHECK_OK(MPI_Op_free(&op));
        CHECK_OK(MPI_Type_free(&type));
        CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Irecv(&token, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &late));
    CHECK_OK(MPI_Startall(CALLS - 3, requests + 3));
    CHECK_OK(MPI_Send(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Wait(&late, MPI_STATUS_IGNORE));
    CHECK_INT(token, from);
    for (int c = 0; c < CALLS; c++) {
        verify(out[c], ranks, c % 2 == 0);
        CHECK((requests[c] == MPI_REQUEST_NULL) == (c < 3));
        if (c >= 3)
            CHECK_OK(MPI_Request_free(&requests[c]));
    }
}

static void never(void *in, void *inout, MPI_Count *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)type;
    check_fail(__FILE__, __LINE__, "called for %lld elements without bytes", (long long)*len);
}

// More of them than bytes anywhere.
static void empty(void)
{
    const MPI_Count huge = (MPI_Count)1 << 52;
    MPI_Count *counts = malloc((size_t)world_size() * sizeof *counts);
    MPI_Datatype type;
    MPI_Op op;
    char in = 1, out = 2;
    MPI_Request request;
    CHECK(counts != NULL);
    for (int r = 0; r < world_size(); r++)
        counts[r] = huge + r;
    CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Op_create_c(never, 0, &op));
    CHECK_OK(MPI_Allreduce_c(&in, &out, huge, type, op, MPI_COMM_WORLD));
    CHECK_OK(MPI_Exscan_c(MPI_IN_PLACE, &out, huge, type, op, MPI_COMM_WORLD));
    CHECK_OK(MPI_Reduce_c(&in, &out, huge, type, op, 0, MPI_COMM_WORLD));
    CHECK_OK(MPI_Reduce_scatter_block_c(&in, &out, huge, type, op, MPI_COMM_WORLD));
    CHECK_OK(MPI_Reduce_scatter_c(&in, &out, counts, type, op, MPI_COMM_WORLD));
    CHECK_OK(MPI_Ireduce_scatter_c(MPI_IN_PLACE, &out, counts, type, op, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(out, 2);
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&type));
    free(counts);
}

static void add_bytes(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int size = -1;
    CHECK_OK(MPI_Type_size(*type, &size));
    for (int i = 0; i < *len * size; i++)
        ((unsigned char *)inout)[i] += ((unsigned char *)in)[i];
}

// Five bytes an element, one behind the other, though the bounds are elsewhere and the first four
// are an int.
static void odd_bounds(void)
{
    enum { N = 40 };
    const int lengths[] = {1, 1};
    const MPI_Aint displs[] = {0, 4};
    const MPI_Datatype types[] = {MPI_INT, MPI_CHAR};
    MPI_Datatype pair, type;
    MPI_Op op;
    unsigned char in[5 * N], out[5 * N + 8];
    CHECK_OK(MPI_Type_create_struct(2, lengths, displs, types, &pair));
    CHECK_OK(MPI_Type_create_resized(pair, -1, 5, &type));
    CHECK_OK(MPI_Type_commit(&type));
    CHECK_OK(MPI_Op_create(add_bytes, 1, &op));
    memset(in, 1, sizeof in);
    memset(out, 99, sizeof out);
    CHECK_OK(MPI_Allreduce(in, out, N, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < 5 * N; i++)
        CHECK_INT(out[i], world_size());
    for (int i = 5 * N; i < 5 * N + 8; i++)
        CHECK_INT(out[i], 99);
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    functions(0);
    functions(1);
    freed();
    empty();
    odd_bounds();
    CHECK_OK(MPI_Finalize());
    return 0;
}
