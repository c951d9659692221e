// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules that are made, compiled, run and freed very often take no more memory than a few; and
// starting them takes none, however many are started before the first is waited for.

#include <malloc.h>

#include "goal_check.h"
#include "growth.h"

#define WORLD MPI_COMM_WORLD

static void nothing(void *buf1, int size1, void *buf2, int size2)
{
    (void)buf1, (void)size1, (void)buf2, (void)size2;
}

static void once(int i, void *state)
{
    int *memory = state, rank = world_rank(), size = world_size();
    MPI_Request request;
    GOAL_Goal g = GOAL_Create();
    GOAL_fid f = CHECK_ID(GOAL_Reg_func(g, nothing));
    CHECK_OK(GOAL_Buffer(g, "memory", memory, 64));
    CHECK_OK(GOAL_Set(g, GOAL_AUTO, i % 2));
    CHECK_OK(GOAL_Set(g, GOAL_WINDOW, i % 5));
    int *own = GOAL_Alloc(g, "own", 100);
    CHECK_ID(GOAL_Send(g, memory, 4, (rank + 1) % size)); // first: a window may hold just one
    CHECK_ID(GOAL_Recv(g, own, 4, (rank + size - 1) % size));
    CHECK_ID(GOAL_Exec(g, f, memory + 1, 4, memory + 2, 4));
    CHECK_ID(GOAL_Exec_reversed(g, f, memory + 3, 4, memory + 4, 4));
    GOAL_Sched s = compiled(g);
    CHECK_OK(GOAL_Sched_set(s, GOAL_ORDER, i % 3 == 0));
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_start(s, &request));
    if (i % 2)
        CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (s)
        CHECK_OK(GOAL_Sched_free(&s));
    if (i % 100 == 0) {
        CHECK_OK(GOAL_Sched_text("a: nop1: 3", WORLD, &s) == MPI_SUCCESS ? MPI_ERR_OTHER
                                                                         : MPI_SUCCESS);
        CHECK_OK(GOAL_Sched_text("rank #0 { buffer b 100; x: exec sumInt8 with b+0,1 b+1,1; }",
                                 WORLD, &s));
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_OK(GOAL_Sched_free(&s));
    }
}

static void start_many(void)
{
    enum { MANY = 500 };
    GOAL_Sched s[MANY];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        GOAL_Goal g = GOAL_Create();
        CHECK_OK(GOAL_Set_comm(g, MPI_COMM_SELF));
        CHECK_ID(GOAL_Nop(g));
        s[i] = compiled(g);
    }
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < MANY; i++)
        CHECK_OK(GOAL_Sched_start(s[i], &requests[i]));
    CHECK_INT(mallinfo2().uordblks - before, 0);
    CHECK_OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++)
        CHECK_OK(GOAL_Sched_free(&s[i]));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    if (argc > 1 && strcmp(argv[1], "starts") == 0) {
        start_many();
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    int memory[16] = {0};
    check_growth(once, memory, rounds_of(argc > 1 ? atoi(argv[1]) : 100000));
    CHECK_OK(MPI_Finalize());
    return 0;
}
