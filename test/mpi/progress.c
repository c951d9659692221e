// SPDX-License-Identifier: BSD-3-Clause
//
// Progress. A rank that polls must let the rank that it polls for go on, even if both share a
// thread; and a rank that is blocked in one call must serve its other communication.

#define _GNU_SOURCE // beyond C11: signals
#include "check.h"

#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD

enum { TAG = 1, BIG = 1 << 20 };

enum poll { TEST, TESTANY, TESTSOME, TESTALL, GET_STATUS, IPROBE, IMPROBE, POLLS };

// Receives one int from a rank by polling.
static int poll_for(enum poll how, int source)
{
    int in = -1, flag = 0, index = -1, count = 0, indices[2];
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message message = MPI_MESSAGE_NULL;
    if (how < IPROBE)
        CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, source, TAG, WORLD, &r[1]));
    while (!flag) {
        switch (how) {
        case TEST:
            CHECK_OK(MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE));
            break;
        case TESTANY:
            CHECK_OK(MPI_Testany(2, r, &index, &flag, MPI_STATUS_IGNORE));
            break;
        case TESTSOME:
            CHECK_OK(MPI_Testsome(2, r, &count, indices, MPI_STATUSES_IGNORE));
            flag = count > 0;
            break;
        case TESTALL:
            CHECK_OK(MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE));
            break;
        case GET_STATUS:
            CHECK_OK(MPI_Request_get_status(r[1], &flag, MPI_STATUS_IGNORE));
            break;
        case IPROBE:
            CHECK_OK(MPI_Iprobe(source, TAG, WORLD, &flag, MPI_STATUS_IGNORE));
            break;
        default:
            CHECK_OK(MPI_Improbe(MPI_ANY_SOURCE, TAG, WORLD, &flag, &message, MPI_STATUS_IGNORE));
            break;
        }
    }
    if (how == IPROBE)
        CHECK_OK(MPI_Recv(&in, 1, MPI_INT, source, TAG, WORLD, MPI_STATUS_IGNORE));
    if (how == IMPROBE)
        CHECK_OK(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
    return in;
}

// A token goes round in both directions; everyone waits for it by polling.
static void token(enum poll how, int step)
{
    int rank = world_rank(), size = world_size();
    int next = (rank + size + step) % size, previous = (rank + size - step) % size;
    for (int round = 0; round < 20; round++) {
        int value = round;
        if (rank > 0)
            value = poll_for(how, previous);
        CHECK_INT(value, round + (rank == 0 ? 0 : step > 0 ? rank - 1 : size - rank - 1));
        if (rank > 0)
            value++;
        CHECK_OK(MPI_Send(&value, 1, MPI_INT, next, TAG, WORLD));
        if (rank == 0)
            CHECK_INT(poll_for(how, previous), round + size - 1);
    }
}

// Everyone polls at the same time for something that the others send only when they have polled a
// while themselves.
static void all_poll(enum poll how)
{
    int rank = world_rank(), size = world_size(), flag = -1;
    MPI_Request send = MPI_REQUEST_NULL;
    for (int step = 1; step < size; step++) {
        for (int i = 0; i < 10; i++) {
            CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, TAG + 9, WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(!flag);
        }
        CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, (rank + step) % size, TAG, WORLD, &send));
        int source = (rank + size - step) % size, got = poll_for(how, source);
        CHECK_INT(got, source);
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Barrier(WORLD));
    }
}

// Rank 0 has started a large send to rank 1 and blocks in a receive from the last rank, which sends
// only when rank 1 has the large message: rank 0 must serve it while it is blocked. In the `way`s
// it blocks in other calls.
static void blocked_serves(int way, int n)
{
    int rank = world_rank(), size = world_size(), last = size - 1, token = 0, index = -1;
    char *buf = must_alloc((size_t)n);
    if (rank == 0) {
        MPI_Request send = MPI_REQUEST_NULL, recv = MPI_REQUEST_NULL;
        pattern_fill(buf, (size_t)n, (unsigned)way);
        CHECK_OK(MPI_Isend(buf, n, MPI_BYTE, 1, TAG, WORLD, &send));
        switch (way) {
        case 0:
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT, last, TAG, WORLD, MPI_STATUS_IGNORE));
            break;
        case 1:
            CHECK_OK(MPI_Probe(MPI_ANY_SOURCE, TAG, WORLD, MPI_STATUS_IGNORE));
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT, last, TAG, WORLD, MPI_STATUS_IGNORE));
            break;
        case 2:
            CHECK_OK(MPI_Irecv(&token, 1, MPI_INT, last, TAG, WORLD, &recv));
            CHECK_OK(MPI_Waitany(1, &recv, &index, MPI_STATUS_IGNORE));
            break;
        case 3:
            CHECK_OK(MPI_Ssend(&rank, 1, MPI_INT, last, TAG + 1, WORLD));
            break;
        default:
            CHECK_OK(MPI_Barrier(WORLD));
            break;
        }
        if (way < 3)
            CHECK_INT(token, 4711);
        CHECK_OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    }
    if (rank == 1) {
        CHECK_OK(MPI_Recv(buf, n, MPI_BYTE, 0, TAG, WORLD, MPI_STATUS_IGNORE));
        CHECK_PATTERN(buf, (size_t)n, (unsigned)way);
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, last, TAG + 2, WORLD));
    }
    if (rank == last) {
        CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG + 2, WORLD, MPI_STATUS_IGNORE));
        token = 4711;
        if (way < 3)
            CHECK_OK(MPI_Send(&token, 1, MPI_INT, 0, TAG, WORLD));
        if (way == 3)
            CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, TAG + 1, WORLD, MPI_STATUS_IGNORE));
    }
    if (way == 4 && rank != 0)
        CHECK_OK(MPI_Barrier(WORLD));
    CHECK_OK(MPI_Barrier(WORLD));
    free(buf);
}

