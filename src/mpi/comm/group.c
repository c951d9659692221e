// SPDX-License-Identifier: BSD-3-Clause
// Groups: chapter 7's functions on them. Each is a few lines on rank maps; the rest is saying what
// is wrong with an argument. Errors go to the handler of the session that a group stems from, else
// to MPI_COMM_SELF's.
#include "mpi/comm/group.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mpi/comm/session.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/self.h"
#include "mpi_bodies.h"
#include "wire/wire.h"

mlt_group *mlt_group_new_empty(mlt_pool *pool)
{
    mlt_group *group = mlt_pool_take(pool);
    *group = (mlt_group){.magic = MLT_GROUP_MAGIC, .rank = MPI_UNDEFINED};
    group->map = mlt_map_new_linear(0, 0, 1);
    return group;
}

mlt_group *mlt_group_of(mlt_rank *me, MPI_Group handle)
{
    if (handle == MPI_GROUP_EMPTY)
        return mlt_mpi_worker_of(me)->empty;
    mlt_group *group = (mlt_group *)handle;
    return mlt_handle_is_address((uintptr_t)handle) && group->magic == MLT_GROUP_MAGIC &&
                   group->owner == me
               ? group
               : NULL;
}

int mlt_group_bad(mlt_rank *me, mlt_comm *comm, const char *name, MPI_Group handle)
{
    const mlt_group *group = (const mlt_group *)handle;
    if (mlt_handle_is_address((uintptr_t)handle) && group->magic == MLT_GROUP_MAGIC)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP,
                             "argument %s is a group of rank %d, but should be one of the caller's "
                             "own; " MLT_HANDLE_OF_OTHER,
                             name, group->owner ? group->owner->world : -1);
    return mlt_bad_handle(me, comm, me->fn, MPI_ERR_GROUP, name, "group", (uintptr_t)handle);
}

// Takes the reference on the map.
static MPI_Group new_group(mlt_rank *me, mlt_map *map, int32_t rank, mlt_session *session)
{
    if (map->size == 0) {
        mlt_map_drop(map);
        return MPI_GROUP_EMPTY;
    }
    mlt_group *group = mlt_pool_take(&mlt_mpi_worker_of(me)->groups);
    *group = (mlt_group){.magic = MLT_GROUP_MAGIC,
                         .rank = rank < 0 ? MPI_UNDEFINED : rank,
                         .owner = me,
                         .map = map,
                         .session = session};
    if (session)
        mlt_list_push_back(&session->groups, &group->link);
    return (MPI_Group)group;
}

MPI_Group mlt_group_new(mlt_rank *me, mlt_map *map, mlt_session *session)
{
    map = mlt_maps_share(&mlt_mpi_worker_of(me)->maps, map);
    return new_group(me, map, mlt_map_rank(map, me->world), session);
}

void mlt_group_end(mlt_rank *me, mlt_group *group)
{
    if (group->session)
        mlt_list_remove(&group->link);
    mlt_map_drop(group->map);
    group->magic = 0;
    mlt_pool_give_last(&mlt_mpi_worker_of(me)->groups, group);
}

