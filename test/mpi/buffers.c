// SPDX-License-Identifier: BSD-3-Clause
//
// MPI 4.1's buffers: flushing, buffers of a communicator, and automatic ones. A communicator's
// buffer, if it has one, is used instead of the process's.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 4, BYTES = 5000, BIG = 300000 };

enum owner { PROCESS, COMMUNICATOR };

static void attach(enum owner owner, int large, void *memory, int space)
{
    if (owner == PROCESS && large)
        CHECK_OK(MPI_Buffer_attach_c(memory, space));
    else if (owner == PROCESS)
        CHECK_OK(MPI_Buffer_attach(memory, space));
    else if (large)
        CHECK_OK(MPI_Comm_attach_buffer_c(WORLD, memory, space));
    else
        CHECK_OK(MPI_Comm_attach_buffer(WORLD, memory, space));
}

// The size of an automatic buffer is undefined, so -1 as wanted size accepts any.
static void detach(enum owner owner, int large, void *want, int want_size)
{
    void *address = NULL;
    int size = -1;
    MPI_Count large_size = -1;
    if (owner == PROCESS && large)
        CHECK_OK(MPI_Buffer_detach_c(&address, &large_size));
    else if (owner == PROCESS)
        CHECK_OK(MPI_Buffer_detach(&address, &size));
    else if (large)
        CHECK_OK(MPI_Comm_detach_buffer_c(WORLD, &address, &large_size));
    else
        CHECK_OK(MPI_Comm_detach_buffer(WORLD, &address, &size));
    CHECK(address == want);
    if (want_size >= 0)
        CHECK_INT(large ? large_size : size, want_size);
}

// Returns when all buffered messages are delivered; the space is free again.
static void flush(enum owner owner, int way)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int flag = 0;
    if (way == 0) {
        CHECK_OK(owner == PROCESS ? MPI_Buffer_flush() : MPI_Comm_flush_buffer(WORLD));
        return;
    }
    CHECK_OK(owner == PROCESS ? MPI_Buffer_iflush(&r) : MPI_Comm_iflush_buffer(WORLD, &r));
    if (way == 1) {
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    } else {
        while (!flag)
            CHECK_OK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
    }
    CHECK(r == MPI_REQUEST_NULL);
}

// A buffer for one message, flushed after each: never an overflow.
static void one_message_buffer(enum owner owner, int n)
{
    int rank = world_rank(), size = world_size(), space = n + MPI_BSEND_OVERHEAD;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *memory = must_alloc((size_t)space), *out = must_alloc((size_t)n),
         *in = must_alloc((size_t)n);
    attach(owner, n == BIG, memory, space);
    flush(owner, 0); // nothing to do
    for (int round = 0; round < (seeded() ? 6 : 30); round++) {
        pattern_fill(out, (size_t)n, (unsigned)(rank + round));
        CHECK_OK(MPI_Bsend(out, n, MPI_BYTE, right, TAG, WORLD));
        memset(out, 0, (size_t)n);
        CHECK_OK(MPI_Recv(in, n, MPI_BYTE, left, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, (size_t)n, (unsigned)(left + round));
        flush(owner, round % 3);
    }
    detach(owner, n == BIG, memory, space);
    free(memory);
    free(out);
    free(in);
}

// A nonblocking flush is started before the receiver takes anything; communication goes on
// meanwhile.
static void iflush_overlaps(enum owner owner)
{
    int rank = world_rank(), size = world_size(), space = BIG + MPI_BSEND_OVERHEAD, token = -1;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *memory = must_alloc((size_t)space), *buf = must_alloc(BIG);
    MPI_Request r = MPI_REQUEST_NULL;
    attach(owner, 0, memory, space);
    pattern_fill(buf, BIG, (unsigned)rank);
    CHECK_OK(MPI_Bsend(buf, BIG, MPI_BYTE, right, TAG, WORLD));
    CHECK_OK(owner == PROCESS ? MPI_Buffer_iflush(&r) : MPI_Comm_iflush_buffer(WORLD, &r));
    for (int i = 0; i < 10; i++) {
        CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, TAG + 1, &token, 1, MPI_INT, left, TAG + 1,
                              WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(token, left);
    }
    CHECK_OK(MPI_Recv(buf, BIG, MPI_BYTE, left, TAG, WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(buf, BIG, (unsigned)left);
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Bsend(buf, BIG, MPI_BYTE, right, TAG, WORLD)); // all space is free again
    CHECK_OK(MPI_Recv(buf, BIG, MPI_BYTE, left, TAG, WORLD, MPI_STATUS_IGNORE));
    detach(owner, 0, memory, space);
    free(memory);
    free(buf);
}

// The library finds the space; everybody sends before anybody receives.
static void automatic(enum owner owner, int large)
{
    enum { N = 20 };
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    char *buf = must_alloc(BIG);
    attach(owner, large, MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < N; i++) {
        int n = i % 3 ? i * 100 : BIG;
        pattern_fill(buf, (size_t)n, (unsigned)(rank + i));
        CHECK_OK(MPI_Bsend(buf, n, MPI_BYTE, right, TAG, WORLD));
    }
    CHECK_OK(MPI_Barrier(WORLD));
    for (int i = 0; i < N; i++) {
        int n = i % 3 ? i * 100 : BIG;
        MPI_Status status;
        CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, left, TAG, WORLD, &status));
        CHECK_STATUS(&status, left, TAG, n);
        CHECK_PATTERN(buf, (size_t)n, (unsigned)(left + i));
    }
    flush(owner, 0);
    flush(owner, 1);
    detach(owner, large, MPI_BUFFER_AUTOMATIC, -1);
    free(buf);
}

