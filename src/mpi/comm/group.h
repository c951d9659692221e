// SPDX-License-Identifier: BSD-3-Clause
// Groups: a rank map as an object of the user's. The handle is the address; MPI_GROUP_EMPTY is
// predefined.
#pragma once

#include <mpi.h>
#include <stdint.h>

#include "base/list.h"
#include "base/pool.h"
#include "base/status.h"
#include "mpi/comm/map.h"
#include "p2p/p2p.h"

enum { MLT_GROUP_MAGIC = 0x06409b01 };

struct mlt_comm;
struct mlt_session;

typedef struct mlt_group {
    uint32_t magic;  // MLT_GROUP_MAGIC while it lives
    int32_t rank;    // of its owner; MPI_UNDEFINED if it is not a member
    mlt_rank *owner; // NULL: MPI_GROUP_EMPTY
    mlt_map *map;
    struct mlt_session *session; // that it stems from, by MPI_Group_from_session_pset; NULL: none
    mlt_list_node link;          // among the session's groups, if it has one
} mlt_group;

// The group of a handle that this rank may use; NULL: MPI_GROUP_NULL or a bad handle. For
// MPI_GROUP_EMPTY: a group without members that is never freed.
mlt_group *mlt_group_of(mlt_rank *me, MPI_Group handle);

// A group of these ranks, MPI_GROUP_EMPTY if there are none. Consumes the reference on the map.
MPI_Group mlt_group_new(mlt_rank *me, mlt_map *map, struct mlt_session *session);

// MPI_Group_union and the like, MPI_Group_incl and _excl, MPI_Group_range_incl and _excl: the new group has
// the map that the function makes of both, or of the group's and the ranks named.
typedef mlt_map *mlt_map_function(mlt_map *a, mlt_map *b);
int mlt_group_combine(mlt_rank *me, MPI_Group group1, MPI_Group group2, MPI_Group *newgroup,
                      mlt_map_function *function);
int mlt_group_by_ranks(mlt_rank *me, MPI_Group group, int n, const int ranks[], MPI_Group *newgroup,
                       mlt_map_function *function);
int mlt_group_by_ranges(mlt_rank *me, MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup,
                        mlt_map_function *function);

// Ends a group that is not MPI_GROUP_EMPTY: the handle is dead.
void mlt_group_end(mlt_rank *me, mlt_group *group);

// What MPI_GROUP_EMPTY means to the ranks of a worker; goes with the pool, its map apart.
mlt_group *mlt_group_new_empty(mlt_pool *pool);

// Raises MPI_ERR_GROUP for an argument that is no group, with the handler of comm (NULL: of
// MPI_COMM_SELF).
int mlt_group_bad(mlt_rank *me, struct mlt_comm *comm, const char *name, MPI_Group handle) MLT_COLD;

// Whether ranks of it are of other jobs; and the error that such a group raises where only ranks of
// one job can meet.
bool mlt_group_is_foreign(const mlt_rank *me, const mlt_group *group);
struct mlt_comm;
int mlt_group_bad_foreign(mlt_rank *me, struct mlt_comm *comm, const char *argument) MLT_COLD;
