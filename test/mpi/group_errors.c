// SPDX-License-Identifier: BSD-3-Clause
//
// What group functions say of wrong arguments: ranks, repetitions, ranges, freed and null handles,
// another rank's group, a missing array.

#include "check.h"

typedef int group_function(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);
typedef int range_function(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);

static void check_ranks(MPI_Group world, int size, group_function *function, const char *name)
{
    MPI_Group g = MPI_GROUP_NULL;
    int beyond[3] = {0, size, 0}, negative[1] = {-1}, null[1] = {MPI_PROC_NULL};
    int twice[4] = {size - 1, 0, size - 1, 0};
    CHECK_ERROR(function(world, 2, beyond, &g), MPI_ERR_RANK, name, "ranks[1]");
    CHECK_ERROR(function(world, 1, negative, &g), MPI_ERR_RANK, name, "-1");
    CHECK_ERROR(function(world, 1, null, &g), MPI_ERR_RANK, name, "ranks[0]");
    CHECK_ERROR(function(world, 3, twice, &g), MPI_ERR_RANK, name, "twice");
    if (size == 1)
        CHECK_ERROR(function(world, 2, twice, &g), MPI_ERR_RANK, name, "ranks[0] and ranks[1]");
    else
        CHECK_ERROR(function(world, 4, twice, &g), MPI_ERR_RANK, name, "ranks[0] and ranks[2]");
    CHECK_ERROR(function(world, -1, beyond, &g), MPI_ERR_ARG, name, "-1");
    CHECK_ERROR(function(world, 1, NULL, &g), MPI_ERR_ARG, name, "NULL");
    CHECK_ERROR(function(MPI_GROUP_EMPTY, 1, beyond, &g), MPI_ERR_RANK, name, "empty");
    CHECK_ERROR(function(MPI_GROUP_NULL, 1, beyond, &g), MPI_ERR_GROUP, name, "MPI_GROUP_NULL");
    CHECK_ERROR(function(world, 0, beyond, NULL), MPI_ERR_ARG, name, "NULL");
    CHECK(g == MPI_GROUP_NULL);
}

static void check_ranges(MPI_Group world, int size, range_function *function, const char *name)
{
    MPI_Group g = MPI_GROUP_NULL;
    int still[1][3] = {{0, size - 1, 0}}, away[1][3] = {{0, size, -1}}, back[1][3] = {{0, -2, 1}};
    int beyond[2][3] = {{0, 0, 1}, {0, size, 1}}, before[1][3] = {{-1, 0, 1}};
    int far[1][3] = {{0, 2147483647, 2147483647}}, twice[2][3] = {{0, 0, 1}, {size - 1, 0, -1}};
    int under[1][3] = {{0, -1, -1}};
    CHECK_ERROR(function(world, 1, still, &g), MPI_ERR_ARG, name, "stride should not be 0");
    CHECK_ERROR(function(world, 1, away, &g), MPI_ERR_ARG, name, "leads away");
    CHECK_ERROR(function(world, 1, back, &g), MPI_ERR_ARG, name, "(0, -2, 1)");
    CHECK_ERROR(function(world, 2, beyond, &g), MPI_ERR_ARG, name, "ranges[1]");
    CHECK_ERROR(function(world, 1, before, &g), MPI_ERR_ARG, name, "ranges[0]");
    CHECK_ERROR(function(world, 1, under, &g), MPI_ERR_ARG, name, "(0, -1, -1)");
    CHECK_ERROR(function(world, 1, far, &g), MPI_ERR_ARG, name, "2147483647");
    CHECK_ERROR(function(world, 2, twice, &g), MPI_ERR_ARG, name, "rank 0 twice");
    CHECK_ERROR(function(world, -3, twice, &g), MPI_ERR_ARG, name, "-3");
    CHECK_ERROR(function(world, 2, NULL, &g), MPI_ERR_ARG, name, "NULL");
    CHECK_ERROR(function(MPI_GROUP_EMPTY, 1, twice, &g), MPI_ERR_ARG, name, "ranges[0]");
    CHECK_ERROR(function(MPI_GROUP_NULL, 1, twice, &g), MPI_ERR_GROUP, name, "MPI_GROUP_NULL");
    CHECK(g == MPI_GROUP_NULL);
}

