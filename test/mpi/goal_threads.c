// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of a rank, each with schedules of its own on a communicator of its own: blocking,
// nonblocking, some waited for by another thread than the one that started them. Then several that
// run the same one, which is under way once at a time.

#include <stdatomic.h>

#include "goal_check.h"
#include "threads.h"

enum { TEAM = 4, ROUNDS = 100, RUNS = 20000 };

typedef struct shared {
    MPI_Comm comm[TEAM];
} shared;

static void work(team *t, int index)
{
    MPI_Comm comm = ((shared *)t->data)->comm[index];
    int out[64] = {0}, in[64] = {0}, left = (t->rank + t->size - 1) % t->size;
    GOAL_Sched s = ring_of(comm, out, in, sizeof in);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        for (int i = 0; i < COUNT_OF(out); i++)
            out[i] = 10000 * index + 100 * round + t->rank + i;
        if (round % 2) {
            CHECK_OK(GOAL_Sched_run(s));
        } else {
            int flag = 0;
            CHECK_OK(GOAL_Sched_start(s, &request));
            while (round % 4 == 0 && !flag)
                CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < COUNT_OF(in); i++)
            CHECK_INT(in[i], 10000 * index + 100 * round + left + i);
    }
    CHECK_OK(GOAL_Sched_free(&s));
}

// One thread starts, the others wait.
typedef struct handed {
    MPI_Request requests[TEAM];
} handed;

static void wait_for_one(team *t, int index)
{
    CHECK_OK(MPI_Wait(&((handed *)t->data)->requests[index], MPI_STATUS_IGNORE));
}

// A thread waits for what a chain needs; another sends to the own rank what sets it off. What a
// message makes possible must be done though whoever drives sleeps.
static void send_to_self(team *t, int index)
{
    (void)index;
    int value = 7;
    CHECK_OK(MPI_Send(&value, 1, MPI_INT, t->rank, 1, MPI_COMM_WORLD));
    CHECK_OK(GOAL_Sched_run(*(GOAL_Sched *)t->data));
}

static void chain_on_self(int rank)
{
    int a = 5, b = -1, c = -1, value;
    GOAL_Goal g = GOAL_Create();
    CHECK_OK(GOAL_Set_comm(g, MPI_COMM_SELF));
    GOAL_id send = CHECK_ID(GOAL_Send(g, &a, sizeof a, 0));
    GOAL_id recv = CHECK_ID(GOAL_Recv(g, &b, sizeof b, 0));
    GOAL_id copy = CHECK_ID(GOAL_Exec(g, GOAL_copyInt32, &c, sizeof c, &b, sizeof b));
    CHECK_OK(GOAL_Requ(g, copy, recv));
    (void)send;
    GOAL_Sched s = compiled(g);
    team t = {.work = send_to_self, .data = &s};
    team_start(&t, 1);
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    team_join(&t);
    CHECK_INT(c, 5);
    CHECK_OK(GOAL_Sched_free(&s));
}

// Whoever finds it under way is told so and tries again; a run that is over though its caller has
// not noticed yet is in nobody's way.
typedef struct common {
    GOAL_Sched sched;
    atomic_int left;
} common;

static void run_same(team *t, int index)
{
    (void)index;
    common *c = t->data;
    while (atomic_fetch_sub(&c->left, 1) > 0)
        for (int code; (code = GOAL_Sched_run(c->sched)) != MPI_SUCCESS;)
            CHECK_ERROR(code, MPI_ERR_ARG, "GOAL_Sched_run", "under way already");
}

static void same_schedule(int rank, int size)
{
    int out = rank, in = -1;
    common c = {.sched = ring_of(MPI_COMM_WORLD, &out, &in, sizeof in), .left = RUNS};
    team t = {.work = run_same, .data = &c};
    errors_return();
    team_start(&t, rank == 0 ? 2 : 1);
    team_join(&t);
    CHECK_INT(in, (rank + size - 1) % size);
    CHECK_OK(GOAL_Sched_free(&c.sched));
}

int main(int argc, char **argv)
{
    (void)argc, (void)argv;
    init_level(MPI_THREAD_MULTIPLE);
    int rank = world_rank(), size = world_size(), out[TEAM] = {0}, in[TEAM] = {0};
    shared all;
    for (int i = 0; i < TEAM; i++)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &all.comm[i]));
    team t = {.work = work, .data = &all};
    team_start(&t, TEAM);
    team_join(&t);
    handed h;
    GOAL_Sched s[TEAM];
    for (int i = 0; i < TEAM; i++) {
        out[i] = 10 * rank + i;
        s[i] = ring_of(MPI_COMM_WORLD, &out[i], &in[i], sizeof in[i]);
    }
    for (int i = 0; i < TEAM; i++)
        CHECK_OK(GOAL_Sched_start(s[i], &h.requests[i]));
    team waiters = {.work = wait_for_one, .data = &h};
    team_start(&waiters, TEAM);
    team_join(&waiters);
    for (int i = 0; i < TEAM; i++) {
        CHECK_INT(in[i], 10 * ((rank + size - 1) % size) + i);
        CHECK_OK(GOAL_Sched_free(&s[i]));
        CHECK_OK(MPI_Comm_free(&all.comm[i]));
    }
    chain_on_self(rank);
    same_schedule(rank, size);
    CHECK_OK(MPI_Finalize());
    return 0;
}
