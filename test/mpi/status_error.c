// SPDX-License-Identifier: BSD-3-Clause
//
// The field MPI_ERROR of a status changes only in the functions that return several statuses, and
// there only when they return MPI_ERR_IN_STATUS.

#include "serve.h"

#define WORLD MPI_COMM_WORLD

enum { MARK = 12345 };

static void drive(int peer)
{
    char buf[200];
    MPI_Request r[2];
    MPI_Message message;
    MPI_Status status, statuses[2];
    int flag = 0, index = -1, count = -1, indices[2];
    status.MPI_ERROR = statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = MARK;
    ask(peer, 1, 100);
    CHECK_OK(MPI_Probe(peer, 1, WORLD, &status));
    CHECK_INT(status.MPI_ERROR, MARK);
    CHECK_OK(MPI_Iprobe(peer, 1, WORLD, &flag, &status));
    CHECK_INT(status.MPI_ERROR, MARK);
    CHECK_OK(MPI_Mprobe(peer, 1, WORLD, &message, &status));
    CHECK_INT(status.MPI_ERROR, MARK);
    CHECK_OK(MPI_Mrecv(buf, 200, MPI_BYTE, &message, &status));
    CHECK_INT(status.MPI_ERROR, MARK);
    ask(peer, 1, 100);
    CHECK_OK(MPI_Recv(buf, 200, MPI_BYTE, peer, 1, WORLD, &status));
    CHECK_INT(status.MPI_ERROR, MARK);
    for (int way = 0; way < 8; way++) {
        CHECK_OK(MPI_Irecv(buf, 100, MPI_BYTE, peer, 1, WORLD, &r[0]));
        CHECK_OK(MPI_Irecv(buf + 100, 100, MPI_BYTE, peer, 2, WORLD, &r[1]));
        ask(peer, 1, 10);
        ask(peer, 2, 20);
        flag = 0;
        switch (way) {
        case 0:
            CHECK_OK(MPI_Wait(&r[0], &status));
            break;
        case 1:
            CHECK_OK(MPI_Waitany(2, r, &index, &status));
            break;
        case 2:
            CHECK_OK(MPI_Waitsome(2, r, &count, indices, statuses));
            break;
        case 3:
            CHECK_OK(MPI_Waitall(2, r, statuses));
            break;
        case 4:
            while (!flag)
                CHECK_OK(MPI_Test(&r[1], &flag, &status));
            break;
        case 5:
            while (!flag)
                CHECK_OK(MPI_Testany(2, r, &index, &flag, &status));
            break;
        case 6:
            for (count = 0; count == 0;)
                CHECK_OK(MPI_Testsome(2, r, &count, indices, statuses));
            break;
        default:
            while (!flag)
                CHECK_OK(MPI_Testall(2, r, &flag, statuses));
            break;
        }
        CHECK_INT(status.MPI_ERROR, MARK);
        CHECK_INT(statuses[0].MPI_ERROR, MARK);
        CHECK_INT(statuses[1].MPI_ERROR, MARK);
        CHECK_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    for_each_pair(drive);
    CHECK_OK(MPI_Finalize());
    return 0;
}
