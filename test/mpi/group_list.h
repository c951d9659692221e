// SPDX-License-Identifier: BSD-3-Clause
//
// Groups as plain lists of world ranks, to compare with.

#pragma once

#include "check.h"

enum { LIST_MOST = 512 };

typedef struct list {
    int n;
    int at[LIST_MOST];
} list;

static inline int list_place(const list *l, int rank)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i] == rank)
            return i;
    return -1;
}

static inline void list_add(list *l, int rank)
{
    if (list_place(l, rank) >= 0)
        return;
    CHECK(l->n < LIST_MOST);
    l->at[l->n++] = rank;
}

// Some of the ranks 0 to size - 1 in some order; often all, none, or a sequence.
static inline list list_random(uint64_t *seed, int size)
{
    list l = {0};
    int first, step, n = size > 0 ? random_below(seed, size + 1) : 0;
    switch (size > 0 ? random_below(seed, 3) : 0) {
    case 0:
        for (int i = 0; i < n; i++)
            list_add(&l, random_below(seed, size));
        break;
    case 1:
        first = random_below(seed, size);
        step = random_below(seed, 7) - 3;
        for (int i = first; i >= 0 && i < size && l.n < n; i += step ? step : 1)
            list_add(&l, i);
        break;
    default:
        for (int i = 0; i < size; i++)
            if (n == size || random_below(seed, 3))
                list_add(&l, i);
        break;
    }
    return l;
}

// The group has just these world ranks in this order, seen from every side.
static inline void list_check(MPI_Group group, const list *l, MPI_Group world)
{
    int size = -1, rank = -7, me = world_rank(), place = list_place(l, me);
    int own[LIST_MOST], there[LIST_MOST];
    CHECK_OK(MPI_Group_size(group, &size));
    CHECK_INT(size, l->n);
    CHECK_OK(MPI_Group_rank(group, &rank));
    CHECK_INT(rank, place < 0 ? MPI_UNDEFINED : place);
    for (int i = 0; i < l->n; i++)
        own[i] = i;
    CHECK_OK(MPI_Group_translate_ranks(group, l->n, own, world, there));
    for (int i = 0; i < l->n; i++)
        CHECK_INT(there[i], l->at[i]);
    CHECK_OK(MPI_Group_translate_ranks(world, l->n, l->at, group, there));
    for (int i = 0; i < l->n; i++)
        CHECK_INT(there[i], i);
    CHECK((group == MPI_GROUP_EMPTY) == (l->n == 0));
}

// The same, and the group is freed.
static inline void list_check_free(MPI_Group *group, const list *l, MPI_Group world)
{
    list_check(*group, l, world);
    CHECK_OK(MPI_Group_free(group));
    CHECK(*group == MPI_GROUP_NULL);
}

static inline MPI_Group list_group(const list *l, MPI_Group world)
{
    MPI_Group group = MPI_GROUP_NULL;
    CHECK_OK(MPI_Group_incl(world, l->n, l->at, &group));
    return group;
}
