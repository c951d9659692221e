// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that make, use and free communicators at the same time: each thread collectively on a
// communicator of its own, all of them on the world with a tag or a string of their own. Thread t
// of each rank does what thread t of every other rank does.
//
// arguments: rounds, threads

#include "threads.h"

typedef struct plan {
    int rounds;
    MPI_Comm own[TEAM_MOST];
} plan;

// Ranks and their number are right, and no other thread's messages come.
static void check_own(MPI_Comm comm, int size, int index)
{
    int rank = -1, n = -1, got[2] = {-1, -1};
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &n));
    CHECK_INT(n, size);
    int mine[2] = {rank, index}, from = (rank + size - 1) % size;
    CHECK_OK(MPI_Sendrecv(mine, 2, MPI_INT, (rank + 1) % size, 1, got, 2, MPI_INT, from, 1, comm,
                          MPI_STATUS_IGNORE));
    CHECK_INT(got[0], from);
    CHECK_INT(got[1], index);
}

static void on_own(MPI_Comm own, int size, int rank, int index)
{
    MPI_Comm copy, later[2], part;
    MPI_Request requests[2];
    CHECK_OK(MPI_Comm_idup(own, &later[0], &requests[0]));
    CHECK_OK(MPI_Comm_dup(own, &copy));
    CHECK_OK(MPI_Comm_idup(copy, &later[1], &requests[1]));
    CHECK_OK(MPI_Barrier(own));
    check_own(copy, size, index);
    CHECK_OK(MPI_Comm_free(&copy)); // with an operation under way
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    check_own(later[0], size, index);
    CHECK_OK(MPI_Comm_split(later[1], rank % 2, -rank, &part));
    check_own(part, rank % 2 ? size / 2 : (size + 1) / 2, index);
    CHECK_OK(MPI_Barrier(part));
    CHECK_OK(MPI_Comm_free(&part));
    CHECK_OK(MPI_Comm_free(&later[0]));
    CHECK_OK(MPI_Comm_free(&later[1]));
}

static void on_world(int size, int index)
{
    MPI_Comm comm;
    MPI_Group group;
    char name[32];
    snprintf(name, sizeof name, "thread %d", index);
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 10 + index, &comm));
    check_own(comm, size, index);
    CHECK_OK(MPI_Comm_free(&comm));
    if (STRICT) {
        CHECK_OK(
            MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
        check_own(comm, size, index);
        CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Group_free(&group));
}

static void work(team *t, int index)
{
    plan *p = t->data;
    for (int i = 0; i < p->rounds; i++) {
        on_own(p->own[index], t->size, t->rank, index);
        on_world(t->size, index);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    plan p = {.rounds = atoi(argv[1])};
    team t = {.work = work, .data = &p};
    int threads = atoi(argv[2]);
    init_level(MPI_THREAD_MULTIPLE);
    for (int i = 0; i < threads; i++)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &p.own[i]));
    team_start(&t, threads);
    team_join(&t);
    for (int i = 0; i < threads; i++)
        CHECK_OK(MPI_Comm_free(&p.own[i]));
    CHECK_OK(MPI_Finalize());
    return 0;
}
