// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators of parts of very many ranks: what a rank does to make one does not grow with the
// number of ranks, so that the time for all of them stays short. Groups in an order that no rule
// has, as many meetings at a time as there are ranks, two halves, hardware that nobody was told of.

#include "comm_check.h"

enum { TAG = 4 };

// The neighbour in the communicator is who the group says.
static void check_group(MPI_Comm comm, MPI_Group group)
{
    MPI_Group world;
    int size = size_of(comm), rank = rank_of(comm), from = (rank + size - 1) % size;
    int want = -1, got = -1, mine = world_rank();
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_translate_ranks(group, 1, &from, world, &want));
    CHECK_OK(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, TAG, &got, 1, MPI_INT, from, TAG,
                          comm, MPI_STATUS_IGNORE));
    CHECK_INT(got, want);
    CHECK_OK(MPI_Group_free(&world));
}

static void check_scattered(void)
{
    MPI_Comm scattered, made, among;
    MPI_Group group;
    unsigned rank = (unsigned)world_rank(), key = rank * 2654435761u;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, (int)(key >> 1), &scattered));
    CHECK_OK(MPI_Comm_group(scattered, &group));
    CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    check_group(made, group);
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &among));
    check_group(among, group);
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Comm_free(&scattered));
    CHECK_OK(MPI_Comm_free(&made));
    CHECK_OK(MPI_Comm_free(&among));
}

// Every rank with the one half the world away: half of all ranks wait for as many meetings.
static void check_pairs(void)
{
    MPI_Comm pair;
    MPI_Group world, group;
    int half = world_size() / 2, low = world_rank() % half, ranks[] = {low, low + half};
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, 2, ranks, &group));
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &pair));
    CHECK_INT(size_of(pair), 2);
    check_group(pair, group);
    CHECK_OK(MPI_Comm_free(&pair));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Group_free(&world));
}

static void check_halves(void)
{
    int size = world_size(), half = size / 2, upper = world_rank() >= half;
    int ranges[2][1][3] = {{{0, half - 1, 1}}, {{half, size - 1, 1}}}, remote = -1;
    MPI_Comm inter;
    MPI_Group world, own, other;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_range_incl(world, 1, ranges[upper], &own));
    CHECK_OK(MPI_Group_range_incl(world, 1, ranges[!upper], &other));
    CHECK_OK(MPI_Intercomm_create_from_groups(own, 0, other, 0, "halves", MPI_INFO_NULL,
                                              MPI_ERRORS_ARE_FATAL, &inter));
    CHECK_OK(MPI_Comm_remote_size(inter, &remote));
    CHECK_INT(remote, upper ? half : size - half);
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Group_free(&own));
    CHECK_OK(MPI_Group_free(&other));
    CHECK_OK(MPI_Group_free(&world));
}

static void check_hardware(void)
{
    MPI_Comm comm;
    CHECK_OK(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm));
    if (comm != MPI_COMM_NULL) {
        CHECK(size_of(comm) < world_size());
        CHECK_OK(MPI_Comm_free(&comm));
    }
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    double start = MPI_Wtime();
    void (*const checks[])(void) = {check_scattered, check_pairs, check_halves, check_hardware};
    for (int i = 0; i < COUNT_OF(checks); i++) {
        checks[i]();
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (world_rank() == 0)
            printf("check %d: %.3f s so far\n", i, MPI_Wtime() - start);
    }
    CHECK_OK(MPI_Finalize());
    return 0;
}