static void check_handles(MPI_Group world, MPI_Group bad, const char *word)
{
    int n = 0, rank = 0;
    MPI_Group g = bad;
    CHECK_ERROR(MPI_Group_size(bad, &n), MPI_ERR_GROUP, "MPI_Group_size", word);
    CHECK_ERROR(MPI_Group_rank(bad, &n), MPI_ERR_GROUP, "MPI_Group_rank", word);
    CHECK_ERROR(MPI_Group_compare(world, bad, &n), MPI_ERR_GROUP, "group2", word);
    CHECK_ERROR(MPI_Group_compare(bad, world, &n), MPI_ERR_GROUP, "group1", word);
    CHECK_ERROR(MPI_Group_union(world, bad, &g), MPI_ERR_GROUP, "MPI_Group_union", word);
    CHECK_ERROR(MPI_Group_intersection(bad, world, &g), MPI_ERR_GROUP, "group1", word);
    CHECK_ERROR(MPI_Group_difference(bad, bad, &g), MPI_ERR_GROUP, "MPI_Group_difference", word);
    CHECK(g == MPI_GROUP_NULL);
    g = bad;
    CHECK_ERROR(MPI_Group_translate_ranks(world, 1, &rank, bad, &n), MPI_ERR_GROUP, "group2", word);
    CHECK_ERROR(MPI_Group_free(&g), MPI_ERR_GROUP, "MPI_Group_free", word);
    CHECK(g == bad);
}

// Ranks of one process share what others write: a group of another rank is told as such.
static void check_foreign(MPI_Group world)
{
    int rank = world_rank(), size = world_size(), n = -1;
    MPI_Group theirs = MPI_GROUP_NULL;
    if (size < 2)
        return;
    MPI_Group mine = world;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    CHECK_OK(MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, to, 1, &theirs, sizeof theirs, MPI_BYTE,
                          from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Group_size(theirs, &n), MPI_ERR_GROUP, "MPI_Group_size", "share");
    CHECK_ERROR(MPI_Group_free(&theirs), MPI_ERR_GROUP, "MPI_Group_free", "of rank ");
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_Group world = MPI_GROUP_NULL, freed = MPI_GROUP_NULL, again = MPI_GROUP_NULL;
    int from[2] = {0, -5}, to[2], n = -1;
    CHECK_OK(MPI_Init(&argc, &argv));
    errors_return();
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int size = world_size();
    check_ranks(world, size, MPI_Group_incl, "MPI_Group_incl");
    check_ranks(world, size, MPI_Group_excl, "MPI_Group_excl");
    check_ranges(world, size, MPI_Group_range_incl, "MPI_Group_range_incl");
    check_ranges(world, size, MPI_Group_range_excl, "MPI_Group_range_excl");

    CHECK_ERROR(MPI_Group_translate_ranks(world, 2, from, world, to), MPI_ERR_RANK, "ranks1[1]",
                "-5");
    CHECK_ERROR(MPI_Group_translate_ranks(world, -1, from, world, to), MPI_ERR_ARG, "translate",
                "-1");
    CHECK_ERROR(MPI_Group_translate_ranks(world, 1, NULL, world, to), MPI_ERR_ARG, "ranks1",
                "NULL");
    CHECK_ERROR(MPI_Group_translate_ranks(world, 1, from, world, NULL), MPI_ERR_ARG, "ranks2",
                "NULL");
    CHECK_ERROR(MPI_Comm_remote_size(MPI_COMM_WORLD, &n), MPI_ERR_COMM, "MPI_COMM_WORLD", "inter");
    CHECK_ERROR(MPI_Comm_remote_group(MPI_COMM_SELF, &again), MPI_ERR_COMM, "MPI_COMM_SELF",
                "inter");
    CHECK_ERROR(MPI_Comm_group(MPI_COMM_NULL, &again), MPI_ERR_COMM, "MPI_Comm_group",
                "MPI_COMM_NULL");

    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &freed));
    again = freed;
    CHECK_OK(MPI_Group_free(&again));
    check_handles(world, freed, "was it freed");
    check_handles(world, MPI_GROUP_NULL, "MPI_GROUP_NULL");
    if (argc > 1 && strcmp(argv[1], "foreign") == 0)
        check_foreign(world);
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Finalize());
    return 0;
}
