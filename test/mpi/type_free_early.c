// SPDX-License-Identifier: BSD-3-Clause
//
// A datatype that is freed while operations with it are under way lives until they are done: small
// and large messages, nonblocking and persistent, and new types that could take its place.

#include "check.h"

enum { REQUESTS = 4, NEW = 200 };

static MPI_Datatype every_second(int n, MPI_Datatype basic)
{
    MPI_Datatype type;
    CHECK_OK(MPI_Type_vector(n, 1, 2, basic, &type));
    CHECK_OK(MPI_Type_commit(&type));
    return type;
}

// Takes the memory of what was freed, if anything gave it back.
static void stir(void)
{
    MPI_Datatype types[NEW];
    for (int i = 0; i < NEW; i++)
        types[i] = every_second(3 + i, MPI_CHAR);
    for (int i = 0; i < NEW; i++)
        CHECK_OK(MPI_Type_free(&types[i]));
}

static void check_arrived(const int *in, int n, int from)
{
    for (int i = 0; i < n; i++) {
        CHECK_INT(in[2 * i], from * 1000 + 2 * i);
        CHECK_INT(in[2 * i + 1], -1);
    }
}

static void nonblocking(int n)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    size_t bytes = (size_t)n * 2 * sizeof(int);
    int *out = must_alloc(bytes), *in = must_alloc(bytes), *late = must_alloc(bytes);
    MPI_Request r[REQUESTS];
    for (int i = 0; i < 2 * n; i++) {
        out[i] = rank * 1000 + i;
        in[i] = late[i] = -1;
    }
    MPI_Datatype a = every_second(n, MPI_INT), b = every_second(n, MPI_INT);
    CHECK_OK(MPI_Irecv(in, 1, a, left, 1, MPI_COMM_WORLD, &r[0]));
    CHECK_OK(MPI_Isend(out, 1, b, right, 1, MPI_COMM_WORLD, &r[1]));
    CHECK_OK(MPI_Issend(out, 1, b, right, 2, MPI_COMM_WORLD, &r[2]));
    CHECK_OK(MPI_Type_free(&b));
    stir();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Irecv(late, 1, a, left, 2, MPI_COMM_WORLD, &r[3]));
    CHECK_OK(MPI_Type_free(&a));
    stir();
    CHECK_OK(MPI_Waitall(REQUESTS, r, MPI_STATUSES_IGNORE));
    check_arrived(in, n, left);
    check_arrived(late, n, left);
    free(out);
    free(in);
    free(late);
}

static void persistent(int n)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    size_t bytes = (size_t)n * 2 * sizeof(int);
    int *out = must_alloc(bytes), *in = must_alloc(bytes);
    MPI_Request r[2];
    MPI_Datatype a = every_second(n, MPI_INT), b = every_second(n, MPI_INT);
    CHECK_OK(MPI_Recv_init(in, 1, a, left, 3, MPI_COMM_WORLD, &r[0]));
    CHECK_OK(MPI_Send_init(out, 1, b, right, 3, MPI_COMM_WORLD, &r[1]));
    CHECK_OK(MPI_Type_free(&a));
    CHECK_OK(MPI_Type_free(&b));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2 * n; i++) {
            out[i] = rank * 1000 + i;
            in[i] = -1;
        }
        stir();
        CHECK_OK(MPI_Startall(2, r));
        CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        check_arrived(in, n, left);
    }
    CHECK_OK(MPI_Request_free(&r[0]));
    CHECK_OK(MPI_Request_free(&r[1]));
    free(out);
    free(in);
}

// A buffered message of a derived type without gaps, whose datatype is freed at once.
static void buffered(int n)
{
    int rank = world_rank(), size = world_size(), left = (rank + size - 1) % size;
    int *out = must_alloc((size_t)n * sizeof(int)), *in = must_alloc((size_t)n * sizeof(int));
    int room = n * (int)sizeof(int) + MPI_BSEND_OVERHEAD, old = 0;
    void *buffer = must_alloc((size_t)room), *was = NULL;
    MPI_Datatype row;
    for (int i = 0; i < n; i++) {
        out[i] = rank * 1000 + i;
        in[i] = -1;
    }
    CHECK_OK(MPI_Buffer_attach(buffer, room));
    CHECK_OK(MPI_Type_contiguous(n, MPI_INT, &row));
    CHECK_OK(MPI_Type_commit(&row));
    CHECK_OK(MPI_Bsend(out, 1, row, (rank + 1) % size, 3, MPI_COMM_WORLD));
    CHECK_OK(MPI_Type_free(&row));
    stir();
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Recv(in, n, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        CHECK_INT(in[i], left * 1000 + i);
    CHECK_OK(MPI_Buffer_detach(&was, &old));
    free(buffer);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const int sizes[] = {1, 10, 1000, 20000, 200000};
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        nonblocking(sizes[i]);
        persistent(sizes[i]);
        buffered(sizes[i]);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
