// SPDX-License-Identifier: BSD-3-Clause
//
// Groups of irregular ranks that every rank names for itself: ranks that share a process share the
// tables of equal ones, and give them back. Rank 0 looks at what its process grows by.

#include "growth.h"

enum { LEAST = 1000, BYTES = 1024 };

// Half of the ranks, in an order that no rule gives.
static void name_ranks(int *list, int n, int round)
{
    for (int i = 0; i < n / 2; i++)
        list[i] = 2 * i + (i * i + round) % 3 % 2;
}

static void check_group(MPI_Group group, const int *list, int n)
{
    int size, rank, at = n / 4, back;
    MPI_Group world;
    CHECK_OK(MPI_Group_size(group, &size));
    CHECK_INT(size, n / 2);
    CHECK_OK(MPI_Group_rank(group, &rank));
    CHECK(rank == MPI_UNDEFINED || list[rank] == world_rank());
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_translate_ranks(group, 1, &at, world, &back));
    CHECK_INT(back, list[at]);
    CHECK_OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    enum { GROUPS = 3, ROUNDS = 5 };
    CHECK_OK(MPI_Init(&argc, &argv));
    int n = world_size(), *list = must_alloc((size_t)(n / 2 + 1) * sizeof *list);
    MPI_Group world, group[GROUPS];
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    long before = 0, grown = 0, after = 0;
    name_ranks(list, n, 0); // its memory counts from now on
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (round == 0)
            before = resident_bytes();
        name_ranks(list, n, round);
        CHECK_OK(MPI_Group_incl(world, n / 2, list, &group[0]));
        CHECK_OK(MPI_Group_excl(world, n / 2, list, &group[1]));
        CHECK_OK(MPI_Group_union(group[0], group[1], &group[2]));
        check_group(group[0], list, n);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD)); // all ranks have theirs
        if (round == 0)
            grown = resident_bytes() - before;
        for (int g = 0; g < GROUPS; g++)
            CHECK_OK(MPI_Group_free(&group[g]));
    }
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    after = resident_bytes() - before - grown;
    if (n >= LEAST && world_rank() == 0 && !sanitized()) {
        printf("%ld bytes a rank\n", grown / n);
        CHECK(grown < (long)n * BYTES);
        CHECK(after < (long)n * BYTES);
    }
    CHECK_OK(MPI_Group_free(&world));
    free(list);
    CHECK_OK(MPI_Finalize());
    return 0;
}
