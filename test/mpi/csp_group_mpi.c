// SPDX-License-Identifier: BSD-3-Clause
// Groups of processes beside MPI: members work while their ranks call MPI's collectives and send
// messages, on communicators that come and go. Nobody takes what is the other's.
#include <millet/csp.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "csp_check.h"

enum { MEMBERS = 3, ROUNDS = 300 };

typedef struct member {
    csp_group *group;
    int me;
} member;

static int work(void *arg)
{
    const member *m = arg;
    int size = csp_group_size(m->group);
    for (int r = 0; r < ROUNDS; r++) {
        long in = m->me + r, out, root = m->me == r % size ? r : -1;
        CHECK(csp_group_allreduce(m->group, m->me, &in, &out, 1, &csp_sum_long) == CSP_OK);
        CHECK(out == (long)size * (size - 1) / 2 + (long)size * r);
        CHECK(csp_group_bcast(m->group, m->me, &root, sizeof root, r % size) == CSP_OK);
        CHECK(root == r);
        if ((m->me + r) % 3 == 0)
            csp_yield();
    }
    return 0;
}

static int communicate(void *arg)
{
    (void)arg;
    int me, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 0; r < ROUNDS; r++) {
        int in = me + r, out, got;
        MPI_Comm comm = MPI_COMM_WORLD;
        if (r % 16 == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, comm);
        CHECK(out == size - 1 + r);
        MPI_Sendrecv(&in, 1, MPI_INT, (me + 1) % size, r, &got, 1, MPI_INT, (me + size - 1) % size,
                     MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        CHECK(got == (me + size - 1) % size + r);
        if (comm != MPI_COMM_WORLD)
            MPI_Comm_free(&comm);
    }
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    csp_group *group = csp_group_of_nodes("beside", MEMBERS);
    member members[MEMBERS];
    csp_child *children[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = (member){group, csp_group_first(group) + i};
        children[i] = csp_fork(work, &members[i], "member");
    }
    communicate(NULL); // in the rank's own process, and then in another one
    csp_child *other = csp_fork(communicate, NULL, "rank");
    CHECK(csp_join(other) == 0);
    for (int i = 0; i < MEMBERS; i++)
        CHECK(csp_join(children[i]) == 0);
    csp_group_free(group);
    MPI_Finalize();
    return 0;
}
