// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to oneself, by one's own rank and on MPI_COMM_SELF, whose messages never mix with those
// of the world.

#include "check.h"

enum { TAG = 2 };

// The receive first, or the send first, in every mode that does not need the other side to go on.
static void both_orders(MPI_Comm comm, int me, int n)
{
    char *out = must_alloc((size_t)n), *in = must_alloc((size_t)n);
    for (int way = 0; way < 8; way++) {
        MPI_Request send = MPI_REQUEST_NULL, recv = MPI_REQUEST_NULL;
        MPI_Status status;
        int source = way & 1 ? MPI_ANY_SOURCE : me, tag = way & 2 ? MPI_ANY_TAG : TAG;
        pattern_fill(out, (size_t)n, (unsigned)way);
        memset(in, 0, (size_t)n);
        if (way & 4) {
            CHECK_OK(MPI_Irecv(in, n, MPI_BYTE, source, tag, comm, &recv));
            switch (way & 3) { // with the receive posted, even blocking sends return
            case 0:
                CHECK_OK(MPI_Send(out, n, MPI_BYTE, me, TAG, comm));
                break;
            case 1:
                CHECK_OK(MPI_Ssend(out, n, MPI_BYTE, me, TAG, comm));
                break;
            case 2:
                CHECK_OK(MPI_Rsend(out, n, MPI_BYTE, me, TAG, comm));
                break;
            default:
                CHECK_OK(MPI_Isend(out, n, MPI_BYTE, me, TAG, comm, &send));
                break;
            }
            CHECK_OK(MPI_Wait(&recv, &status));
        } else {
            if (way & 1)
                CHECK_OK(MPI_Issend(out, n, MPI_BYTE, me, TAG, comm, &send));
            else
                CHECK_OK(MPI_Isend(out, n, MPI_BYTE, me, TAG, comm, &send));
            CHECK_OK(MPI_Recv(in, n, MPI_BYTE, source, tag, comm, &status));
        }
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK_STATUS(&status, me, TAG, n);
        CHECK_PATTERN(in, (size_t)n, (unsigned)way);
    }
    free(out);
    free(in);
}

// A synchronous send to oneself is not complete before its receive is posted.
static void synchronous(MPI_Comm comm, int me)
{
    int out = 5, in = -1, flag = -1;
    MPI_Request send = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Issend(&out, 1, MPI_INT, me, TAG, comm, &send));
    for (int i = 0; i < 10; i++) {
        CHECK_OK(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    CHECK_OK(MPI_Recv(&in, 1, MPI_INT, me, TAG, comm, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_INT(in, 5);
}

static void probed(MPI_Comm comm, int me)
{
    char out[300], in[300];
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = -1;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status));
    CHECK(!flag);
    pattern_fill(out, sizeof out, 4);
    CHECK_OK(MPI_Isend(out, 300, MPI_BYTE, me, TAG, comm, &send));
    CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
    CHECK_STATUS(&status, me, TAG, 300);
    CHECK_OK(MPI_Mprobe(me, TAG, comm, &message, &status));
    CHECK_OK(MPI_Mrecv(in, 300, MPI_BYTE, &message, &status));
    CHECK_STATUS(&status, me, TAG, 300);
    CHECK_PATTERN(in, 300, 4);
    CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

// Same rank number, same tag, two communicators: each receive gets the message of its own.
static void apart(void)
{
    int me = world_rank(), world = 1, self = 2, in = -1, flag = -1;
    MPI_Request sends[2];
    CHECK_OK(MPI_Isend(&world, 1, MPI_INT, me, TAG, MPI_COMM_WORLD, &sends[0]));
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK_OK(MPI_Isend(&self, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &sends[1]));
    CHECK_OK(
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK_INT(in, self);
    CHECK_OK(
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_INT(in, world);
    CHECK_OK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

int main(int argc, char **argv)
{
    const int sizes[] = {0, 1, 64, 5000, 70000, 1 << 20};
    CHECK_OK(MPI_Init(&argc, &argv));
    int me = world_rank();
    for (int i = 0; i < COUNT_OF(sizes); i++) {
        both_orders(MPI_COMM_WORLD, me, sizes[i]);
        both_orders(MPI_COMM_SELF, 0, sizes[i]);
    }
    synchronous(MPI_COMM_WORLD, me);
    synchronous(MPI_COMM_SELF, 0);
    probed(MPI_COMM_WORLD, me);
    probed(MPI_COMM_SELF, 0);
    apart();
    CHECK_OK(MPI_Finalize());
    return 0;
}