int mlt_mpi_Group_free(mlt_rank *me, MPI_Group *group)
{
    mlt_group *g = mlt_group_of(me, *group);
    if (!g)
        return mlt_group_bad(me, NULL, "group", *group);
    if (g->owner) // MPI_GROUP_EMPTY as a result may be freed like any other
        mlt_group_end(me, g);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

// ---- from communicators

int mlt_mpi_Comm_group(mlt_rank *me, mlt_comm *comm, MPI_Group *group)
{
    mlt_comm_shared_of(comm);
    *group = new_group(me, mlt_map_hold(mlt_comm_group(comm)), comm->rank, mlt_comm_session(comm));
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_remote_group(mlt_rank *me, mlt_comm *comm, MPI_Group *group)
{
    if (!comm->inter)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                             "%s is no intercommunicator, so it has no remote group",
                             mlt_comm_name(me, comm));
    *group = mlt_group_new(me, mlt_map_hold(mlt_comm_peer_group(comm)), mlt_comm_session(comm));
    return MPI_SUCCESS;
}

// ---- what a group says

int mlt_mpi_Group_size(mlt_rank *me, MPI_Group group, int *size)
{
    const mlt_group *g = mlt_group_of(me, group);
    if (!g)
        return mlt_group_bad(me, NULL, "group", group);
    *size = g->map->size;
    return MPI_SUCCESS;
}

int mlt_mpi_Group_rank(mlt_rank *me, MPI_Group group, int *rank)
{
    const mlt_group *g = mlt_group_of(me, group);
    if (!g)
        return mlt_group_bad(me, NULL, "group", group);
    *rank = g->rank;
    return MPI_SUCCESS;
}

// Both groups of a call. False: *code has been raised. Objects of different sessions, or of a
// session and of MPI_Init, must not meet in a call; MPI_GROUP_EMPTY belongs to all.
static bool two_groups(mlt_rank *me, MPI_Group one, MPI_Group two, mlt_group **g1, mlt_group **g2,
                       int *code)
{
    *code = MPI_SUCCESS;
    *g1 = mlt_group_of(me, one);
    *g2 = mlt_group_of(me, two);
    if (!*g1)
        *code = mlt_group_bad(me, NULL, "group1", one);
    else if (!*g2)
        *code = mlt_group_bad(me, NULL, "group2", two);
    else if ((*g1)->owner && (*g2)->owner && (*g1)->session != (*g2)->session)
        *code =
            mlt_session_raise(me, (*g1)->session ? (*g1)->session : (*g2)->session, MPI_ERR_GROUP,
                              "group1 and group2 stem from different sessions, or one from a "
                              "session and one from MPI_Init, but objects of different "
                              "sessions must not be mixed");
    return *code == MPI_SUCCESS;
}

int mlt_mpi_Group_compare(mlt_rank *me, MPI_Group group1, MPI_Group group2, int *result)
{
    mlt_group *g1, *g2;
    int code;
    if (!two_groups(me, group1, group2, &g1, &g2, &code))
        return code;
    *result = mlt_map_equal(g1->map, g2->map)     ? MPI_IDENT
              : mlt_map_similar(g1->map, g2->map) ? MPI_SIMILAR
                                                  : MPI_UNEQUAL;
    return MPI_SUCCESS;
}

// "ranks[2] is 7, but should be ..."
static int bad_rank(mlt_rank *me, const mlt_group *group, const char *array, int i, int value,
                    const char *more)
{
    int size = group->map->size;
    if (size == 0)
        return mlt_session_raise(me, group->session, MPI_ERR_RANK,
                                 "%s[%d] is %d, but the group is empty", array, i, value);
    return mlt_session_raise(me, group->session, MPI_ERR_RANK,
                             "%s[%d] is %d, but should be a rank of the group, from 0 to %d%s",
                             array, i, value, size - 1, more);
}

// The number of ranks or ranges, and the array. MPI_SUCCESS if they can be read.
static int check_array(mlt_rank *me, const mlt_group *group, int n, const void *array,
                       const char *name)
{
    if (n < 0)
        return mlt_session_raise(me, group->session, MPI_ERR_ARG,
                                 "argument n is %d, but should be at least 0", n);
    if (n > 0 && !array)
        return mlt_session_raise(me, group->session, MPI_ERR_ARG,
                                 "argument %s is NULL, but should be an array, as n is above 0",
                                 name);
    return MPI_SUCCESS;
}

int mlt_mpi_Group_translate_ranks(mlt_rank *me, MPI_Group group1, int n, const int ranks1[],
                                  MPI_Group group2, int ranks2[])
{
    mlt_group *g1, *g2;
    int code;
    if (!two_groups(me, group1, group2, &g1, &g2, &code))
        return code;
    if ((code = check_array(me, g1, n, ranks1, "ranks1")) != MPI_SUCCESS ||
        (code = check_array(me, g1, n, ranks2, "ranks2")) != MPI_SUCCESS)
        return code;
    for (int i = 0; i < n; i++) {
        int rank = ranks1[i];
        if ((uint32_t)rank < (uint32_t)g1->map->size) {
            int32_t found = mlt_map_rank(g2->map, mlt_map_world(g1->map, rank));
            ranks2[i] = found < 0 ? MPI_UNDEFINED : found;
        } else if (rank == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
        } else {
            return bad_rank(me, g1, "ranks1", i, rank, " or MPI_PROC_NULL");
        }
    }
    return MPI_SUCCESS;
}

// ---- sets

int mlt_group_combine(mlt_rank *me, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup,
                      mlt_map_function *function)
{
    mlt_group *g1, *g2;
    int code;
    if (!two_groups(me, group1, group2, &g1, &g2, &code))
        return code;
    *newgroup =
        mlt_group_new(me, function(g1->map, g2->map), g1->session ? g1->session : g2->session);
    return MPI_SUCCESS;
}

// ---- ranks and ranges. What the user names becomes a map of ranks of the group, so that a range
// stays a function.

// The ranks, checked; NULL: *code has been raised.
static mlt_map *new_ranks(mlt_rank *me, mlt_group *g, int n, const int ranks[], int *code)
{
    if ((*code = check_array(me, g, n, ranks, "ranks")) != MPI_SUCCESS)
        return NULL;
    for (int i = 0; i < n; i++)
        if ((uint32_t)ranks[i] >= (uint32_t)g->map->size) {
            *code = bad_rank(me, g, "ranks", i, ranks[i], "");
            return NULL;
        }
    mlt_map *map = mlt_maps_get(&mlt_mpi_worker_of(me)->maps, ranks, n);
    int at = mlt_map_repeated(map), first = 0;
    if (at < 0)
        return map;
    mlt_map_drop(map);
    while (ranks[first] != ranks[at])
        first++;
    *code = mlt_session_raise(me, g->session, MPI_ERR_RANK,
                              "ranks[%d] and ranks[%d] are both %d, but no rank may be named twice",
                              first, at, ranks[at]);
    return NULL;
}

// One range: how many ranks it names; 0: *code has been raised.
static int64_t check_range(mlt_rank *me, const mlt_group *g, int i, const int range[3], int *code)
{
    int64_t first = range[0], last = range[1], stride = range[2], size = g->map->size;
    char triple[64];
    snprintf(triple, sizeof triple, "ranges[%d] is (%d, %d, %d)", i, range[0], range[1], range[2]);
    if (stride == 0)
        *code = mlt_session_raise(me, g->session, MPI_ERR_ARG,
                                  "%s, but a range's stride should not be 0", triple);
    else if ((last - first) / stride < 0 || (last != first && (last > first) != (stride > 0)))
        *code = mlt_session_raise(me, g->session, MPI_ERR_ARG,
                                  "%s, but its stride leads away from its last rank", triple);
    else if (first < 0 || first >= size || first + (last - first) / stride * stride < 0 ||
             first + (last - first) / stride * stride >= size)
        *code = mlt_session_raise(me, g->session, MPI_ERR_ARG,
                                  "%s, but its ranks should be ranks of the group, from 0 to %lld",
                                  triple, (long long)size - 1);
    else
        return (last - first) / stride + 1;
    return 0;
}

// The ranks of several ranges, at most one more than the group has: then one is there twice.
static mlt_map *list_ranges(mlt_maps *maps, const mlt_group *g, int n, int ranges[][3],
                            int64_t total)
{
    int32_t limit = total > g->map->size ? g->map->size + 1 : (int32_t)total, count = 0;
    int32_t *list = mlt_xrealloc(NULL, (size_t)limit, sizeof *list);
    for (int i = 0; i < n; i++) {
        int64_t stride = ranges[i][2], steps = (ranges[i][1] - (int64_t)ranges[i][0]) / stride;
        for (int64_t k = 0; k <= steps && count < limit; k++)
            list[count++] = (int32_t)(ranges[i][0] + k * stride);
    }
    mlt_map *map = mlt_maps_get(maps, list, count);
    free(list);
    return map;
}

// The ranks that the ranges name, checked; NULL: *code has been raised.
static mlt_map *new_ranges(mlt_rank *me, mlt_group *g, int n, int ranges[][3], int *code)
{
    if ((*code = check_array(me, g, n, ranges, "ranges")) != MPI_SUCCESS)
        return NULL;
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = check_range(me, g, i, ranges[i], code);
        if (count == 0)
            return NULL;
        total += count;
    }
    if (n == 0)
        return mlt_map_new_linear(0, 0, 1);
    if (n == 1)
        return mlt_map_new_linear((int32_t)total, ranges[0][0], ranges[0][2]);
    mlt_map *map = list_ranges(&mlt_mpi_worker_of(me)->maps, g, n, ranges, total);
    int at = mlt_map_repeated(map);
    if (at < 0)
        return map;
    *code = mlt_session_raise(me, g->session, MPI_ERR_ARG,
                              "the ranges name rank %d twice, but no rank may be named twice",
                              mlt_map_world(map, at));
    mlt_map_drop(map);
    return NULL;
}