// Which buffer is used: the communicator's if it has one, else the process's.
static void precedence(void)
{
    int me = world_rank(), small = 100 + MPI_BSEND_OVERHEAD, room = BYTES + MPI_BSEND_OVERHEAD;
    char *of_world = must_alloc((size_t)small), *of_process = must_alloc((size_t)room);
    char *buf = must_alloc(BYTES);
    pattern_fill(buf, BYTES, 1);
    attach(COMMUNICATOR, 0, of_world, small);
    attach(PROCESS, 0, of_process, room);
    CHECK_ERROR(MPI_Bsend(buf, BYTES, MPI_BYTE, me, TAG, WORLD), MPI_ERR_BUFFER, "MPI_Bsend",
                "5000");
    CHECK_OK(MPI_Bsend(buf, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF)); // it has none of its own
    CHECK_OK(MPI_Recv(buf, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_PATTERN(buf, BYTES, 1);
    detach(COMMUNICATOR, 0, of_world, small);
    CHECK_OK(MPI_Buffer_flush());
    CHECK_OK(MPI_Bsend(buf, BYTES, MPI_BYTE, me, TAG, WORLD)); // the process's again
    CHECK_OK(MPI_Recv(buf, BYTES, MPI_BYTE, me, TAG, WORLD, MPI_STATUS_IGNORE));
    detach(PROCESS, 0, of_process, room);
    CHECK_ERROR(MPI_Bsend(buf, 100, MPI_BYTE, me, TAG, WORLD), MPI_ERR_BUFFER, "MPI_Bsend", "");
    // A communicator's buffer alone is enough.
    attach(COMMUNICATOR, 1, of_process, room);
    CHECK_OK(MPI_Bsend(buf, BYTES, MPI_BYTE, me, TAG, WORLD));
    CHECK_OK(MPI_Recv(buf, BYTES, MPI_BYTE, me, TAG, WORLD, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Bsend(buf, 100, MPI_BYTE, 0, TAG, MPI_COMM_SELF), MPI_ERR_BUFFER, "MPI_Bsend",
                "");
    detach(COMMUNICATOR, 1, of_process, room);
    free(of_world);
    free(of_process);
    free(buf);
}

static void wrong_arguments(void)
{
    char memory[2000];
    void *address = NULL;
    int size = -1;
    MPI_Count large = -1;
    MPI_Request r = MPI_REQUEST_NULL;
    detach(COMMUNICATOR, 0, NULL, 0); // nothing attached acts as a buffer of no bytes
    attach(COMMUNICATOR, 0, memory, sizeof memory);
    CHECK_ERROR2(MPI_Comm_attach_buffer(WORLD, memory, sizeof memory), MPI_ERR_BUFFER,
                 MPI_ERR_OTHER, "MPI_Comm_attach_buffer", "");
    detach(COMMUNICATOR, 0, memory, sizeof memory);
    CHECK_ERROR(MPI_Comm_attach_buffer(MPI_COMM_NULL, memory, sizeof memory), MPI_ERR_COMM,
                "MPI_Comm_attach_buffer", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_attach_buffer_c(MPI_COMM_NULL, memory, sizeof memory), MPI_ERR_COMM,
                "MPI_Comm_attach_buffer_c", "MPI_COMM_NULL");
    CHECK_ERROR2(MPI_Comm_attach_buffer(WORLD, memory, -5), MPI_ERR_ARG, MPI_ERR_COUNT,
                 "MPI_Comm_attach_buffer", "-5");
    CHECK_ERROR(MPI_Comm_detach_buffer(MPI_COMM_NULL, &address, &size), MPI_ERR_COMM,
                "MPI_Comm_detach_buffer", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_detach_buffer_c(MPI_COMM_NULL, &address, &large), MPI_ERR_COMM,
                "MPI_Comm_detach_buffer_c", "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_flush_buffer(MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Comm_flush_buffer",
                "MPI_COMM_NULL");
    CHECK_ERROR(MPI_Comm_iflush_buffer(MPI_COMM_NULL, &r), MPI_ERR_COMM, "MPI_Comm_iflush_buffer",
                "MPI_COMM_NULL");
    CHECK_ERROR2(MPI_Buffer_iflush(NULL), MPI_ERR_ARG, MPI_ERR_REQUEST, "MPI_Buffer_iflush",
                 "request");
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    wrong_arguments();
    for (int owner = PROCESS; owner <= COMMUNICATOR; owner++) {
        one_message_buffer((enum owner)owner, BYTES);
        one_message_buffer((enum owner)owner, BIG);
        iflush_overlaps((enum owner)owner);
        automatic((enum owner)owner, 0);
        automatic((enum owner)owner, 1);
    }
    precedence();
    CHECK_OK(MPI_Finalize());
    return 0;
}
