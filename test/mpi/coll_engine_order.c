// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent collectives start in any order, which may differ from rank to rank, among nonblocking
// ones, and in any number: each meets its own kind.

#include "check.h"

// More than the numbers that messages of schedules are told apart by (4096), and a second round.
enum { MANY = 5000, APART = 4096 };

#if MPI_VERSION >= 4

struct many {
    MPI_Request requests[MANY];
    int out[MANY], in[MANY];
};

static void make_many(struct many *m, MPI_Comm comm)
{
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_Allreduce_init(&m->out[i], &m->in[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                    &m->requests[i]));
}

static void fill(struct many *m, int round)
{
    for (int i = 0; i < MANY; i++) {
        m->out[i] = i + round;
        m->in[i] = -1;
    }
}

// All are under way at once; even ranks start them forwards, odd ones backwards.
static void any_order(MPI_Comm comm)
{
    int rank, size;
    struct many *m = malloc(sizeof *m);
    CHECK(m != NULL);
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    make_many(m, comm);
    for (int round = 0; round < 2; round++) {
        fill(m, round);
        for (int i = 0; i < MANY; i++)
            CHECK_OK(MPI_Start(&m->requests[rank % 2 ? MANY - 1 - i : i]));
        CHECK_OK(MPI_Waitall(MANY, m->requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < MANY; i++)
            CHECK_INT(m->in[i], size * (i + round));
    }
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_Request_free(&m->requests[i]));
    free(m);
}

// Two that are APART: the first rank waits for one before it starts the other, the others have
// started them the other way round.
static void two_apart(MPI_Comm comm)
{
    int rank, size, at[2] = {0, APART};
    struct many *m = malloc(sizeof *m);
    CHECK(m != NULL);
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    make_many(m, comm);
    fill(m, 3);
    for (int i = 0; i < 2; i++) {
        int which = at[rank ? 1 - i : i];
        CHECK_OK(MPI_Start(&m->requests[which]));
        if (rank == 0)
            CHECK_OK(MPI_Wait(&m->requests[which], MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_Waitall(MANY, m->requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 2; i++)
        CHECK_INT(m->in[at[i]], size * (at[i] + 3));
    for (int i = 0; i < MANY; i++)
        CHECK_OK(MPI_Request_free(&m->requests[i]));
    free(m);
}

// A persistent one is not held up by nonblocking ones that wait for their numbers: the last rank
// makes those only after it.
static void not_held(MPI_Comm comm)
{
    int rank, size, out = 1, in = 0;
    MPI_Request *barriers = malloc(MANY * sizeof(MPI_Request)), persistent;
    CHECK(barriers != NULL);
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    CHECK_OK(MPI_Allreduce_init(&out, &in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &persistent));
    for (int i = 0; i < MANY && rank < size - 1; i++)
        CHECK_OK(MPI_Ibarrier(comm, &barriers[i]));
    CHECK_OK(MPI_Start(&persistent));
    CHECK_OK(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
    CHECK_INT(in, size);
    for (int i = 0; i < MANY && rank == size - 1; i++)
        CHECK_OK(MPI_Ibarrier(comm, &barriers[i]));
    CHECK_OK(MPI_Waitall(MANY, barriers, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Request_free(&persistent));
    free(barriers);
}

#else
static void any_order(MPI_Comm comm)
{
    (void)comm;
}
#define two_apart any_order
#define not_held  any_order
#endif

int main(int argc, char **argv)
{
    MPI_Comm comm;
    CHECK_OK(MPI_Init(&argc, &argv));
    const char *which = argc > 1 ? argv[1] : "";
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (!strcmp(which, "held"))
        not_held(comm);
    else if (!strcmp(which, "apart"))
        two_apart(comm);
    else
        any_order(comm);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Finalize());
    return 0;
}