// Makes the new group from what was named; consumes that. NULL: *code was raised before.
static int group_finish(mlt_rank *me, mlt_group *g, mlt_map *named, mlt_map_function *function,
                        MPI_Group *newgroup, int code)
{
    if (!named)
        return code;
    *newgroup = mlt_group_new(me, function(g->map, named), g->session);
    mlt_map_drop(named);
    return MPI_SUCCESS;
}

int mlt_group_by_ranks(mlt_rank *me, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup,
                       mlt_map_function *function)
{
    mlt_group *g = mlt_group_of(me, group);
    if (!g)
        return mlt_group_bad(me, NULL, "group", group);
    int code;
    mlt_map *named = new_ranks(me, g, n, ranks, &code);
    return group_finish(me, g, named, function, newgroup, code);
}

int mlt_group_by_ranges(mlt_rank *me, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup,
                        mlt_map_function *function)
{
    mlt_group *g = mlt_group_of(me, group);
    if (!g)
        return mlt_group_bad(me, NULL, "group", group);
    int code;
    mlt_map *named = new_ranges(me, g, n, ranges, &code);
    return group_finish(me, g, named, function, newgroup, code);
}

// ---- other jobs

bool mlt_group_is_foreign(const mlt_rank *me, const mlt_group *group)
{
    const mlt_worker *w = me->worker;
    if (MLT_LIKELY(!w->wire || !w->wire->worlds))
        return false;
    for (int32_t r = 0; r < group->map->size; r++)
        if (mlt_map_world(group->map, r) >= (int32_t)w->boot->job->ranks)
            return true;
    return false;
}

int mlt_group_bad_foreign(mlt_rank *me, mlt_comm *comm, const char *argument)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP,
                         "argument %s has ranks of another job, which cannot be met without a "
                         "communicator; use MPI_Comm_create_group or MPI_Intercomm_create",
                         argument);
}
