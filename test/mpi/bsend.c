// SPDX-License-Identifier: BSD-3-Clause
//
// Buffered sends with a buffer of the process: local completion, exact fit, reuse of space,
// overflow, attach and detach. Every rank has a buffer of its own, also where ranks share a
// process.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { TAG = 3, N = 8 };

static int bytes_of(int i)
{
    const int bytes[N] = {0, 1, 7, 1000, 70000, 33, 300000, 8};
    return bytes[i];
}

static void check_detached(void *want, int want_size)
{
    void *address = NULL;
    int size = -1;
    CHECK_OK(MPI_Buffer_detach(&address, &size));
    CHECK(address == want);
    CHECK_INT(size, want_size);
}

static void send_one(int kind, const void *buf, int n, int dest)
{
    MPI_Request r = MPI_REQUEST_NULL;
    switch (kind % 4) {
    case 0:
        CHECK_OK(MPI_Bsend(buf, n, MPI_BYTE, dest, TAG, WORLD));
        break;
    case 1:
        CHECK_OK(MPI_Bsend_c(buf, n, MPI_BYTE, dest, TAG, WORLD));
        break;
    case 2:
        CHECK_OK(MPI_Ibsend(buf, n, MPI_BYTE, dest, TAG, WORLD, &r));
        break;
    default:
        CHECK_OK(MPI_Ibsend_c(buf, n, MPI_BYTE, dest, TAG, WORLD, &r));
        break;
    }
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

static void recv_one(int i, int source, unsigned seed)
{
    int n = bytes_of(i);
    char *in = must_alloc((size_t)n);
    MPI_Status status;
    CHECK_OK(MPI_Recv(in, n, MPI_BYTE, source, TAG, WORLD, &status));
    CHECK_STATUS(&status, source, TAG, n);
    CHECK_PATTERN(in, (size_t)n, seed);
    free(in);
}

// Everybody sends everything before anybody receives. The buffer has exactly the size that the
// standard asks for, and begins at an odd address.
static void all_at_once(int kind)
{
    int rank = world_rank(), size = world_size(), space = 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < N; i++)
        space += bytes_of(i) + MPI_BSEND_OVERHEAD;
    char *memory = must_alloc((size_t)space + 1), *out = must_alloc(300000);
    CHECK_OK(MPI_Buffer_attach(memory + 1, space));
    for (int i = 0; i < N; i++) {
        pattern_fill(out, (size_t)bytes_of(i), (unsigned)(rank + i));
        send_one(kind + i, out, bytes_of(i), right);
        memset(out, 0xff, 300000); // the send has its copy
    }
    CHECK_OK(MPI_Barrier(WORLD));
    for (int i = 0; i < N; i++)
        recv_one(i, left, (unsigned)(left + i));
    check_detached(memory + 1, space);
    free(memory);
    free(out);
    CHECK_OK(MPI_Barrier(WORLD));
}

