// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Cancel of sends that their receiver has not asked for. Completing a cancelled send is local,
// so one that needs its receiver (synchronous mode) must be cancelled; another may have got away.
// Both sides must agree: a cancelled message is never seen, any other one arrives.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { DATA = 1, VERDICT = 2, GO_ON = 3, PROBES = 20 };

enum kind { STANDARD, SYNCHRONOUS, PERSISTENT, PERSISTENT_SYNCHRONOUS, KINDS };

static int start_and_cancel(enum kind kind, char *buf, int n, int peer)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Status status;
    int cancelled = -1;
    switch (kind) {
    case STANDARD:
        CHECK_OK(MPI_Isend(buf, n, MPI_BYTE, peer, DATA, WORLD, &r));
        break;
    case SYNCHRONOUS:
        CHECK_OK(MPI_Issend(buf, n, MPI_BYTE, peer, DATA, WORLD, &r));
        break;
    case PERSISTENT:
        CHECK_OK(MPI_Send_init(buf, n, MPI_BYTE, peer, DATA, WORLD, &r));
        break;
    default:
        CHECK_OK(MPI_Ssend_init(buf, n, MPI_BYTE, peer, DATA, WORLD, &r));
        break;
    }
    if (kind == PERSISTENT || kind == PERSISTENT_SYNCHRONOUS)
        CHECK_OK(MPI_Start(&r));
    CHECK_OK(MPI_Cancel(&r));
    CHECK_OK(MPI_Wait(&r, &status));
    CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
    if (kind == SYNCHRONOUS || kind == PERSISTENT_SYNCHRONOUS)
        CHECK(cancelled);
    if (kind == PERSISTENT || kind == PERSISTENT_SYNCHRONOUS)
        CHECK_OK(MPI_Request_free(&r));
    CHECK(r == MPI_REQUEST_NULL);
    return !!cancelled;
}

static void sender(enum kind kind, int n, int peer)
{
    char *buf = must_alloc((size_t)n);
    pattern_fill(buf, (size_t)n, 1);
    int cancelled = start_and_cancel(kind, buf, n, peer);
    memset(buf, 0, (size_t)n); // ours again
    CHECK_OK(MPI_Send(&cancelled, 1, MPI_INT, peer, VERDICT, WORLD));
    CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, GO_ON, WORLD, MPI_STATUS_IGNORE));
    pattern_fill(buf, (size_t)n, 2);
    CHECK_OK(MPI_Send(buf, n, MPI_BYTE, peer, DATA, WORLD));
    free(buf);
}

static void receiver(int n, int peer)
{
    char *buf = must_alloc((size_t)n);
    int cancelled = -1, flag = -1;
    MPI_Status status;
    CHECK_OK(MPI_Recv(&cancelled, 1, MPI_INT, peer, VERDICT, WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < PROBES && cancelled; i++) {
        CHECK_OK(MPI_Iprobe(peer, DATA, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    if (!cancelled) {
        CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, peer, DATA, WORLD, &status));
        CHECK_STATUS(&status, peer, DATA, n);
        CHECK_PATTERN(buf, (size_t)n, 1);
    }
    CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, peer, GO_ON, WORLD));
    CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, peer, DATA, WORLD, &status));
    CHECK_STATUS(&status, peer, DATA, n);
    CHECK_PATTERN(buf, (size_t)n, 2);
    free(buf);
}

// Of a row of synchronous sends every second is cancelled; the others arrive in order.
static void every_second(int sending, int peer)
{
    enum { N = 20 };
    const int sizes[2] = {16, 70000};
    char *buf = must_alloc((size_t)N * 70000);
    MPI_Request requests[N];
    MPI_Status statuses[N], status;
    for (int i = 0; i < N && sending; i++) {
        pattern_fill(buf + i * 70000, (size_t)sizes[i / 2 % 2], (unsigned)i);
        CHECK_OK(MPI_Issend(buf + i * 70000, sizes[i / 2 % 2], MPI_BYTE, peer, DATA, WORLD,
                            &requests[i]));
    }
    for (int i = 0; i < N && sending; i += 2) {
        int cancelled = 0;
        CHECK_OK(MPI_Cancel(&requests[i]));
        CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
        CHECK_OK(MPI_Test_cancelled(&statuses[i], &cancelled));
        CHECK(cancelled);
    }
    if (sending) {
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, peer, VERDICT, WORLD));
        CHECK_OK(MPI_Waitall(N, requests, statuses));
    } else {
        CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, peer, VERDICT, WORLD, MPI_STATUS_IGNORE));
        for (int i = 1; i < N; i += 2) {
            CHECK_OK(MPI_Recv(buf, 70000, MPI_BYTE, peer, DATA, WORLD, &status));
            CHECK_STATUS(&status, peer, DATA, sizes[i / 2 % 2]);
            CHECK_PATTERN(buf, (size_t)sizes[i / 2 % 2], (unsigned)i);
        }
    }
    free(buf);
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 8, 1000, 70000, 1 << 20};
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    for (int bit = 1; bit < size; bit <<= 1) {
        int peer = rank ^ bit;
        for (int turn = 0; turn < 2 && peer < size; turn++) {
            int sending = (rank < peer) == (turn == 0);
            for (int kind = 0; kind < KINDS; kind++) {
                for (int i = 0; i < COUNT_OF(sizes) && !too_long(sizes[i]); i++) {
                    if (sending)
                        sender((enum kind)kind, sizes[i], peer);
                    else
                        receiver(sizes[i], peer);
                }
            }
            every_second(sending, peer);
        }
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
