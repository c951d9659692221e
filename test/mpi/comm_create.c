// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create with one group and with several disjoint ones, MPI_Comm_create_group by the
// members alone, MPI_Comm_create_from_group; groups in other orders than the parent's.
#include "comm.h"

enum { MOST = 64 };

// The ranks with r % parts == part, backwards if asked for.
static MPI_Group group_of(MPI_Comm comm, int part, int parts, int backwards, int *ranks, int *count)
{
    MPI_Group all, group;
    int size = size_of(comm);
    *count = 0;
    for (int r = 0; r < size; r++)
        if (r % parts == part)
            ranks[(*count)++] = r;
    for (int i = 0; backwards && i < *count / 2; i++) {
        int swap = ranks[i];
        ranks[i] = ranks[*count - 1 - i];
        ranks[*count - 1 - i] = swap;
    }
    CHECK_OK(MPI_Comm_group(comm, &all));
    CHECK_OK(MPI_Group_incl(all, *count, ranks, &group));
    CHECK_OK(MPI_Group_free(&all));
    return group;
}

static void check_create(int parts, int backwards, int only)
{
    int rank = world_rank(), part = rank % parts, ranks[MOST], count;
    // only: everybody gives the same group, and most are not in it
    MPI_Group group = group_of(MPI_COMM_WORLD, only ? 0 : part, parts, backwards, ranks, &count);
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm));
    if (only && part != 0) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        check_ring(comm, ranks, count);
        CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Group_free(&group));
}

static void check_create_group(int parts, int backwards)
{
    int rank = world_rank(), part = rank % parts, ranks[MOST], count;
    MPI_Group group = group_of(MPI_COMM_WORLD, part, parts, backwards, ranks, &count);
    MPI_Comm comm, again;
    if (part == parts - 1) { // the last part does nothing, and nobody waits for it
        CHECK_OK(MPI_Group_free(&group));
        return;
    }
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &comm));
    CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &again));
    check_ring(comm, ranks, count);
    check_ring(again, ranks, count);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&again));
    CHECK_OK(MPI_Group_free(&group));
}

static void check_from_group(void)
{
    int rank = world_rank(), ranks[MOST], count;
    MPI_Group group = group_of(MPI_COMM_WORLD, rank % 2, 2, 1, ranks, &count);
    MPI_Comm comm, other;
    MPI_Errhandler handler;
    CHECK_OK(MPI_Comm_create_from_group(group, "org.example.halves", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &comm));
    CHECK_OK(MPI_Comm_create_from_group(group, "org.example.others", MPI_INFO_NULL,
                                        MPI_ERRORS_ARE_FATAL, &other));
    CHECK_OK(MPI_Comm_get_errhandler(comm, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    check_ring(comm, ranks, count);
    check_ring(other, ranks, count);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Comm_free(&other));
    CHECK_OK(MPI_Group_free(&group));
    CHECK_OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "nobody", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                        &comm));
    CHECK(comm == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int parts = 1; parts <= 3 && parts <= world_size(); parts++)
        for (int backwards = 0; backwards < 2; backwards++) {
            check_create(parts, backwards, 0);
            check_create(parts, backwards, 1);
            check_create_group(parts, backwards);
        }
    if (STRICT)
        check_from_group();
    MPI_Finalize();
    return 0;
}
