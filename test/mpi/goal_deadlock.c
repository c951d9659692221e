// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules that can never go on, by the argument. The report shows what each one waits for, and
// who waits for whom.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

// Everybody forwards to the right what it has not got yet from the left.
static GOAL_Sched cycle(MPI_Comm comm, int *buf)
{
    int rank, size;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    GOAL_id nop = CHECK_ID(GOAL_Nop(g));
    GOAL_id recv = CHECK_ID(GOAL_Recv(g, buf, sizeof *buf, (rank + size - 1) % size));
    GOAL_id send = CHECK_ID(GOAL_Send(g, buf, sizeof *buf, (rank + 1) % size));
    CHECK_OK(GOAL_Requ(g, recv, nop));
    CHECK_OK(GOAL_Requ(g, send, recv));
    return compiled(g);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    const char *what = argv[1];
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size(), buf = 0, in[32];
    MPI_Request requests[2];
    if (strcmp(what, "run") == 0) {
        CHECK_OK(GOAL_Sched_run(cycle(WORLD, &buf)));
    } else if (strcmp(what, "wait") == 0) {
        CHECK_OK(GOAL_Sched_start(cycle(WORLD, &buf), &requests[0]));
        CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    } else if (strcmp(what, "waitall") == 0) { // beside a message
        CHECK_OK(GOAL_Sched_start(cycle(WORLD, &buf), &requests[0]));
        CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, (rank + 1) % size, 77, WORLD, &requests[1]));
        CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    } else if (strcmp(what, "comm") == 0) { // backwards: the report speaks of world ranks
        MPI_Comm comm;
        CHECK_OK(MPI_Comm_split(WORLD, 0, -rank, &comm));
        CHECK_OK(GOAL_Sched_run(cycle(comm, &buf)));
    } else if (strcmp(what, "many") == 0) { // more than fit in a line
        GOAL_Goal g = GOAL_Create();
        for (int i = 0; i < COUNT_OF(in); i++)
            CHECK_ID(GOAL_Recv(g, &in[i], sizeof in[i], (rank + 1) % size));
        CHECK_OK(GOAL_Sched_run(compiled(g)));
    } else if (strcmp(what, "text") == 0) { // labels
        GOAL_Sched s;
        CHECK_OK(GOAL_Sched_text("rank #0 { first: recv 0,100 from 1; }"
                                 "rank #1 { after: send 0,100 to 0; first: recv 0,8 from 0; "
                                 "requ after -> first; }",
                                 WORLD, &s));
        CHECK_OK(GOAL_Sched_run(s));
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
