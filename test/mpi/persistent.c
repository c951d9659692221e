// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests: all modes and their large-count twins, started one by one and together,
// reused with new contents, meeting other kinds of calls, freed while inactive and while active.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { ROUNDS = 20, READY_TAG = 900 };

typedef int send_init_fn(const void *buf, int n, int dest, int tag, MPI_Request *request);

#define SEND_INIT(name, call)                                                                      \
    static int name(const void *buf, int n, int dest, int tag, MPI_Request *request)               \
    {                                                                                              \
        return call(buf, n, MPI_BYTE, dest, tag, WORLD, request);                                  \
    }

SEND_INIT(send_init, MPI_Send_init)
SEND_INIT(send_init_c, MPI_Send_init_c)
SEND_INIT(ssend_init, MPI_Ssend_init)
SEND_INIT(ssend_init_c, MPI_Ssend_init_c)
SEND_INIT(rsend_init, MPI_Rsend_init)
SEND_INIT(rsend_init_c, MPI_Rsend_init_c)
SEND_INIT(bsend_init, MPI_Bsend_init)
SEND_INIT(bsend_init_c, MPI_Bsend_init_c)

static send_init_fn *const inits[] = {send_init,  send_init_c,  ssend_init, ssend_init_c,
                                      rsend_init, rsend_init_c, bsend_init, bsend_init_c};

// Each rank sends to its right neighbour; the receive is posted first, so that ready mode is right
// too.
static void reuse(int kind, int n)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size, bytes = -1;
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n);
    size_t space = (size_t)ROUNDS * ((size_t)n + MPI_BSEND_OVERHEAD);
    char *attached = must_alloc(space);
    MPI_Request send = MPI_REQUEST_NULL, recv = MPI_REQUEST_NULL, both[2];
    MPI_Status statuses[2], status;
    void *address;
    CHECK_OK(MPI_Buffer_attach(attached, (int)space));
    CHECK_OK(inits[kind](out, n, right, kind, &send));
    if (kind % 2)
        CHECK_OK(MPI_Recv_init_c(in, n, MPI_BYTE, left, kind, WORLD, &recv));
    else
        CHECK_OK(MPI_Recv_init(in, n, MPI_BYTE, MPI_ANY_SOURCE, kind, WORLD, &recv));
    for (int round = 0; round < ROUNDS; round++) {
        unsigned seed = (unsigned)(rank * 7 + round), from = (unsigned)(left * 7 + round);
        pattern_fill(out, (size_t)n, seed);
        memset(in, 0, (size_t)n);
        CHECK_OK(MPI_Start(&recv));
        CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, READY_TAG, NULL, 0, MPI_BYTE, right,
                              READY_TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Start(&send));
        both[0] = send;
        both[1] = recv;
        if (round % 3 == 0) {
            CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
            CHECK_OK(MPI_Wait(&recv, &status));
        } else if (round % 3 == 1) {
            CHECK_OK(MPI_Waitall(2, both, statuses));
            status = statuses[1];
        } else {
            int flag = 0;
            while (!flag)
                CHECK_OK(MPI_Testall(2, both, &flag, statuses));
            status = statuses[1];
        }
        CHECK(send == both[0] && recv == both[1] && send != MPI_REQUEST_NULL);
        CHECK_STATUS(&status, left, kind, n);
        CHECK_PATTERN(in, (size_t)n, from);
        CHECK_OK(MPI_Wait(&recv, &status)); // inactive now
        CHECK_EMPTY(&status);
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
    CHECK(send == MPI_REQUEST_NULL && recv == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Buffer_detach(&address, &bytes));
    CHECK(address == attached);
    CHECK_INT(bytes, space);
    free(out);
    free(in);
    free(attached);
}

