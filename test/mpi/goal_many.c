// SPDX-License-Identifier: BSD-3-Clause
//
// Many schedules at once: on one communicator, on parts of the world at the same time, on one that
// has been freed, more starts than there are numbers for them; and as many ranks as the job has.

#include "goal_check.h"

#define WORLD MPI_COMM_WORLD

enum { MANY = 20, STARTS = 9000 };

// All under way together, waited for backwards.
static void together(int rank, int size, MPI_Comm comm)
{
    int out[MANY], in[MANY], left = (rank + size - 1) % size;
    GOAL_Sched s[MANY];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        out[i] = 100 * rank + i;
        s[i] = ring_of(comm, &out[i], &in[i], sizeof(int));
    }
    for (int round = 0; round < 3; round++) {
        memset(in, -1, sizeof in);
        for (int i = 0; i < MANY; i++)
            CHECK_OK(GOAL_Sched_start(s[i], &requests[i]));
        for (int i = MANY - 1; i >= 0; i--)
            CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        for (int i = 0; i < MANY; i++)
            CHECK_INT(in[i], 100 * left + i);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_OK(GOAL_Sched_free(&s[i]));
}

// Ranks of both parts run schedules of their part and of the world at the same time; the part's
// communicator is freed before its schedule runs.
static void parts(int rank, int size)
{
    MPI_Comm part;
    int part_rank, part_size, out[2] = {rank, 1000 + rank}, in[2] = {-1, -1};
    CHECK_OK(MPI_Comm_split(WORLD, rank % 2, -rank, &part)); // backwards
    CHECK_OK(MPI_Comm_rank(part, &part_rank));
    CHECK_OK(MPI_Comm_size(part, &part_size));
    GOAL_Sched of_world = ring_of(WORLD, &out[0], &in[0], sizeof(int));
    GOAL_Sched of_part = ring_of(part, &out[1], &in[1], sizeof(int));
    together(part_rank, part_size, part);
    CHECK_OK(MPI_Comm_free(&part));
    for (int i = 0; i < 5; i++) {
        MPI_Request requests[2];
        CHECK_OK(GOAL_Sched_start(of_part, &requests[0]));
        CHECK_OK(GOAL_Sched_start(of_world, &requests[1]));
        CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK_INT(in[0], (rank + size - 1) % size);
        // Rank k of the part is the k-th from behind of the world's ranks of that kind.
        int last = rank % 2 + (part_size - 1) * 2, left = rank + 2 > last ? rank % 2 : rank + 2;
        CHECK_INT(in[1], 1000 + left);
        in[0] = in[1] = -1;
    }
    CHECK_OK(GOAL_Sched_free(&of_world));
    CHECK_OK(GOAL_Sched_free(&of_part));
}

// The number of a run has 12 bits. One that stays under way while others come and go is noticed.
static void numbers(int rank, int size)
{
    int out = rank, in = -1, left = (rank + size - 1) % size, never, i, code = MPI_SUCCESS;
    MPI_Comm comm;
    MPI_Request slow;
    GOAL_Sched s = ring_of(WORLD, &out, &in, sizeof(int));
    for (i = 0; i < STARTS / size + 4100; i++)
        CHECK_OK(GOAL_Sched_run(s));
    CHECK_INT(in, left);
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Comm_dup(WORLD, &comm));
    CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, comm));
    CHECK_ID(GOAL_Recv(g, &never, sizeof never, left));
    GOAL_Sched waits = compiled(g);
    s = ring_of(comm, &out, &in, sizeof(int));
    CHECK_OK(GOAL_Sched_start(waits, &slow));
    for (i = 0; i < 5000 && code == MPI_SUCCESS; i++)
        code = GOAL_Sched_run(s);
    CHECK_INT(i, 4096); // 4,095 others have their numbers
    CHECK_ERROR(code, MPI_ERR_OTHER, "GOAL_Sched_run", "still under way");
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(GOAL_Sched_free(&waits));
    CHECK_OK(MPI_Request_free(&slow)); // nobody sends
    CHECK_OK(MPI_Comm_free(&comm));
}

// Everybody's number to everybody, by recursive doubling or a ring.
static void allreduce(int rank, int size)
{
    enum { ROUNDS = 32 };
    long own = 0, in[ROUNDS], sent[ROUNDS];
    int n = 0;
    GOAL_Goal g = GOAL_Create();
    GOAL_id before = -1;
    // Dissemination of the sum over 2^k ranks needs a power of two; others send to rank 0 and back.
    if ((size & (size - 1)) == 0) {
        for (int bit = 1; bit < size; bit *= 2, n++) {
            GOAL_id copy = CHECK_ID(GOAL_Exec(g, GOAL_copyInt64, &sent[n], 8, &own, 8));
            GOAL_id send = CHECK_ID(GOAL_Send(g, &sent[n], 8, rank ^ bit));
            GOAL_id recv = CHECK_ID(GOAL_Recv(g, &in[n], 8, rank ^ bit));
            GOAL_id sum = CHECK_ID(GOAL_Exec(g, GOAL_sumInt64, &own, 8, &in[n], 8));
            if (before >= 0)
                CHECK_OK(GOAL_Requ(g, copy, before));
            CHECK_OK(GOAL_Requ(g, send, copy));
            CHECK_OK(GOAL_Requ(g, sum, copy));
            CHECK_OK(GOAL_Requ(g, sum, recv));
            before = sum;
        }
    }
    GOAL_Sched s = compiled(g);
    for (int i = 0; i < 3; i++) {
        own = rank + i;
        CHECK_OK(GOAL_Sched_run(s));
        if (n > 0)
            CHECK_INT(own, (long)size * (size - 1) / 2 + (long)i * size);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), size = world_size();
    allreduce(rank, size);
    if (argc > 1) { // only that, of very many ranks
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    together(rank, size, WORLD);
    if (size % 2 == 0)
        parts(rank, size);
    numbers(rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
