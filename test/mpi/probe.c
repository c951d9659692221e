// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Probe, MPI_Iprobe, MPI_Mprobe, MPI_Improbe, MPI_Mrecv, MPI_Imrecv and their large-count
// twins. A probe must name the message that the next fitting receive gets; a matched probe takes it
// away from all others.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

static const int sizes[] = {0, 8, 100, 5000, 70000, 1 << 20};

static void probe_then_recv(int peer)
{
    for (int i = 0; i < COUNT_OF(sizes) && !too_long(sizes[i]); i++) {
        for (int way = 0; way < 8; way++) {
            int source = way & 1 ? MPI_ANY_SOURCE : peer, tag = way & 2 ? MPI_ANY_TAG : i, flag = 0;
            MPI_Status status;
            ask(peer, i, sizes[i]);
            if (way & 4)
                CHECK_OK(MPI_Probe(source, tag, WORLD, &status));
            while (!(way & 4) && !flag)
                CHECK_OK(MPI_Iprobe(source, tag, WORLD, &flag, &status));
            CHECK_STATUS(&status, peer, i, sizes[i]);
            // Probing does not take: a second look sees the same, and another tag is not there.
            CHECK_OK(MPI_Iprobe(peer, i, WORLD, &flag, &status));
            CHECK(flag);
            CHECK_STATUS(&status, peer, i, sizes[i]);
            CHECK_OK(MPI_Iprobe(peer, 77, WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
            char *buf = must_alloc((size_t)sizes[i]);
            CHECK_OK(MPI_Recv(buf, sizes[i], MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, WORLD,
                              &status));
            CHECK_STATUS(&status, peer, i, sizes[i]);
            CHECK_PATTERN(buf, (size_t)sizes[i], (unsigned)i);
            CHECK_OK(MPI_Iprobe(peer, i, WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
            free(buf);
        }
    }
}

static void matched(int peer)
{
    for (int i = 0; i < COUNT_OF(sizes) && !too_long(sizes[i]); i++) {
        for (int way = 0; way < 8; way++) {
            int source = way & 1 ? MPI_ANY_SOURCE : peer, flag = 0, n = sizes[i];
            MPI_Message message = MPI_MESSAGE_NULL;
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Status status;
            char *buf = must_alloc((size_t)n + 1);
            ask(peer, i, n);
            if (way & 2)
                CHECK_OK(MPI_Mprobe(source, MPI_ANY_TAG, WORLD, &message, &status));
            while (!(way & 2) && !flag)
                CHECK_OK(MPI_Improbe(source, i, WORLD, &flag, &message, &status));
            CHECK_STATUS(&status, peer, i, n);
            CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
            // It is ours now: nobody else can see it.
            CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, i, WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
            switch ((way + i) % 4) {
            case 0:
                CHECK_OK(MPI_Mrecv(buf, n, MPI_BYTE, &message, &status));
                break;
            case 1:
                CHECK_OK(MPI_Mrecv_c(buf, n + 1, MPI_BYTE, &message, &status));
                break;
            case 2:
                CHECK_OK(MPI_Imrecv(buf, n, MPI_BYTE, &message, &r));
                break;
            default:
                CHECK_OK(MPI_Imrecv_c(buf, n + 1, MPI_BYTE, &message, &r));
                break;
            }
            CHECK(message == MPI_MESSAGE_NULL);
            if ((way + i) % 4 >= 2) {
                CHECK(r != MPI_REQUEST_NULL);
                CHECK_OK(MPI_Wait(&r, &status));
            }
            CHECK_STATUS(&status, peer, i, n);
            CHECK_PATTERN(buf, (size_t)n, (unsigned)i);
            free(buf);
        }
    }
}

// Messages that were matched may be received in any order, and receives between get the next ones.
static void out_of_order(int peer)
{
    enum { N = 6, TAG = 3 };
    const int bytes[N] = {10, 70000, 20, 300000, 0, 30};
    MPI_Message messages[N], none = MPI_MESSAGE_NULL;
    MPI_Request requests[N];
    MPI_Status status, statuses[N];
    char *bufs[N], *last = must_alloc(500);
    int flag = 1;
    for (int i = 0; i < N; i++) {
        ask(peer, TAG, bytes[i]);
        CHECK_OK(MPI_Mprobe(peer, TAG, WORLD, &messages[i], &status));
        CHECK_STATUS(&status, peer, TAG, bytes[i]);
        bufs[i] = must_alloc((size_t)bytes[i]);
    }
    CHECK_OK(MPI_Improbe(peer, TAG, WORLD, &flag, &none, &status));
    CHECK(!flag);
    ask(peer, TAG, 500);
    CHECK_OK(MPI_Recv(last, 500, MPI_BYTE, peer, TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, TAG, 500);
    for (int i = N - 1; i >= 0; i--)
        CHECK_OK(MPI_Imrecv(bufs[i], bytes[i], MPI_BYTE, &messages[i], &requests[i]));
    CHECK_OK(MPI_Waitall(N, requests, statuses));
    for (int i = 0; i < N; i++) {
        CHECK_STATUS(&statuses[i], peer, TAG, bytes[i]);
        CHECK_PATTERN(bufs[i], (size_t)bytes[i], TAG);
        free(bufs[i]);
    }
    free(last);
}

// The standard wants a probe with wildcards to name the earliest of several messages of one sender.
static void earliest(int peer)
{
    MPI_Status status;
    int flag = 0;
    char buf[64];
    ask(peer, 5, 50);
    ask(peer, 6, 60);
    ask(peer, 5, 51);
    while (!flag) // the second one is here, so the first one is too
        CHECK_OK(MPI_Iprobe(peer, 6, WORLD, &flag, &status));
    CHECK_STATUS(&status, peer, 6, 60);
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, 5, 50);
    CHECK_OK(MPI_Recv(buf, 64, MPI_BYTE, MPI_ANY_SOURCE, 6, WORLD, &status));
    CHECK_STATUS(&status, peer, 6, 60);
    CHECK_OK(MPI_Probe(peer, MPI_ANY_TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, 5, 50);
    CHECK_OK(MPI_Recv(buf, 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, 5, 50);
    CHECK_OK(MPI_Recv(buf, 64, MPI_BYTE, peer, MPI_ANY_TAG, WORLD, &status));
    CHECK_STATUS(&status, peer, 5, 51);
}

// A posted receive is served before a probe: what it takes is not seen.
static void posted_first(int peer)
{
    char first[10], second[20];
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    CHECK_OK(MPI_Irecv(first, 10, MPI_BYTE, peer, 9, WORLD, &r));
    ask(peer, 9, 10);
    ask(peer, 9, 20);
    CHECK_OK(MPI_Probe(peer, 9, WORLD, &status));
    CHECK_STATUS(&status, peer, 9, 20);
    CHECK_OK(MPI_Recv(second, 20, MPI_BYTE, peer, 9, WORLD, &status));
    CHECK_STATUS(&status, peer, 9, 20);
    CHECK_OK(MPI_Wait(&r, &status));
    CHECK_STATUS(&status, peer, 9, 10);
}

static void no_proc(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, value = 42;
    CHECK_OK(MPI_Probe(MPI_PROC_NULL, 1, WORLD, &status));
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    CHECK_OK(MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, WORLD, &flag, &status));
    CHECK(flag);
    CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    for (int way = 0; way < 4; way++) {
        flag = 0;
        if (way & 1)
            CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 1, WORLD, &message, &status));
        else
            CHECK_OK(MPI_Improbe(MPI_PROC_NULL, 1, WORLD, &flag, &message, &status));
        CHECK(way & 1 || flag);
        CHECK(message == MPI_MESSAGE_NO_PROC);
        CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        switch (way) {
        case 0:
            CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
            break;
        case 1:
            CHECK_OK(MPI_Mrecv_c(&value, 1, MPI_INT, &message, &status));
            break;
        case 2:
            CHECK_OK(MPI_Imrecv(&value, 1, MPI_INT, &message, &r));
            break;
        default:
            CHECK_OK(MPI_Imrecv_c(&value, 1, MPI_INT, &message, &r));
            break;
        }
        CHECK(message == MPI_MESSAGE_NULL);
        if (way >= 2)
            CHECK_OK(MPI_Wait(&r, &status));
        CHECK_STATUS(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        CHECK_INT(value, 42);
    }
}

// Nothing was sent: nothing is there, and the message handle says so.
static void nothing(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = 1;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &message,
                         MPI_STATUS_IGNORE));
    CHECK(!flag);
}

// Everybody sends to rank 0, which finds out by probing who and how much.
static void from_anybody(void)
{
    enum { N = 50, TAG = 12 };
    int rank = world_rank(), size = world_size();
    CHECK_OK(MPI_Barrier(WORLD));
    if (rank != 0) {
        char *buf = must_alloc((size_t)N * 700);
        for (int i = 0; i < N; i++) {
            pattern_fill(buf, (size_t)i * 700, (unsigned)(rank + i));
            CHECK_OK(MPI_Send(buf, i * 700, MPI_BYTE, 0, TAG, WORLD));
        }
        free(buf);
    } else {
        int *next = must_alloc((size_t)size * sizeof *next);
        memset(next, 0, (size_t)size * sizeof *next);
        for (int i = 0; i < N * (size - 1); i++) {
            MPI_Message message;
            MPI_Status status;
            int count = -1;
            if (i % 2)
                CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, TAG, WORLD, &message, &status));
            else
                CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, TAG, WORLD, &status));
            int source = status.MPI_SOURCE;
            CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK_INT(count, next[source] * 700);
            char *buf = must_alloc((size_t)count);
            if (i % 2)
                CHECK_OK(MPI_Mrecv(buf, count, MPI_BYTE, &message, &status));
            else
                CHECK_OK(MPI_Recv(buf, count, MPI_BYTE, source, TAG, WORLD, &status));
            CHECK_STATUS(&status, source, TAG, count);
            CHECK_PATTERN(buf, (size_t)count, (unsigned)(source + next[source]));
            next[source]++;
            free(buf);
        }
        free(next);
    }
    CHECK_OK(MPI_Barrier(WORLD));
}

static void drive(int peer)
{
    probe_then_recv(peer);
    matched(peer);
    out_of_order(peer);
    earliest(peer);
    posted_first(peer);
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    nothing();
    no_proc();
    for_each_pair(drive);
    from_anybody();
    CHECK_OK(MPI_Finalize());
    return 0;
}
