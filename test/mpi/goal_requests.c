// SPDX-License-Identifier: BSD-3-Clause
//
// The request of a schedule that was started is one as any other: wait, test and the like, mixed
// with those of messages; it may be freed, and so may its schedule.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { SCHEDS = 3, WAYS = 7 };

typedef struct ring {
    int out, in, left;
    GOAL_Sched sched;
} ring;

static void new_ring(ring *r, int rank, int size)
{
    r->left = (rank + size - 1) % size;
    r->sched = ring_of(WORLD, &r->out, &r->in, sizeof r->in);
}

static void wait_in_some_way(int way, int count, MPI_Request *requests)
{
    int left = count, flag = 0, index, some, indices[SCHEDS + 2];
    MPI_Status status, statuses[SCHEDS + 2];
    switch (way) {
    case 0:
        for (int i = 0; i < count; i++)
            CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
    case 1:
        CHECK_OK(MPI_Waitall(count, requests, statuses));
        break;
    case 2:
        for (; left > 0; left--) {
            CHECK_OK(MPI_Waitany(count, requests, &index, &status));
            CHECK(index >= 0 && index < count && requests[index] == MPI_REQUEST_NULL);
        }
        break;
    case 3:
        for (; left > 0; left -= some) {
            CHECK_OK(MPI_Waitsome(count, requests, &some, indices, statuses));
            CHECK(some > 0);
        }
        break;
    case 4:
        while (!flag)
            CHECK_OK(MPI_Testall(count, requests, &flag, statuses));
        break;
    case 5:
        while (left > 0) {
            CHECK_OK(MPI_Testany(count, requests, &index, &flag, &status));
            left -= flag;
        }
        break;
    default:
        for (int i = 0; i < count; i++) {
            for (flag = 0; !flag;)
                CHECK_OK(MPI_Request_get_status(requests[i], &flag, &status));
            CHECK(requests[i] != MPI_REQUEST_NULL);
            for (flag = 0; !flag;)
                CHECK_OK(MPI_Test(&requests[i], &flag, &status));
        }
        break;
    }
    for (int i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

// Schedules and messages under way at the same time.
static void mixed(int rank, int size)
{
    ring r[SCHEDS];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out = rank, in = -1;
    for (int i = 0; i < SCHEDS; i++)
        new_ring(&r[i], rank, size);
    for (int way = 0; way < WAYS; way++) {
        MPI_Request requests[SCHEDS + 2];
        CHECK_OK(MPI_Irecv(&in, 1, MPI_INT, left, 1, WORLD, &requests[SCHEDS]));
        for (int i = 0; i < SCHEDS; i++) {
            r[i].out = 1000 * way + 10 * rank + i;
            CHECK_OK(GOAL_Sched_start(r[i].sched, &requests[i]));
        }
        CHECK_OK(MPI_Isend(&out, 1, MPI_INT, right, 1, WORLD, &requests[SCHEDS + 1]));
        wait_in_some_way(way, SCHEDS + 2, requests);
        for (int i = 0; i < SCHEDS; i++)
            CHECK_INT(r[i].in, 1000 * way + 10 * left + i);
        CHECK_INT(in, left);
    }
    for (int i = 0; i < SCHEDS; i++)
        CHECK_OK(GOAL_Sched_free(&r[i].sched));
}

static void statuses(int rank, int size)
{
    ring r;
    MPI_Request request;
    MPI_Status status;
    new_ring(&r, rank, size);
    memset(&status, 0x5a, sizeof status);
    CHECK_OK(GOAL_Sched_start(r.sched, &request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK_STATUS(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    CHECK_OK(GOAL_Sched_free(&r.sched));
}

// What nobody waits for comes to its end nevertheless; the last message says that it has.
static void freed(int rank, int size)
{
    int out[2] = {rank, rank}, in[2] = {-1, -1}, left = (rank + size - 1) % size;
    MPI_Request request;
    GOAL_Sched s = ring_of(WORLD, &out[0], &in[0], sizeof(int));
    CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK_OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_OK(GOAL_Sched_free(&s));
    s = ring_of(WORLD, &out[1], &in[1], sizeof(int));
    CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK_OK(GOAL_Sched_free(&s)); // under way: goes when it is done
    CHECK(s == NULL);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(in[1], left);
    while (*(volatile int *)&in[0] != left)
        CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, 99, WORLD, &(int){0}, MPI_STATUS_IGNORE));
}

// The same schedule cannot be started twice, nor cancelled; it goes on unharmed.
static void refused(int rank, int size)
{
    int out = rank, in = -1, left = (rank + size - 1) % size, any;
    MPI_Request first, second = MPI_REQUEST_NULL, later;
    GOAL_Sched s = ring_of(WORLD, &out, &in, sizeof(int));
    GOAL_Goal g = GOAL_Create(); // for what nobody sends
    CHECK_ID(GOAL_Recv(g, &any, sizeof any, left));
    GOAL_Sched waits = compiled(g);
    CHECK_OK(GOAL_Sched_start(waits, &first));
    CHECK_ERROR(GOAL_Sched_start(waits, &second), MPI_ERR_ARG, "GOAL_Sched_start", "under way");
    CHECK(second == MPI_REQUEST_NULL);
    CHECK_ERROR(GOAL_Sched_run(waits), MPI_ERR_ARG, "GOAL_Sched_run", "under way");
    CHECK_ERROR(GOAL_Sched_bind(waits, "", &any), MPI_ERR_ARG, "GOAL_Sched_bind", "under way");
    CHECK_ERROR(GOAL_Sched_set(waits, GOAL_ORDER, 1), MPI_ERR_ARG, "GOAL_Sched_set", "under way");
    CHECK_ERROR(MPI_Cancel(&first), MPI_ERR_REQUEST, "MPI_Cancel", "GOAL_Sched_start");
    CHECK_ERROR(MPI_Start(&first), MPI_ERR_REQUEST, "MPI_Start", "nonblocking");
    CHECK_OK(GOAL_Sched_start(s, &later)); // another one meanwhile
    CHECK_OK(MPI_Wait(&later, MPI_STATUS_IGNORE));
    CHECK_INT(in, left);
    CHECK_OK(GOAL_Sched_free(&waits));
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Request_free(&first)); // it never ends
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int rank = world_rank(), size = world_size();
    mixed(rank, size);
    statuses(rank, size);
    freed(rank, size);
    refused(rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