// A buffer for one message serves many: after a detach, which waits for delivery, all of it is free
// again.
static void reuse(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size,
        space = 5000 + MPI_BSEND_OVERHEAD;
    char *memory = must_alloc((size_t)space), *out = must_alloc(5000), *in = must_alloc(5000);
    for (int round = 0; round < 50; round++) {
        MPI_Count large = -1;
        void *address = NULL;
        if (round % 2)
            CHECK_OK(MPI_Buffer_attach_c(memory, space));
        else
            CHECK_OK(MPI_Buffer_attach(memory, space));
        pattern_fill(out, 5000, (unsigned)(rank + round));
        send_one(round, out, 5000, right);
        CHECK_OK(MPI_Recv(in, 5000, MPI_BYTE, left, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(in, 5000, (unsigned)(left + round));
        if (round % 3) {
            CHECK_OK(MPI_Buffer_detach_c(&address, &large));
            CHECK(address == memory);
            CHECK_INT(large, space);
        } else {
            check_detached(memory, space);
        }
    }
    free(memory);
    free(out);
    free(in);
}

// What does not fit is refused, without harm to what did fit.
static void overflow(void)
{
    int rank = world_rank(), size = world_size();
    int left = (rank + size - 1) % size, right = (rank + 1) % size,
        space = 1024 + MPI_BSEND_OVERHEAD;
    char *memory = must_alloc((size_t)space), *out = must_alloc(100000), *in = must_alloc(1024);
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_ERROR(MPI_Bsend(out, 8, MPI_BYTE, right, TAG, WORLD), MPI_ERR_BUFFER, "MPI_Bsend", "");
    CHECK_OK(MPI_Buffer_attach(memory, space));
    CHECK_ERROR(MPI_Bsend(out, 100000, MPI_BYTE, right, TAG, WORLD), MPI_ERR_BUFFER, "MPI_Bsend",
                "100000");
    CHECK_ERROR(MPI_Ibsend(out, 100000, MPI_BYTE, right, TAG, WORLD, &r), MPI_ERR_BUFFER,
                "MPI_Ibsend", "100000");
    CHECK_ERROR(MPI_Bsend_c(out, 100000, MPI_BYTE, right, TAG, WORLD), MPI_ERR_BUFFER,
                "MPI_Bsend_c", "100000");
    CHECK_ERROR(MPI_Ibsend_c(out, 100000, MPI_BYTE, right, TAG, WORLD, &r), MPI_ERR_BUFFER,
                "MPI_Ibsend_c", "100000");
    pattern_fill(out, 1024, (unsigned)rank);
    CHECK_OK(MPI_Bsend(out, 1024, MPI_BYTE, right, TAG, WORLD));
    CHECK_OK(MPI_Recv(in, 1024, MPI_BYTE, left, TAG, WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, 1024, (unsigned)left);
    check_detached(memory, space);
    free(memory);
    free(out);
    free(in);
}

static void wrong_attach(void)
{
    char memory[2000];
    check_detached(NULL, 0); // nothing attached acts as a buffer of no bytes
    CHECK_OK(MPI_Buffer_attach(memory, sizeof memory));
    CHECK_ERROR2(MPI_Buffer_attach(memory, sizeof memory), MPI_ERR_BUFFER, MPI_ERR_OTHER,
                 "MPI_Buffer_attach", "");
    CHECK_ERROR2(MPI_Buffer_attach_c(memory, sizeof memory), MPI_ERR_BUFFER, MPI_ERR_OTHER,
                 "MPI_Buffer_attach", "");
    check_detached(memory, sizeof memory);
    CHECK_ERROR2(MPI_Buffer_attach(memory, -5), MPI_ERR_ARG, MPI_ERR_COUNT, "MPI_Buffer_attach",
                 "-5");
    check_detached(NULL, 0);
    CHECK_ERROR(MPI_Buffer_detach(NULL, NULL), MPI_ERR_ARG, "MPI_Buffer_detach", "");
}

// Each rank's buffer is its own: everyone attaches one of another size, and gets that one back.
static void own_buffer(void)
{
    int rank = world_rank(), space = 3000 + 100 * rank;
    char *memory = must_alloc((size_t)space);
    CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Buffer_attach(memory, space));
    CHECK_OK(MPI_Barrier(WORLD));
    check_detached(memory, space);
    CHECK_OK(MPI_Barrier(WORLD));
    free(memory);
}

static void to_self(void)
{
    int me = world_rank(), space = 70000 + MPI_BSEND_OVERHEAD;
    char *memory = must_alloc((size_t)space), *out = must_alloc(70000), *in = must_alloc(70000);
    CHECK_OK(MPI_Buffer_attach(memory, space));
    pattern_fill(out, 70000, 9);
    CHECK_OK(MPI_Bsend(out, 70000, MPI_BYTE, me, TAG, WORLD));
    CHECK_OK(MPI_Recv(in, 70000, MPI_BYTE, me, TAG, WORLD, MPI_STATUS_IGNORE));
    CHECK_PATTERN(in, 70000, 9);
    check_detached(memory, space);
    free(memory);
    free(out);
    free(in);
}

// Every rank but the last sends to the next one and ends; MPI_Finalize delivers what is still
// buffered.
static void send_and_end(void)
{
    int rank = world_rank(), size = world_size(), space = 300000 + MPI_BSEND_OVERHEAD;
    char *memory = must_alloc((size_t)space), *buf = must_alloc(300000);
    CHECK_OK(MPI_Buffer_attach(memory, space));
    pattern_fill(buf, 300000, (unsigned)rank);
    if (rank + 1 < size)
        CHECK_OK(MPI_Bsend(buf, 300000, MPI_BYTE, rank + 1, TAG, WORLD));
    if (rank > 0) {
        CHECK_OK(MPI_Recv(buf, 300000, MPI_BYTE, rank - 1, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(buf, 300000, (unsigned)rank - 1);
    }
    CHECK_OK(MPI_Finalize());
    free(memory);
    free(buf);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    wrong_attach();
    own_buffer();
    for (int kind = 0; kind < 4; kind++)
        all_at_once(kind);
    reuse();
    overflow();
    to_self();
    send_and_end();
    return 0;
}
