// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Sendrecv, MPI_Sendrecv_replace, their nonblocking forms and large-count twins: a ring shift
// in both directions, with oneself, with MPI_PROC_NULL on either side, with different types and
// counts on the two sides, and with wildcards.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum form { PLAIN, LARGE, NONBLOCKING, NONBLOCKING_LARGE, FORMS };

static void sendrecv(enum form form, const void *out, int n, int dest, int send_tag, void *in,
                     int room, int source, int recv_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL;
    switch (form) {
    case PLAIN:
        CHECK_OK(MPI_Sendrecv(out, n, MPI_BYTE, dest, send_tag, in, room, MPI_BYTE, source,
                              recv_tag, comm, status));
        return;
    case LARGE:
        CHECK_OK(MPI_Sendrecv_c(out, n, MPI_BYTE, dest, send_tag, in, room, MPI_BYTE, source,
                                recv_tag, comm, status));
        return;
    case NONBLOCKING:
        CHECK_OK(MPI_Isendrecv(out, n, MPI_BYTE, dest, send_tag, in, room, MPI_BYTE, source,
                               recv_tag, comm, &r));
        break;
    default:
        CHECK_OK(MPI_Isendrecv_c(out, n, MPI_BYTE, dest, send_tag, in, room, MPI_BYTE, source,
                                 recv_tag, comm, &r));
        break;
    }
    CHECK_OK(MPI_Wait(&r, status));
    CHECK(r == MPI_REQUEST_NULL);
}

static void replace(enum form form, void *buf, int n, int dest, int send_tag, int source,
                    int recv_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL;
    switch (form) {
    case PLAIN:
        CHECK_OK(
            MPI_Sendrecv_replace(buf, n, MPI_BYTE, dest, send_tag, source, recv_tag, comm, status));
        return;
    case LARGE:
        CHECK_OK(MPI_Sendrecv_replace_c(buf, n, MPI_BYTE, dest, send_tag, source, recv_tag, comm,
                                        status));
        return;
    case NONBLOCKING:
        CHECK_OK(
            MPI_Isendrecv_replace(buf, n, MPI_BYTE, dest, send_tag, source, recv_tag, comm, &r));
        break;
    default:
        CHECK_OK(
            MPI_Isendrecv_replace_c(buf, n, MPI_BYTE, dest, send_tag, source, recv_tag, comm, &r));
        break;
    }
    CHECK_OK(MPI_Wait(&r, status));
    CHECK(r == MPI_REQUEST_NULL);
}

// The status is that of the receive.
#define CHECK_FORM_STATUS(form, status, source, tag, bytes)                                        \
    ((form) <= LARGE || STRICT ? CHECK_STATUS(status, source, tag, bytes) : (void)0)

// Everyone shifts `n` bytes by `step` ranks.
static void shift(enum form form, int n, int step)
{
    int rank = world_rank(), size = world_size();
    int dest = (rank + size + step) % size, source = (rank + size - step) % size;
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n + 8);
    MPI_Status status;
    pattern_fill(out, (size_t)n, (unsigned)rank);
    memset(in, 0, (size_t)n);
    sendrecv(form, out, n, dest, rank, in, n + 8, source, source, WORLD, &status);
    CHECK_FORM_STATUS(form, &status, source, source, n);
    CHECK_PATTERN(in, (size_t)n, (unsigned)source);
    CHECK_PATTERN(out, (size_t)n, (unsigned)rank);

    replace(form, out, n, dest, 7, source, 7, WORLD, &status);
    CHECK_FORM_STATUS(form, &status, source, 7, n);
    CHECK_PATTERN(out, (size_t)n, (unsigned)source);

    // Only the left neighbour sends to us in this step, so wildcards are unambiguous.
    CHECK_OK(MPI_Barrier(WORLD));
    pattern_fill(out, (size_t)n, (unsigned)rank + 50);
    sendrecv(form, out, n, dest, 8, in, n, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
    CHECK_FORM_STATUS(form, &status, source, 8, n);
    CHECK_PATTERN(in, (size_t)n, (unsigned)source + 50);
    CHECK_OK(MPI_Barrier(WORLD));
    free(out);
    free(in);
}

static void with_self(enum form form, int n, MPI_Comm comm, int me)
{
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n);
    MPI_Status status;
    pattern_fill(out, (size_t)n, 3);
    sendrecv(form, out, n, me, 4, in, n, me, 4, comm, &status);
    CHECK_FORM_STATUS(form, &status, me, 4, n);
    CHECK_PATTERN(in, (size_t)n, 3);
    replace(form, out, n, me, 5, me, 5, comm, &status);
    CHECK_FORM_STATUS(form, &status, me, 5, n);
    CHECK_PATTERN(out, (size_t)n, 3);
    free(out);
    free(in);
}

