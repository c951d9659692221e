// SPDX-License-Identifier: BSD-3-Clause
//
// Schedules of a rank that has sessions only: there is no MPI_COMM_WORLD, so a goal needs a
// communicator before it names ranks. Then those of a session that lives longer than MPI_Init's
// part of MPI, with the thread that drives them. With `none`, the goal has no communicator.

#include "goal_check.h"

static MPI_Comm comm_of(MPI_Session session, const char *tag)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    CHECK_OK(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK_OK(MPI_Group_free(&world));
    return comm;
}

static void go_round(MPI_Comm comm, GOAL_Sched s, const int *in)
{
    int rank = -1, size = -1;
    MPI_Request request;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    CHECK_OK(GOAL_Sched_run(s));
    CHECK_OK(GOAL_Sched_start(s, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(*in, 100 + (rank + size - 1) % size);
}

static GOAL_Sched make(MPI_Comm comm, int *out, int *in)
{
    CHECK_OK(MPI_Comm_rank(comm, out));
    *out += 100;
    return ring_of(comm, out, in, sizeof *in);
}

static void sessions_only(int none)
{
    int out, in = -1;
    MPI_Session session;
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (none) {
        GOAL_Goal g = GOAL_Create();
        GOAL_Send(g, &in, sizeof in, 0); // the job ends here
    }
    MPI_Comm comm = comm_of(session, "only");
    GOAL_Sched s = make(comm, &out, &in);
    go_round(comm, s, &in);
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Session_finalize(&session));
}

// MPI_Finalize comes between, and with it the end of the world.
static void both(void)
{
    int out, in = -1;
    MPI_Session session;
    CHECK_OK(MPI_Init(NULL, NULL));
    CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    MPI_Comm comm = comm_of(session, "both");
    GOAL_Sched s = make(comm, &out, &in);
    CHECK_OK(GOAL_Sched_set(s, GOAL_OFFLOAD, 1));
    go_round(comm, s, &in);
    CHECK_OK(MPI_Finalize());
    go_round(comm, s, &in);
    CHECK_OK(GOAL_Sched_free(&s));
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    sessions_only(argc > 1 && strcmp(argv[1], "none") == 0);
    both();
    return 0;
}
