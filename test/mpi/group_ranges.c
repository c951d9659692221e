// SPDX-License-Identifier: BSD-3-Clause
//
// Ranges of ranks: MPI_Group_range_incl and _excl with random ranges, up and down, against the
// lists that they mean.

#include "group_list.h"

// Adds a random range of ranks that are not named yet; false if it would name one twice.
static int add_range(uint64_t *seed, int size, int range[3], list *named)
{
    list more = *named;
    int first = random_below(seed, size), stride = random_below(seed, 11) - 5;
    int count = 1 + random_below(seed, size);
    stride = stride ? stride : 1;
    int last = first;
    for (int i = 0; i < count; i++) {
        int rank = first + i * stride;
        if (rank < 0 || rank >= size)
            break;
        if (list_place(&more, rank) >= 0)
            return 0;
        list_add(&more, rank);
        last = rank;
    }
    // The last one may be named too far, as long as the next step would be beyond it. MPICH wants
    // it to be a rank even so.
    int slack = STRICT ? random_below(seed, abs(stride)) : 0;
    range[0] = first;
    range[1] = stride > 0 ? last + slack : last - slack;
    range[2] = stride;
    *named = more;
    return 1;
}

static void check_random(MPI_Group world, int size, uint64_t *seed)
{
    list of = list_random(seed, size), named = {0}, picked = {0}, left = {0};
    MPI_Group base = list_group(&of, world), result = MPI_GROUP_NULL;
    int ranges[8][3], n = 0, want = of.n > 0 ? random_below(seed, 8) : 0;
    for (int tries = 0; tries < 50 && n < want; tries++)
        n += add_range(seed, of.n, ranges[n], &named);
    for (int i = 0; i < named.n; i++)
        list_add(&picked, of.at[named.at[i]]);
    for (int i = 0; i < of.n; i++)
        if (list_place(&named, i) < 0)
            list_add(&left, of.at[i]);
    CHECK_OK(MPI_Group_range_incl(base, n, ranges, &result));
    list_check_free(&result, &picked, world);
    CHECK_OK(MPI_Group_range_excl(base, n, ranges, &result));
    list_check_free(&result, &left, world);
    CHECK_OK(MPI_Group_free(&base));
}

int main(int argc, char **argv)
{
    MPI_Group world = MPI_GROUP_NULL, result = MPI_GROUP_NULL;
    int compared = -1;
    CHECK_OK(MPI_Init(&argc, &argv));
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int size = world_size(), down[1][3] = {{size - 1, 0, -1}}, all[1][3] = {{0, size - 1, 1}};
    uint64_t seed = (uint64_t)world_rank() + 1;
    for (int i = 0; i < 8000 / size; i++)
        check_random(world, size, &seed);

    CHECK_OK(MPI_Group_range_incl(world, 1, down, &result));
    CHECK_OK(MPI_Group_compare(world, result, &compared));
    CHECK_INT(compared, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    CHECK_OK(MPI_Group_free(&result));
    CHECK_OK(MPI_Group_range_excl(world, 1, all, &result));
    CHECK(result == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_range_incl(world, 0, NULL, &result));
    CHECK(result == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_range_excl(world, 0, NULL, &result));
    CHECK_OK(MPI_Group_compare(world, result, &compared));
    CHECK_INT(compared, MPI_IDENT);
    CHECK_OK(MPI_Group_free(&result));
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Finalize());
    return 0;
}