static void with_null(enum form form)
{
    int rank = world_rank(), size = world_size();
    // A line instead of a ring: the ends have no neighbour on one side.
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    int right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    int in = -1, buf = rank;
    MPI_Status status;
    sendrecv(form, &rank, sizeof rank, right, 1, &in, sizeof in, left, 1, WORLD, &status);
    CHECK_INT(in, left == MPI_PROC_NULL ? -1 : left);
    if (left == MPI_PROC_NULL)
        CHECK_FORM_STATUS(form, &status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    else
        CHECK_FORM_STATUS(form, &status, left, 1, sizeof in);
    replace(form, &buf, sizeof buf, right, 2, left, 2, WORLD, &status);
    CHECK_INT(buf, left == MPI_PROC_NULL ? rank : left);
    in = -1;
    sendrecv(form, &rank, sizeof rank, MPI_PROC_NULL, 3, &in, sizeof in, MPI_PROC_NULL, 3, WORLD,
             &status);
    CHECK_FORM_STATUS(form, &status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_INT(in, -1);
}

// Counts and types of the two sides need not be equal, and a plain send may meet a sendrecv.
static void mixed(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double out[3] = {rank + 0.5, rank + 1.5, rank + 2.5}, in[4] = {0};
    int count = -1;
    char flag = 0;
    MPI_Status status;
    CHECK_OK(
        MPI_Sendrecv(out, 3, MPI_DOUBLE, right, 11, in, 4, MPI_DOUBLE, left, 11, WORLD, &status));
    CHECK_OK(MPI_Get_count(&status, MPI_DOUBLE, &count));
    CHECK_INT(count, 3);
    CHECK(in[0] == left + 0.5 && in[2] == left + 2.5 && in[3] == 0);
    // Receives nothing but an empty message while it sends data.
    CHECK_OK(
        MPI_Sendrecv(&rank, 1, MPI_INT, right, 12, &count, 1, MPI_INT, left, 12, WORLD, &status));
    CHECK_INT(count, left);
    CHECK_OK(
        MPI_Sendrecv(NULL, 0, MPI_INT, right, 13, &flag, 1, MPI_CHAR, left, 13, WORLD, &status));
    CHECK_STATUS(&status, left, 13, 0);
    if (size % 2 == 0) {
        int peer = rank ^ 1, got = -1;
        if (rank & 1) {
            CHECK_OK(MPI_Send(&rank, 1, MPI_INT, peer, 14, WORLD));
            CHECK_OK(MPI_Recv(&got, 1, MPI_INT, peer, 15, WORLD, &status));
        } else {
            CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, peer, 15, &got, 1, MPI_INT, peer, 14, WORLD,
                                  &status));
        }
        CHECK_INT(got, peer);
    }
}

// Several nonblocking exchanges in flight at once, completed together.
static void many_at_once(void)
{
    enum { N = 16 };
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int out[N], in[N], both[N];
    MPI_Request requests[2 * N];
    MPI_Status statuses[2 * N];
    for (int i = 0; i < N; i++) {
        out[i] = both[i] = rank * 100 + i;
        CHECK_OK(MPI_Isendrecv(&out[i], 1, MPI_INT, right, 20 + i, &in[i], 1, MPI_INT, left, 20 + i,
                               WORLD, &requests[i]));
        CHECK_OK(MPI_Isendrecv_replace(&both[i], 1, MPI_INT, right, 50 + i, left, 50 + i, WORLD,
                                       &requests[N + i]));
    }
    CHECK_OK(MPI_Waitall(2 * N, requests, statuses));
    for (int i = 0; i < N; i++) {
        CHECK_INT(in[i], left * 100 + i);
        CHECK_INT(both[i], left * 100 + i);
        CHECK_FORM_STATUS(NONBLOCKING, &statuses[i], left, 20 + i, sizeof(int));
        CHECK_FORM_STATUS(NONBLOCKING, &statuses[N + i], left, 50 + i, sizeof(int));
    }
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 4, 64, 1000, 20000, 1 << 20};
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int form = PLAIN; form < FORMS; form++) {
        for (int i = 0; i < COUNT_OF(sizes) && !too_long(sizes[i]); i++) {
            shift((enum form)form, sizes[i], 1);
            shift((enum form)form, sizes[i], -1);
            with_self((enum form)form, sizes[i], WORLD, world_rank());
            with_self((enum form)form, sizes[i], MPI_COMM_SELF, 0);
        }
        if (STRICT || form <= LARGE)
            with_null((enum form)form);
    }
    mixed();
    many_at_once();
    CHECK_OK(MPI_Finalize());
    return 0;
}
