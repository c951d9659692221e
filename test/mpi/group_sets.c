// SPDX-License-Identifier: BSD-3-Clause
//
// Groups as sets: random groups of the world, their union, intersection, difference, comparison and
// translation against plain lists; groups of communicators; a million groups without growth.

#include "group_list.h"
#include "growth.h"

static void check_compare(MPI_Group a, MPI_Group b, const list *la, const list *lb)
{
    int result = -1, back = -1, members = 0, order = la->n == lb->n;
    for (int i = 0; i < la->n; i++) {
        members += list_place(lb, la->at[i]) >= 0;
        order = order && la->at[i] == lb->at[i];
    }
    int want = order ? MPI_IDENT : la->n == lb->n && members == la->n ? MPI_SIMILAR : MPI_UNEQUAL;
    CHECK_OK(MPI_Group_compare(a, b, &result));
    CHECK_OK(MPI_Group_compare(b, a, &back));
    CHECK_INT(result, want);
    CHECK_INT(back, want);
}

static void check_translate(MPI_Group a, MPI_Group b, const list *la, const list *lb,
                            uint64_t *seed)
{
    int from[LIST_MOST], to[LIST_MOST];
    if (!STRICT && (la->n == 0 || lb->n == 0)) // MPICH loses MPI_PROC_NULL where one is empty
        return;
    for (int i = 0; i < 20; i++)
        from[i] = la->n > 0 && random_below(seed, 8) ? random_below(seed, la->n) : MPI_PROC_NULL;
    CHECK_OK(MPI_Group_translate_ranks(a, 20, from, b, to));
    for (int i = 0; i < 20; i++) {
        int place = from[i] == MPI_PROC_NULL ? -1 : list_place(lb, la->at[from[i]]);
        CHECK_INT(to[i], from[i] == MPI_PROC_NULL ? MPI_PROC_NULL
                         : place < 0              ? MPI_UNDEFINED
                                                  : place);
    }
}

static void check_random(MPI_Group world, int size, uint64_t *seed)
{
    list la = list_random(seed, size), lb = list_random(seed, size);
    list both = {0}, only = {0}, all = la;
    for (int i = 0; i < la.n; i++)
        list_add(list_place(&lb, la.at[i]) >= 0 ? &both : &only, la.at[i]);
    for (int i = 0; i < lb.n; i++)
        list_add(&all, lb.at[i]);
    MPI_Group a = list_group(&la, world), b = list_group(&lb, world), result = MPI_GROUP_NULL;
    list_check(a, &la, world);
    list_check(b, &lb, world);
    check_compare(a, b, &la, &lb);
    check_translate(a, b, &la, &lb, seed);
    CHECK_OK(MPI_Group_union(a, b, &result));
    list_check_free(&result, &all, world);
    CHECK_OK(MPI_Group_intersection(a, b, &result));
    list_check_free(&result, &both, world);
    CHECK_OK(MPI_Group_difference(a, b, &result));
    list_check_free(&result, &only, world);

    // Ranks of a that are named, and the others.
    list named = list_random(seed, la.n), picked = {0}, left = {0};
    for (int i = 0; i < named.n; i++)
        list_add(&picked, la.at[named.at[i]]);
    for (int i = 0; i < la.n; i++)
        if (list_place(&named, i) < 0)
            list_add(&left, la.at[i]);
    CHECK_OK(MPI_Group_incl(a, named.n, named.at, &result));
    list_check_free(&result, &picked, world);
    CHECK_OK(MPI_Group_excl(a, named.n, named.at, &result));
    list_check_free(&result, &left, world);
    CHECK_OK(MPI_Group_free(&a));
    CHECK_OK(MPI_Group_free(&b));
}

static void check_comms(MPI_Group world, int size)
{
    MPI_Group self = MPI_GROUP_NULL, again = MPI_GROUP_NULL, empty = MPI_GROUP_EMPTY;
    list just_me = {1, {world_rank()}}, all = {0};
    int result = -1, flag = -1;
    for (int i = 0; i < size; i++)
        list_add(&all, i);
    list_check(world, &all, world);
    CHECK_OK(MPI_Comm_group(MPI_COMM_SELF, &self));
    list_check(self, &just_me, world);
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &again));
    CHECK_OK(MPI_Group_compare(world, again, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK_INT(result, MPI_IDENT);
    CHECK_OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
    CHECK_INT(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    CHECK_OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    CHECK_INT(flag, 0);
    CHECK_OK(MPI_Group_free(&self));
    CHECK_OK(MPI_Group_free(&again));
    // Of the empty one, which may be freed where it is a result.
    CHECK_OK(MPI_Group_union(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &again));
    CHECK(again == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_difference(world, world, &again));
    CHECK(again == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_free(&again));
    CHECK(again == MPI_GROUP_NULL);
    CHECK_OK(MPI_Group_union(empty, world, &again));
    list_check_free(&again, &all, world);
    CHECK_OK(MPI_Group_incl(empty, 0, NULL, &again));
    CHECK(again == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_excl(empty, 0, NULL, &again));
    CHECK(again == MPI_GROUP_EMPTY);
    CHECK_OK(MPI_Group_translate_ranks(empty, 0, NULL, world, NULL));
}

typedef struct many {
    MPI_Group world;
    int size;
} many;

static void make_and_free(int i, void *state)
{
    const many *m = state;
    int ranks[4] = {i % m->size, 0, 0, 0}, n = 1;
    if (m->size > 2 && i % 3 == 0) { // no function
        ranks[0] = 2;
        ranks[1] = 0;
        ranks[2] = 1;
        n = 3;
    }
    MPI_Group world = MPI_GROUP_NULL, some = MPI_GROUP_NULL, rest = MPI_GROUP_NULL;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, n, ranks, &some));
    CHECK_OK(MPI_Group_difference(m->world, some, &rest));
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Group_free(&some));
    CHECK_OK(MPI_Group_free(&rest));
}

int main(int argc, char **argv)
{
    CHECK_OK(MPI_Init(&argc, &argv));
    int size = world_size();
    many m = {MPI_GROUP_NULL, size};
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &m.world));
    check_comms(m.world, size);
    uint64_t seed = (uint64_t)world_rank() + 1;
    for (int i = 0; i < 4000 / size; i++)
        check_random(m.world, size, &seed);
    check_growth(make_and_free, &m, rounds_of(400000));
    CHECK_OK(MPI_Group_free(&m.world));
    CHECK_OK(MPI_Finalize());
    return 0;
}
