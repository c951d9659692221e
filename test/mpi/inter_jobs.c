// SPDX-License-Identifier: BSD-3-Clause
//
// Intercommunicators over several jobs, whose processes may have met only some of them.
//
//     spread   one rank has spawned a job; MPI_Intercomm_create brings it to all ranks of the world
//     halves   each group has ranks of two jobs, by MPI_Intercomm_create
//     accept   the same by MPI_Comm_accept and MPI_Comm_connect
//     three    a job that has never met another one: { first, second } and { third }

#include "check.h"

enum { TAG = 7 };

// All ranks of both groups: everybody's number reaches everybody, and a message each way.
static void try_both(MPI_Comm inter, int number)
{
    int rank, size, peers, in = -1, far = 0, near = 0;
    MPI_Comm all, local;
    CHECK_OK(MPI_Comm_rank(inter, &rank));
    CHECK_OK(MPI_Comm_size(inter, &size));
    CHECK_OK(MPI_Comm_remote_size(inter, &peers));
    int own = number + rank;
    CHECK_OK(MPI_Allreduce(&own, &far, 1, MPI_INT, MPI_SUM, inter));
    int *there = must_alloc((size_t)peers * sizeof *there);
    CHECK_OK(MPI_Allgather(&own, 1, MPI_INT, there, 1, MPI_INT, inter));
    for (int i = 0; i < peers; i++) {
        near += there[i];
        CHECK_INT(there[i], (number == 1000 ? 2000 : 1000) + i);
    }
    CHECK_INT(near, far);
    if (rank < peers && rank < size)
        CHECK_OK(MPI_Sendrecv(&own, 1, MPI_INT, rank, TAG, &in, 1, MPI_INT, rank, TAG, inter,
                              MPI_STATUS_IGNORE));
    CHECK_INT(in, rank < peers ? there[rank] : -1);
    CHECK_OK(MPI_Intercomm_merge(inter, number == 2000, &all));
    CHECK_OK(MPI_Allreduce(&own, &far, 1, MPI_INT, MPI_MAX, all));
    CHECK(far >= 2000);
    // What is made of it is as good.
    CHECK_OK(MPI_Comm_split(all, rank % 2, 0, &local));
    CHECK_OK(MPI_Allreduce(&own, &far, 1, MPI_INT, MPI_MIN, local));
    CHECK_OK(MPI_Comm_disconnect(&local));
    CHECK_OK(MPI_Comm_disconnect(&all));
    free(there);
}

static MPI_Comm spawn(char **argv, MPI_Comm comm)
{
    MPI_Comm kin;
    CHECK_OK(
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, comm, &kin, MPI_ERRCODES_IGNORE));
    return kin;
}

static void spread(char **argv, MPI_Comm parent)
{
    MPI_Comm kin = parent, all;
    if (parent == MPI_COMM_NULL && world_rank() == 0)
        kin = spawn(argv, MPI_COMM_SELF);
    CHECK_OK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, kin, 0, TAG, &all));
    try_both(all, parent == MPI_COMM_NULL ? 1000 : 2000);
    CHECK_OK(MPI_Comm_disconnect(&all));
    if (kin != MPI_COMM_NULL)
        CHECK_OK(MPI_Comm_disconnect(&kin));
}

static void halves(char **argv, MPI_Comm parent, int accepts)
{
    MPI_Comm kin = parent == MPI_COMM_NULL ? spawn(argv, MPI_COMM_WORLD) : parent, all, half, both;
    int rank;
    char port[MPI_MAX_PORT_NAME] = "";
    CHECK_OK(MPI_Intercomm_merge(kin, parent != MPI_COMM_NULL, &all));
    CHECK_OK(MPI_Comm_rank(all, &rank));
    CHECK_OK(MPI_Comm_split(all, rank % 2, rank, &half));
    if (accepts && rank == 0)
        CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    if (accepts)
        CHECK_OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, all));
    if (!accepts)
        CHECK_OK(MPI_Intercomm_create(half, 0, all, (rank + 1) % 2, TAG, &both));
    else if (rank % 2 == 0)
        CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &both));
    else
        CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &both));
    try_both(both, rank % 2 ? 2000 : 1000);
    CHECK_OK(MPI_Comm_disconnect(&both));
    CHECK_OK(MPI_Comm_disconnect(&half));
    CHECK_OK(MPI_Comm_disconnect(&all));
    CHECK_OK(MPI_Comm_disconnect(&kin));
}

// The first job spawns two others, which hear from it which they are.
static void three(char **argv, MPI_Comm parent)
{
    MPI_Comm kin[2] = {parent, MPI_COMM_NULL}, all[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, both;
    int which = 0;
    for (int i = 0; i < (parent == MPI_COMM_NULL ? 2 : 1); i++) {
        if (parent == MPI_COMM_NULL)
            kin[i] = spawn(argv, MPI_COMM_WORLD);
        CHECK_OK(MPI_Intercomm_merge(kin[i], parent != MPI_COMM_NULL, &all[i]));
        which = i;
        CHECK_OK(MPI_Bcast(&which, 1, MPI_INT, 0, all[i]));
    }
    int first = 0; // of the third job, in the communicator with the first one
    if (parent == MPI_COMM_NULL)
        first = world_size();
    if (parent == MPI_COMM_NULL || which == 0)
        CHECK_OK(MPI_Intercomm_create(all[0], 0, all[1], first, TAG, &both));
    else
        CHECK_OK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, all[0], 0, TAG, &both));
    try_both(both, parent == MPI_COMM_NULL || which == 0 ? 1000 : 2000);
    CHECK_OK(MPI_Comm_disconnect(&both));
    for (int i = 0; i < (parent == MPI_COMM_NULL ? 2 : 1); i++) {
        CHECK_OK(MPI_Comm_disconnect(&all[i]));
        CHECK_OK(MPI_Comm_disconnect(&kin[i]));
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_get_parent(&parent));
    CHECK(argc > 1);
    if (strcmp(argv[1], "spread") == 0)
        spread(argv, parent);
    else if (strcmp(argv[1], "three") == 0)
        three(argv, parent);
    else
        halves(argv, parent, strcmp(argv[1], "accept") == 0);
    CHECK_OK(MPI_Finalize());
    return 0;
}
