// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent requests of schedules: started again and again, beside those of messages.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { ROUNDS = 5, MANY = 3 };

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    int rank = world_rank(), size = world_size(), right = (rank + 1) % size;
    int left = (rank + size - 1) % size, out[MANY + 1], in[MANY + 1], flag = 0;
    MPI_Request requests[MANY + 2], other = MPI_REQUEST_NULL;
    MPI_Status status;
    GOAL_Sched s[MANY];
    for (int i = 0; i < MANY; i++) {
        s[i] = ring_of(WORLD, &out[i], &in[i], sizeof(int));
        CHECK_OK(GOAL_Sched_init(s[i], &requests[i]));
    }
    CHECK_OK(MPI_Send_init(&out[MANY], 1, MPI_INT, right, 5, WORLD, &requests[MANY]));
    CHECK_OK(MPI_Recv_init(&in[MANY], 1, MPI_INT, left, 5, WORLD, &requests[MANY + 1]));
    CHECK_OK(MPI_Test(&requests[0], &flag, &status)); // inactive
    CHECK_INT(flag, 1);
    CHECK_EMPTY(&status);
    CHECK_ERROR(MPI_Cancel(&requests[0]), MPI_ERR_REQUEST, "MPI_Cancel", "inactive");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i <= MANY; i++) {
            out[i] = 100 * round + 10 * i + rank;
            in[i] = -1;
        }
        if (round % 2) {
            CHECK_OK(MPI_Startall(MANY + 2, requests));
        } else {
            for (int i = 0; i < MANY + 2; i++)
                CHECK_OK(MPI_Start(&requests[i]));
        }
        CHECK_ERROR(MPI_Start(&requests[1]), MPI_ERR_REQUEST, "MPI_Start", "active");
        CHECK_OK(MPI_Waitall(MANY + 2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i <= MANY; i++) {
            CHECK(requests[i] != MPI_REQUEST_NULL);
            CHECK_INT(in[i], 100 * round + 10 * i + left);
        }
        CHECK_OK(GOAL_Sched_run(s[0])); // between two starts of its request
    }
    // The request outlives the user's handle of the schedule.
    CHECK_OK(GOAL_Sched_free(&s[0]));
    out[0] = 4242 + rank;
    CHECK_OK(MPI_Start(&requests[0]));
    CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_INT(in[0], 4242 + left);
    // Two requests of one schedule: one run at a time.
    GOAL_Goal g = GOAL_Create();
    CHECK_ID(GOAL_Recv_tag(g, &in[0], sizeof(int), left, 1));
    GOAL_Sched waits = compiled(g);
    CHECK_OK(GOAL_Sched_init(waits, &other));
    CHECK_OK(MPI_Start(&other));
    CHECK_ERROR(GOAL_Sched_run(waits), MPI_ERR_ARG, "GOAL_Sched_run", "under way");
    MPI_Request third;
    CHECK_OK(GOAL_Sched_init(waits, &third));
    CHECK_ERROR(MPI_Start(&third), MPI_ERR_ARG, "MPI_Start", "under way");
    CHECK_OK(MPI_Request_free(&third));
    CHECK_OK(MPI_Request_free(&other)); // nobody sends
    CHECK_OK(GOAL_Sched_free(&waits));
    for (int i = 0; i < MANY + 2; i++)
        CHECK_OK(MPI_Request_free(&requests[i]));
    for (int i = 1; i < MANY; i++)
        CHECK_OK(GOAL_Sched_free(&s[i]));
    CHECK_OK(MPI_Finalize());
    return 0;
}
