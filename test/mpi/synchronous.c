// SPDX-License-Identifier: BSD-3-Clause
//
// A synchronous send does not end before its receive has begun. The sender sends a second message
// when the first one has ended; the receiver, which has seen the first one but not received it,
// must not find the second.

#include "check.h"

#define WORLD MPI_COMM_WORLD

enum { DATA = 1, ENDED = 2, LOOKS = 20, WAYS = 6 };

static void send_in(int way, const void *buf, int n, int dest)
{
    MPI_Request r = MPI_REQUEST_NULL;
    switch (way) {
    case 0:
        CHECK_OK(MPI_Ssend(buf, n, MPI_BYTE, dest, DATA, WORLD));
        return;
    case 1:
        CHECK_OK(MPI_Ssend_c(buf, n, MPI_BYTE, dest, DATA, WORLD));
        return;
    case 2:
        CHECK_OK(MPI_Issend(buf, n, MPI_BYTE, dest, DATA, WORLD, &r));
        break;
    case 3:
        CHECK_OK(MPI_Issend_c(buf, n, MPI_BYTE, dest, DATA, WORLD, &r));
        break;
    case 4:
        CHECK_OK(MPI_Ssend_init(buf, n, MPI_BYTE, dest, DATA, WORLD, &r));
        break;
    default:
        CHECK_OK(MPI_Ssend_init_c(buf, n, MPI_BYTE, dest, DATA, WORLD, &r));
        break;
    }
    if (way >= 4)
        CHECK_OK(MPI_Start(&r));
    CHECK_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    if (way >= 4)
        CHECK_OK(MPI_Request_free(&r));
}

static void receive_late(void *buf, int n, int source, int way)
{
    MPI_Status status;
    MPI_Message message = MPI_MESSAGE_NULL;
    int flag = -1;
    CHECK_OK(MPI_Probe(source, DATA, WORLD, &status));
    CHECK_STATUS(&status, source, DATA, n);
    if (way % 2) // a matched probe begins no receive either
        CHECK_OK(MPI_Mprobe(source, DATA, WORLD, &message, &status));
    for (int i = 0; i < LOOKS; i++) {
        CHECK_OK(MPI_Iprobe(source, ENDED, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    if (way % 2)
        CHECK_OK(MPI_Mrecv(buf, n, MPI_BYTE, &message, &status));
    else
        CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, source, DATA, WORLD, &status));
    CHECK_PATTERN(buf, (size_t)n, (unsigned)way);
    CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, source, ENDED, WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 8, 64, 5000, 70000, 1 << 20};
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    char *buf = must_alloc(1 << 20);
    for (int bit = 1; bit < size; bit <<= 1) {
        int peer = rank ^ bit;
        for (int turn = 0; turn < 2 && peer < size; turn++) {
            for (int i = 0; i < COUNT_OF(sizes) * WAYS; i++) {
                int n = sizes[i / WAYS], way = i % WAYS;
                if ((rank < peer) == (turn == 0)) {
                    pattern_fill(buf, (size_t)n, (unsigned)way);
                    send_in(way, buf, n, peer);
                    CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, peer, ENDED, WORLD));
                } else {
                    receive_late(buf, n, peer, way);
                }
            }
        }
    }
    free(buf);
    CHECK_OK(MPI_Finalize());
    return 0;
}