// A halo exchange: four requests started together, completed in whatever order they come.
static void halo(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int out[2], in[2], index = -1;
    MPI_Request requests[4];
    MPI_Status status;
    CHECK_OK(MPI_Recv_init(&in[0], 1, MPI_INT, left, 1, WORLD, &requests[0]));
    CHECK_OK(MPI_Recv_init(&in[1], 1, MPI_INT, right, 2, WORLD, &requests[1]));
    CHECK_OK(MPI_Send_init(&out[0], 1, MPI_INT, right, 1, WORLD, &requests[2]));
    CHECK_OK(MPI_Ssend_init(&out[1], 1, MPI_INT, left, 2, WORLD, &requests[3]));
    for (int round = 0; round < 100; round++) {
        out[0] = rank * 1000 + round;
        out[1] = -out[0];
        in[0] = in[1] = 0;
        CHECK_OK(MPI_Startall(4, requests));
        for (int i = 0; i < 4; i++) {
            CHECK_OK(MPI_Waitany(4, requests, &index, &status));
            CHECK(index >= 0 && index < 4);
        }
        CHECK_OK(MPI_Waitany(4, requests, &index, &status));
        CHECK_INT(index, MPI_UNDEFINED);
        CHECK_INT(in[0], left * 1000 + round);
        CHECK_INT(in[1], -(right * 1000 + round));
    }
    CHECK_OK(MPI_Startall(0, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_OK(MPI_Request_free(&requests[i]));
}

// A persistent send meets plain receives, and a persistent receive plain sends and wildcards.
static void with_others(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size, out = 0, in = -1;
    MPI_Request send = MPI_REQUEST_NULL, recv = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Send_init(&out, 1, MPI_INT, right, 4, WORLD, &send));
    CHECK_OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &recv));
    for (int round = 0; round < 50; round++) {
        out = rank * 100 + round;
        if (round % 2) {
            CHECK_OK(MPI_Start(&send));
            CHECK_OK(MPI_Recv(&in, 1, MPI_INT, left, 4, WORLD, &status));
            CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        } else {
            CHECK_OK(MPI_Start(&recv));
            CHECK_OK(MPI_Send(&out, 1, MPI_INT, right, 4, WORLD));
            CHECK_OK(MPI_Wait(&recv, &status));
        }
        CHECK_STATUS(&status, left, 4, sizeof in);
        CHECK_INT(in, left * 100 + round);
        CHECK_OK(MPI_Barrier(WORLD)); // the wildcard must not take the next round's message
    }
    CHECK_OK(MPI_Request_free(&send));
    CHECK_OK(MPI_Request_free(&recv));
}

// Freed while active: the handle is gone at once, the message still arrives.
static void free_active(int n)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n);
    MPI_Request send = MPI_REQUEST_NULL, recv = MPI_REQUEST_NULL;
    MPI_Status status;
    pattern_fill(out, (size_t)n, (unsigned)rank);
    CHECK_OK(MPI_Send_init(out, n, MPI_BYTE, right, 6, WORLD, &send));
    CHECK_OK(MPI_Start(&send));
    CHECK_OK(MPI_Request_free(&send));
    CHECK(send == MPI_REQUEST_NULL);
    CHECK_OK(MPI_Recv_init(in, n, MPI_BYTE, left, 6, WORLD, &recv));
    CHECK_OK(MPI_Start(&recv));
    CHECK_OK(MPI_Wait(&recv, &status));
    CHECK_STATUS(&status, left, 6, n);
    CHECK_PATTERN(in, (size_t)n, (unsigned)left);
    CHECK_OK(MPI_Request_free(&recv));
    // Our message has left `out` when the right neighbour has it.
    CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, left, 7, NULL, 0, MPI_BYTE, right, 7, WORLD, &status));
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 8, 64, 5000, 70000};
    CHECK_OK(MPI_Init(&argc, &argv));
    for (int kind = 0; kind < COUNT_OF(inits); kind++)
        for (int i = 0; i < COUNT_OF(sizes); i++)
            reuse(kind, sizes[i]);
    halo();
    with_others();
    free_active(8);
    free_active(1 << 20);
    CHECK_OK(MPI_Finalize());
    return 0;
}