// Rank 0 sends large messages that have arrived when rank 1 starts its receives. Rank 1 then leaves
// MPI until rank 0, which it cannot help any more, has sent all. busy: rank 1 has a send of its own
// open.
static void late_receives(int n, int count, int busy)
{
    enum { MOST = 16, SECONDS = 10 };
    int pid = (int)getpid(), flag = 0;
    MPI_Request reqs[MOST + 1];
    char *buf = must_alloc((size_t)n * (size_t)count), *own = must_alloc((size_t)n);
    CHECK_OK(MPI_Bcast(&pid, 1, MPI_INT, 1, WORLD));
    if (world_rank() == 0) {
        pattern_fill(buf, (size_t)n * (size_t)count, (unsigned)n);
        for (int i = 0; i < count; i++)
            CHECK_OK(MPI_Isend(buf + (size_t)i * (size_t)n, n, MPI_BYTE, 1, TAG, WORLD, &reqs[i]));
        CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG + 1, WORLD));
        CHECK_OK(MPI_Waitall(count, reqs, MPI_STATUSES_IGNORE));
        CHECK(kill((pid_t)pid, SIGUSR1) == 0);
        if (busy)
            CHECK_OK(MPI_Recv(own, n, MPI_BYTE, 1, TAG + 2, WORLD, MPI_STATUS_IGNORE));
    } else {
        sigset_t usr1;
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG + 1, WORLD, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Iprobe(0, TAG, WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(flag);
        reqs[count] = MPI_REQUEST_NULL;
        if (busy)
            CHECK_OK(MPI_Isend(own, n, MPI_BYTE, 0, TAG + 2, WORLD, &reqs[count]));
        for (int i = 0; i < count; i++)
            CHECK_OK(MPI_Irecv(buf + (size_t)i * (size_t)n, n, MPI_BYTE, 0, TAG, WORLD, &reqs[i]));
        CHECK(sigtimedwait(&usr1, NULL, &(struct timespec){.tv_sec = SECONDS}) == SIGUSR1);
        CHECK_OK(MPI_Waitall(count + 1, reqs, MPI_STATUSES_IGNORE));
        CHECK_PATTERN(buf, (size_t)n * (size_t)count, (unsigned)n);
    }
    free(own);
    free(buf);
}

// Where the system does not let processes read each other's memory, both sides must be in MPI.
static int is_read_allowed(void)
{
    int here = world_rank(), there = -1, other = 1 - here, ok;
    int *at = &here, *from = NULL;
    int pid = (int)getpid(), from_pid = 0;
    CHECK_OK(MPI_Sendrecv(&at, sizeof at, MPI_BYTE, other, TAG, &from, sizeof from, MPI_BYTE, other,
                          TAG, WORLD, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Sendrecv(&pid, 1, MPI_INT, other, TAG, &from_pid, 1, MPI_INT, other, TAG, WORLD,
                          MPI_STATUS_IGNORE));
    struct iovec to = {&there, sizeof there}, of = {from, sizeof there};
    ok = process_vm_readv((pid_t)from_pid, &to, 1, &of, 1, 0) == (ssize_t)sizeof there;
    CHECK(!ok || there == other);
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, WORLD));
    return ok;
}

static void all_late_receives(void)
{
    // By a fabric it is the receiver who reads, when it is in MPI.
    const char *fabric = getenv("MILLET_FABRIC");
    if (!is_read_allowed() || (fabric && strncmp(fabric, "ofi", 3) == 0))
        return;
    const int sizes[] = {20000, 70000, 300000, BIG};
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0);
    for (int i = 0; i < 2 * COUNT_OF(sizes); i++) {
        late_receives(sizes[i / 2], 1, i % 2 != 0);
        late_receives(sizes[i / 2], 10, i % 2 != 0);
    }
}

int main(int argc, char **argv)
{
    const int sizes[] = {8, 5000, 70000, BIG};
    int late = argc > 1 && strcmp(argv[1], "late") == 0;
    if (late)
        setenv("MILLET_LARGE", "read", 1); // where two copies are faster, both must be in MPI
    CHECK_OK(MPI_Init(&argc, &argv));
    if (late) {
        all_late_receives();
        return MPI_Finalize();
    }
    for (int how = 0; how < POLLS; how++) {
        token((enum poll)how, 1);
        token((enum poll)how, -1);
        CHECK_OK(MPI_Barrier(WORLD));
        all_poll((enum poll)how);
    }
    for (int way = 0; way < 5 && world_size() >= 3; way++)
        for (int i = 0; i < COUNT_OF(sizes); i++)
            blocked_serves(way, sizes[i]);
    CHECK_OK(MPI_Finalize());
    return 0;
}
