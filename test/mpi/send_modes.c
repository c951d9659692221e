// SPDX-License-Identifier: BSD-3-Clause
//
// All send modes, blocking, nonblocking and with large counts, over sizes on both sides of every
// protocol switch, with contents checked and bytes behind the message untouched. Each rank sends to
// its right neighbour, so that every distance between ranks is used; even ranks send first.
//
// Three orders: the receive is posted before the send starts; the send is surely started (and, if
// it is eager, arrived) before the receive is posted; nobody takes care.

#include "check.h"

typedef int send_fn(const void *buf, MPI_Count n, int dest, int tag);
typedef int isend_fn(const void *buf, MPI_Count n, int dest, int tag, MPI_Request *request);
typedef int recv_fn(void *buf, MPI_Count n, int source, int tag, MPI_Status *status);

#define WORLD MPI_COMM_WORLD

#define SEND(name, call, type)                                                                     \
    static int name(const void *buf, MPI_Count n, int dest, int tag)                               \
    {                                                                                              \
        return call(buf, (type)n, MPI_BYTE, dest, tag, WORLD);                                     \
    }

#define ISEND(name, call, type)                                                                    \
    static int name(const void *buf, MPI_Count n, int dest, int tag, MPI_Request *r)               \
    {                                                                                              \
        return call(buf, (type)n, MPI_BYTE, dest, tag, WORLD, r);                                  \
    }                                                                                              \
    static int name##_wait(const void *buf, MPI_Count n, int dest, int tag)                        \
    {                                                                                              \
        MPI_Request r = MPI_REQUEST_NULL;                                                          \
        CHECK_OK(name(buf, n, dest, tag, &r));                                                     \
        CHECK(r != MPI_REQUEST_NULL);                                                              \
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));                                                 \
        CHECK(r == MPI_REQUEST_NULL);                                                              \
        return MPI_SUCCESS;                                                                        \
    }

SEND(send, MPI_Send, int)
SEND(send_c, MPI_Send_c, MPI_Count)
SEND(ssend, MPI_Ssend, int)
SEND(ssend_c, MPI_Ssend_c, MPI_Count)
SEND(rsend, MPI_Rsend, int)
SEND(rsend_c, MPI_Rsend_c, MPI_Count)
SEND(bsend, MPI_Bsend, int)
SEND(bsend_c, MPI_Bsend_c, MPI_Count)
ISEND(isend, MPI_Isend, int)
ISEND(isend_c, MPI_Isend_c, MPI_Count)
ISEND(issend, MPI_Issend, int)
ISEND(issend_c, MPI_Issend_c, MPI_Count)
ISEND(irsend, MPI_Irsend, int)
ISEND(irsend_c, MPI_Irsend_c, MPI_Count)
ISEND(ibsend, MPI_Ibsend, int)
ISEND(ibsend_c, MPI_Ibsend_c, MPI_Count)

static int recv(void *buf, MPI_Count n, int source, int tag, MPI_Status *status)
{
    return MPI_Recv(buf, (int)n, MPI_BYTE, source, tag, WORLD, status);
}

static int recv_c(void *buf, MPI_Count n, int source, int tag, MPI_Status *status)
{
    return MPI_Recv_c(buf, n, MPI_BYTE, source, tag, WORLD, status);
}

static int irecv(void *buf, MPI_Count n, int source, int tag, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Irecv(buf, (int)n, MPI_BYTE, source, tag, WORLD, &r));
    return MPI_Wait(&r, status);
}

static int irecv_c(void *buf, MPI_Count n, int source, int tag, MPI_Status *status)
{
    MPI_Request r = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Irecv_c(buf, n, MPI_BYTE, source, tag, WORLD, &r));
    return MPI_Wait(&r, status);
}

static const MPI_Count sizes[] = {0,
                                  1,
                                  8,
                                  24,
                                  32,
                                  33,
                                  64,
                                  1 << 10,
                                  4 << 10,
                                  8 << 10,
                                  (16 << 10) + 1,
                                  64 << 10,
                                  1 << 20,
                                  (5 << 20) + 3};

enum { GUARD = 16, MAX_SIZE = (5 << 20) + 3, READY_TAG = 900, GO_TAG = 901 };

struct mode {
    send_fn *send;
    isend_fn *isend; // NULL for a blocking call
    int buffered, ready;
};

static const struct mode modes[] = {
    {send, NULL, 0, 0},          {send_c, NULL, 0, 0},
    {ssend, NULL, 0, 0},         {ssend_c, NULL, 0, 0},
    {rsend, NULL, 0, 1},         {rsend_c, NULL, 0, 1},
    {bsend, NULL, 1, 0},         {bsend_c, NULL, 1, 0},
    {isend_wait, isend, 0, 0},   {isend_c_wait, isend_c, 0, 0},
    {issend_wait, issend, 0, 0}, {issend_c_wait, issend_c, 0, 0},
    {irsend_wait, irsend, 0, 1}, {irsend_c_wait, irsend_c, 0, 1},
    {ibsend_wait, ibsend, 1, 0}, {ibsend_c_wait, ibsend_c, 1, 0},
};

