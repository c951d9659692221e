// SPDX-License-Identifier: BSD-3-Clause
// MPI calls that wait in many processes of a rank at once: collectives on a communicator each,
// short and long, blocking and not; making and freeing communicators; sessions; polling.
#include <millet/csp.h>

#include "check.h"

enum { PROCS = 6, ROUNDS = 6, LONG = 40000 };

typedef struct talker {
    MPI_Comm comm;
    int number, rank, size;
    int *flag;
} talker;

static int collects(void *arg)
{
    talker *my = arg;
    int *in = malloc(LONG * sizeof *in), *out = malloc(LONG * sizeof *out);
    int *all = malloc((size_t)my->size * sizeof *all);
    for (int i = 0; i < ROUNDS; i++) {
        int n = (i + my->number) % 3 == 2 ? LONG : 3 + i, root = (i + my->number) % my->size;
        for (int k = 0; k < n; k++)
            in[k] = my->rank * my->number + i + k;
        CHECK_OK(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, my->comm));
        int ranks = my->size * (my->size - 1) / 2;
        for (int k = 0; k < n; k++)
            CHECK_INT(out[k], ranks * my->number + my->size * (i + k));
        CHECK_OK(MPI_Bcast(in, n, MPI_INT, root, my->comm));
        for (int k = 0; k < n; k++)
            CHECK_INT(in[k], root * my->number + i + k);
        int mine = my->rank + 100 * my->number;
        CHECK_OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, my->comm));
        for (int k = 0; k < my->size; k++)
            CHECK_INT(all[k], k + 100 * my->number);
        MPI_Request request;
        CHECK_OK(MPI_Ireduce(&mine, out, 1, MPI_INT, MPI_MAX, root, my->comm, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (my->rank == root)
            CHECK_INT(out[0], my->size - 1 + 100 * my->number);
        CHECK_OK(MPI_Barrier(my->comm));
    }
    free(in);
    free(out);
    free(all);
    return 0;
}

static int makes(void *arg)
{
    talker *my = arg;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm, half;
        int rank, size;
        CHECK_OK(MPI_Comm_dup(my->comm, &comm));
        CHECK_OK(MPI_Comm_split(comm, my->rank % 2, -my->rank, &half));
        CHECK_OK(MPI_Comm_rank(half, &rank));
        CHECK_OK(MPI_Comm_size(half, &size));
        CHECK_INT(rank, size - 1 - my->rank / 2);
        CHECK_OK(MPI_Barrier(half));
        CHECK_OK(MPI_Comm_free(&half));
        CHECK_OK(MPI_Comm_free(&comm));
    }
    return 0;
}

static int opens(void *arg)
{
    talker *my = arg;
    for (int i = 0; i < 2; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;
        char tag[64];
        int sum, one = 1;
        snprintf(tag, sizeof tag, "csp-%d", my->number);
        CHECK_OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
        CHECK_OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
        CHECK_OK(
            MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
        CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_INT(sum, my->size);
        CHECK_OK(MPI_Comm_free(&comm));
        CHECK_OK(MPI_Group_free(&group));
        CHECK_OK(MPI_Session_finalize(&session));
    }
    return 0;
}

// It polls for what another process of its own rank, or nobody before that one, does.
static int polls(void *arg)
{
    talker *my = arg;
    int value, done = 0;
    MPI_Request request;
    CHECK_OK(MPI_Irecv(&value, 1, MPI_INT, my->rank, 77, my->comm, &request));
    while (!done)
        CHECK_OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    CHECK_INT(value, 5);
    for (done = 0; !done;)
        CHECK_OK(MPI_Iprobe(my->rank, 78, my->comm, &done, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Recv(&value, 1, MPI_INT, my->rank, 78, my->comm, MPI_STATUS_IGNORE));
    *my->flag = 1;
    return 0;
}

static int sends(void *arg)
{
    talker *my = arg;
    int five = 5;
    csp_sleep(csp_after(0.002));
    CHECK_OK(MPI_Send(&five, 1, MPI_INT, my->rank, 77, my->comm));
    csp_yield();
    CHECK_OK(MPI_Ssend(&five, 1, MPI_INT, my->rank, 78, my->comm));
    while (!*my->flag)
        csp_sleep(csp_after(0));
    return 0;
}

int main(int argc, char **argv)
{
    static csp_function *const kinds[] = {collects, collects, makes, opens};
    enum { KINDS = sizeof kinds / sizeof kinds[0], ALL = PROCS * KINDS + 2 };
    csp_yield(); // before MPI
    CHECK_OK(MPI_Init(&argc, &argv));
    talker t[ALL];
    csp_proc procs[ALL];
    int flag = 0;
    for (int i = 0; i < ALL; i++) {
        t[i] = (talker){.number = i, .flag = &flag};
        MPI_Comm_rank(MPI_COMM_WORLD, &t[i].rank);
        MPI_Comm_size(MPI_COMM_WORLD, &t[i].size);
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &t[i].comm));
        csp_function *run = i < ALL - 2 ? kinds[i % KINDS] : i == ALL - 2 ? polls : sends;
        procs[i] = (csp_proc){.run = run, .arg = &t[i]};
    }
    // The last two share one.
    CHECK_OK(MPI_Comm_free(&t[ALL - 1].comm));
    t[ALL - 1].comm = t[ALL - 2].comm;
    CHECK_INT(csp_par(procs, ALL), 0);
    for (int i = 0; i < ALL - 1; i++)
        CHECK_OK(MPI_Comm_free(&t[i].comm));
    CHECK_OK(MPI_Finalize());
    csp_sleep(csp_after(0.0001)); // after it
    return csp_seq(procs, 0);
}
