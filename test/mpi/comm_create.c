// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create with one group and with several disjoint ones, MPI_Comm_create_group by the
// members alone, MPI_Comm_create_from_group; groups in other orders than the parent's.
#include "comm_check.h"

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

// Random groups that overlap, in random orders, all with one tag, while duplicates of the world are
// under way. Everybody draws the same groups and joins those that it is in.
static void check_overlapping(int rounds)
{
    enum { OPEN = 3 };
    int rank = world_rank(), size = world_size(), ranks[MOST];
    unsigned random = 12345;
    MPI_Comm open[OPEN], comm;
    MPI_Request requests[OPEN] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Group all, group;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    for (int i = 0; i < rounds; i++) {
        int count = 0, inside = 0;
        for (int r = 0; r < size; r++) {
            random = random * 1103515245 + 12345;
            if (random >> 16 & 1)
                continue;
            int at = (int)((random >> 17) % (unsigned)(count + 1));
            ranks[count++] = ranks[at];
            ranks[at] = r;
            inside |= r == rank;
        }
        if (i >= OPEN) {
            CHECK_OK(MPI_Wait(&requests[i % OPEN], MPI_STATUS_IGNORE));
            CHECK_INT(size_of(open[i % OPEN]), size);
            CHECK_OK(MPI_Comm_free(&open[i % OPEN]));
        }
        MPI_Comm from = MPI_COMM_WORLD;
        if (i % OPEN == 2) {
            CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            from = open[0]; // which is freed before this one is complete, perhaps
        }
        CHECK_OK(MPI_Comm_idup(from, &open[i % OPEN], &requests[i % OPEN]));
        if (!inside)
            continue;
        CHECK_OK(MPI_Group_incl(all, count, ranks, &group));
        CHECK_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 17, &comm));
        if (i % 4 == 0)
            check_ring(comm, ranks, count);
        CHECK_INT(size_of(comm), count);
        CHECK_INT(ranks[rank_of(comm)], rank);
        CHECK_OK(MPI_Comm_free(&comm));
        CHECK_OK(MPI_Group_free(&group));
    }
    for (int i = 0; i < OPEN; i++) {
        CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Comm_free(&open[i]));
    }
    CHECK_OK(MPI_Group_free(&all));
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
    check_overlapping(200);
    if (STRICT)
        check_from_group();
    MPI_Finalize();
    return 0;
}
