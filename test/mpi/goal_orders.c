// SPDX-License-Identifier: BSD-3-Clause
//
// In which orders the actions of the paper's Example 2 finish: r1 before e1, r2 before e2, and
// nothing else. All six must be seen under a random policy if it decides who comes first, that is,
// if all ranks share a worker; else each must be one of them.

#define _GNU_SOURCE // gettid
#include <unistd.h>

#include "goal_check.h"

enum { R1, R2, E1, E2, ACTIONS, ORDERS = 6, MOST_RUNS = 4000 };

static const char *const names[] = {"r1", "r2", "e1", "e2"};
static const int orders[ORDERS][ACTIONS] = {
    {R1, R2, E1, E2}, {R1, R2, E2, E1}, {R1, E1, R2, E2},
    {R2, R1, E1, E2}, {R2, R1, E2, E1}, {R2, E2, R1, E1},
};

static int order_of(const GOAL_id *ids)
{
    for (int i = 0; i < ORDERS; i++)
        if (memcmp(ids, orders[i], sizeof orders[i]) == 0)
            return i;
    check_fail(__FILE__, __LINE__, "%s %s %s %s is no order of the graph", names[ids[0]],
               names[ids[1]], names[ids[2]], names[ids[3]]);
}

static GOAL_Sched example(int rank, signed char *memory)
{
    GOAL_Goal g = GOAL_Create();
    if (rank == 0) {
        CHECK_INT(GOAL_Recv(g, memory + 3, 1, 1), R1);
        CHECK_INT(GOAL_Recv(g, memory + 4, 1, 2), R2);
        CHECK_INT(GOAL_Exec(g, GOAL_sumInt8, memory + 1, 1, memory + 3, 1), E1);
        CHECK_INT(GOAL_Exec(g, GOAL_sumInt8, memory + 2, 1, memory + 4, 1), E2);
        CHECK_OK(GOAL_Requ(g, E1, R1));
        CHECK_OK(GOAL_Requ(g, E2, R2));
    } else if (rank < 3) {
        CHECK_ID(GOAL_Send(g, memory + 1, 1, 0));
    }
    return compiled(g);
}

static int share_a_worker(void)
{
    int own = (int)gettid(), least, most;
    CHECK_OK(MPI_Allreduce(&own, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK_OK(MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return least == most;
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int rank = world_rank(), seen[ORDERS] = {0}, kinds = 0, runs = 0, more = 1;
    const char *policy = getenv("MILLET_SCHED");
    int all = share_a_worker() && policy && strncmp(policy, "random", 6) == 0;
    signed char memory[8] = {0, 1, 1, 0, 0};
    GOAL_Sched s = example(rank, memory);
    CHECK_OK(GOAL_Sched_set(s, GOAL_ORDER, 1));
    while (more) {
        GOAL_id ids[ACTIONS + 1];
        int count = -1;
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); // then anyone may come first
        CHECK_OK(GOAL_Sched_run(s));
        CHECK_OK(GOAL_Sched_order(s, ids, COUNT_OF(ids), &count));
        CHECK_INT(count, rank == 0 ? ACTIONS : rank < 3 ? 1 : 0);
        if (rank == 0)
            kinds += seen[order_of(ids)]++ == 0;
        runs++;
        more = runs < (all ? MOST_RUNS : 100) && kinds < ORDERS;
        for (int r = 1; rank == 0 && r < world_size(); r++)
            CHECK_OK(MPI_Send(&more, 1, MPI_INT, r, 0, MPI_COMM_WORLD));
        if (rank > 0)
            CHECK_OK(MPI_Recv(&more, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    if (rank == 0) {
        for (int i = 0; i < ORDERS; i++)
            printf("%s %s %s %s: %d\n", names[orders[i][0]], names[orders[i][1]],
                   names[orders[i][2]], names[orders[i][3]], seen[i]);
        CHECK(kinds > 0 && (!all || kinds == ORDERS));
    }
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Finalize());
    return 0;
}
