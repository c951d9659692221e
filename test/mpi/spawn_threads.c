// SPDX-License-Identifier: BSD-3-Clause
// With MPI_THREAD_MULTIPLE, threads of a rank spawn jobs at the same time, each over a communicator
// of its own; then two of them accept and connect.
#include "comm_check.h"
#include "threads.h"

enum { THREADS = 3, TIMES = 2 };

struct shared {
    char *program;
    MPI_Comm comms[THREADS];
    char port[MPI_MAX_PORT_NAME];
};

static void child(MPI_Comm parent)
{
    int x;
    MPI_Status status;
    CHECK_OK(MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, parent, &status));
    x++;
    CHECK_OK(MPI_Send(&x, 1, MPI_INT, 0, status.MPI_TAG, parent));
    CHECK_OK(MPI_Comm_disconnect(&parent));
}

static void spawns(team *of, int index)
{
    struct shared *s = of->data;
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm kin;
        int x = 10 * index + i, y = -1;
        CHECK_OK(MPI_Comm_spawn(s->program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, s->comms[index],
                                &kin, MPI_ERRCODES_IGNORE));
        CHECK_OK(MPI_Sendrecv(&x, 1, MPI_INT, 0, index, &y, 1, MPI_INT, 0, index, kin,
                              MPI_STATUS_IGNORE));
        CHECK_INT(y, x + 1);
        CHECK_OK(MPI_Comm_disconnect(&kin));
    }
}

static void connects(team *of, int index)
{
    struct shared *s = of->data;
    for (int i = 0; i < TIMES; i++) {
        MPI_Comm other;
        int x = index ? -1 : i;
        CHECK_OK(index ? MPI_Comm_accept(s->port, MPI_INFO_NULL, 0, s->comms[index], &other)
                       : MPI_Comm_connect(s->port, MPI_INFO_NULL, 0, s->comms[index], &other));
        CHECK_OK(MPI_Bcast(&x, 1, MPI_INT, index ? 0 : MPI_ROOT, other));
        CHECK_INT(x, i);
        CHECK_OK(MPI_Comm_disconnect(&other));
    }
}

static void run_team(void (*work)(team *of, int index), int count, struct shared *s)
{
    team t = {.work = work, .data = s};
    team_start(&t, count);
    team_join(&t);
}

int main(int argc, char **argv)
{
    struct shared s = {.program = argv[0]};
    MPI_Comm parent;
    int provided;
    CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK_OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        child(parent);
        CHECK_OK(MPI_Finalize());
        return 0;
    }
    CHECK_INT(provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &s.comms[i]));
    run_team(spawns, THREADS, &s);
    CHECK_OK(MPI_Open_port(MPI_INFO_NULL, s.port));
    run_team(connects, 2, &s);
    CHECK_OK(MPI_Close_port(s.port));
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(MPI_Comm_free(&s.comms[i]));
    CHECK_OK(MPI_Finalize());
    return 0;
}