static recv_fn *const recvs[] = {recv, recv_c, irecv, irecv_c};

enum order { POSTED, STARTED, EITHER };

// One rank's buffers: what it sends, what it must get, where it gets it, and the attached buffer.
struct bench {
    int left, right;
    unsigned char *out, *want, *in, *attached;
};

static void attach(const struct bench *b, MPI_Count n)
{
    CHECK_OK(MPI_Buffer_attach(b->attached, (int)n + MPI_BSEND_OVERHEAD));
}

// Returns when the message has left the buffer, so when the receiver took it or the library has it.
static void detach(const struct bench *b, MPI_Count n)
{
    void *address = NULL;
    int size = -1;
    CHECK_OK(MPI_Buffer_detach(&address, &size));
    CHECK(address == b->attached);
    CHECK_INT(size, (int)n + MPI_BSEND_OVERHEAD);
}

static void send_one(const struct bench *b, const struct mode *mode, enum order order, MPI_Count n,
                     int tag)
{
    if (mode->buffered)
        attach(b, n);
    if (order == STARTED) {
        MPI_Request r = MPI_REQUEST_NULL;
        CHECK_OK(mode->isend(b->out, n, b->right, tag, &r));
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, b->right, GO_TAG, WORLD));
        CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    } else {
        if (order == POSTED)
            CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, b->right, READY_TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(mode->send(b->out, n, b->right, tag));
    }
    if (mode->buffered)
        detach(b, n);
}

static void recv_one(const struct bench *b, enum order order, MPI_Count n, int tag, int way)
{
    MPI_Status status;
    memset(b->in, 0xee, (size_t)n + GUARD);
    if (order == POSTED) {
        MPI_Request r = MPI_REQUEST_NULL;
        CHECK_OK(MPI_Irecv(b->in, (int)n, MPI_BYTE, b->left, tag, WORLD, &r));
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, b->left, READY_TAG, WORLD));
        CHECK_OK(MPI_Wait(&r, &status));
        CHECK(r == MPI_REQUEST_NULL);
    } else {
        if (order == STARTED)
            CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, b->left, GO_TAG, WORLD, MPI_STATUS_IGNORE));
        // Every second time into a buffer larger than the message.
        CHECK_OK(recvs[way % 4](b->in, n + (way & 4 ? 8 : 0), b->left, tag, &status));
    }
    CHECK_STATUS(&status, b->left, tag, n);
    if (memcmp(b->in, b->want, (size_t)n) != 0)
        for (MPI_Count i = 0; i < n; i++)
            CHECK_INT(b->in[i], b->want[i]);
    for (int i = 0; i < GUARD; i++)
        CHECK_INT(b->in[n + i], 0xee);
}

static void exchange(const struct bench *b, int m, enum order order, MPI_Count n, int way)
{
    const struct mode *mode = &modes[m];
    int tag = 10 * m + (int)order, even = world_rank() % 2 == 0;
    if (order != POSTED && mode->ready)
        return;
    if (order == STARTED && !mode->isend)
        return;
    if (order == EITHER && mode->isend)
        return;
    for (int turn = 0; turn < 2; turn++) {
        if (even == (turn == 0))
            send_one(b, mode, order, n, tag);
        else
            recv_one(b, order, n, tag, way);
    }
}

int main(int argc, char **argv)
{
    struct bench b;
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    CHECK(size % 2 == 0);
    b.left = (rank + size - 1) % size;
    b.right = (rank + 1) % size;
    size_t most = too_long(MAX_SIZE) ? 64 << 10 : MAX_SIZE;
    b.out = must_alloc(most);
    b.want = must_alloc(most);
    b.in = must_alloc(most + GUARD);
    b.attached = must_alloc(most + MPI_BSEND_OVERHEAD);
    pattern_fill(b.out, most, (unsigned)rank);
    pattern_fill(b.want, most, (unsigned)b.left);
    for (int s = 0, way = 0; s < COUNT_OF(sizes) && (size_t)sizes[s] <= most; s++)
        for (int m = 0; m < COUNT_OF(modes); m++)
            for (int order = POSTED; order <= EITHER; order++)
                exchange(&b, m, (enum order)order, sizes[s], way++);
    free(b.out);
    free(b.want);
    free(b.in);
    free(b.attached);
    CHECK_OK(MPI_Finalize());
    return 0;
}
