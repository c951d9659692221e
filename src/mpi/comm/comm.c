// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/comm/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/team.h"
#include "mpi/comm/agreement.h"
#include "mpi/error/error.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

static const mlt_comm *comm_of_context(const mlt_rank *rank, uint32_t first)
{
    const mlt_mpi *mpi = rank->mpi;
    if (first == MLT_CONTEXT_WORLD)
        return &mpi->world;
    MLT_LIST_EACH(const mlt_comm, comm, &mpi->comms, link) {
        if (comm->context == first)
            return comm;
    }
    return NULL;
}

// Of an agreement, or of a collective call between workers: peers are workers' places.
static int32_t speaker_of(const mlt_comm *comm, int32_t place)
{
    const mlt_members *members = comm->shared ? comm->shared->members : NULL;
    return members && (uint32_t)place < members->workers ? members->at[place].speaker : place;
}

// Of a collective call between ranks: those of both groups in one order.
static int32_t ordered_world_rank(const mlt_comm *comm, int32_t order)
{
    int32_t first = comm->inter ? comm->shared->group[0]->size : comm->peers;
    int32_t second = comm->inter ? comm->shared->group[1]->size : 0;
    if (order >= first + second)
        return order;
    if (!comm->inter)
        return mlt_comm_world_rank(comm, order);
    return order < first ? mlt_map_world(comm->shared->group[0], order)
                         : mlt_map_world(comm->shared->group[1], order - first);
}

int32_t mlt_comm_message_world_rank(const mlt_rank *rank, uint32_t context, int32_t tag,
                                    int32_t peer)
{
    uint32_t which = context % MLT_CONTEXTS, first = context - which;
    if (first == MLT_CONTEXT_SELF)
        return rank->world;
    if (!rank->mpi || peer < 0 || first == MLT_CONTEXT_GROUPS || which == MLT_CONTEXT_PART)
        return peer; // the latter two name ranks of the world
    const mlt_comm *comm = comm_of_context(rank, first);
    if (!comm)
        return peer;
    switch (which) {
    case MLT_CONTEXT_COLLECTIVE:
        return tag >= 0 ? speaker_of(comm, peer) : ordered_world_rank(comm, peer);
    case MLT_CONTEXT_LEVEL:
    case MLT_CONTEXT_LEVEL_FIXED:
        return speaker_of(comm, peer);
    case MLT_CONTEXT_FLAT:
    case MLT_CONTEXT_FLAT_FIXED:
        return ordered_world_rank(comm, peer);
    default:
        return peer < comm->peers ? mlt_comm_world_rank(comm, peer) : peer;
    }
}

int32_t mlt_comm_context_world_rank(const mlt_rank *rank, uint32_t context, int32_t peer)
{
    return mlt_comm_message_world_rank(rank, context, -1, peer);
}

mlt_comm_extra *mlt_comm_extra_of(mlt_comm *comm)
{
    if (!comm->extra)
        comm->extra = mlt_xcalloc(1, sizeof *comm->extra);
    return comm->extra;
}

MPI_Comm mlt_comm_handle(mlt_rank *me, mlt_comm *comm)
{
    mlt_mpi *mpi = mlt_mpi_of(me);
    return comm == &mpi->world ? MPI_COMM_WORLD
           : comm == mpi->self ? MPI_COMM_SELF
           : comm->magic       ? (MPI_Comm)comm
                               : MPI_COMM_NULL;
}

const char *mlt_comm_name(mlt_rank *me, const mlt_comm *comm)
{
    if (comm->extra && comm->extra->name)
        return comm->extra->name;
    mlt_mpi *mpi = mlt_mpi_of(me);
    return comm == &mpi->world ? "MPI_COMM_WORLD"
           : comm == mpi->self ? "MPI_COMM_SELF"
                               : "the communicator";
}

int mlt_mpi_Comm_remote_size(mlt_rank *me, mlt_comm *comm, int *size)
{
    if (!comm->inter)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                             "%s is no intercommunicator, so it has no remote group",
                             mlt_comm_name(me, comm));
    *size = comm->peers;
    return MPI_SUCCESS;
}

int mlt_comm_two_sessions(mlt_rank *me, mlt_comm *comm, int class, const char *one,
                          const char *other)
{
    return mlt_mpi_raise(me, comm, me->fn, class,
                         "arguments %s and %s stem from different sessions, or one of them from a "
                         "session and the other from MPI_Init; a call has objects of one only",
                         one, other);
}

int mlt_comm_bad_inter(mlt_rank *me, mlt_comm *comm, const char *name)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_COMM,
                         "argument %s is an intercommunicator, but should be an intracommunicator",
                         name);
}

int mlt_mpi_Comm_compare(mlt_rank *me, mlt_comm *comm1, mlt_comm *comm2, int *result)
{
    *result = MPI_UNEQUAL;
    if (mlt_comm_session(comm1) != mlt_comm_session(comm2))
        return mlt_comm_two_sessions(me, comm1, MPI_ERR_COMM, "comm1", "comm2");
    if (comm1 == comm2) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    if (comm1->inter != comm2->inter || comm1->size != comm2->size)
        return MPI_SUCCESS;
    mlt_comm_shared_of(comm1);
    mlt_comm_shared_of(comm2);
    mlt_map *own1 = mlt_comm_group(comm1), *peers1 = mlt_comm_peer_group(comm1);
    mlt_map *own2 = mlt_comm_group(comm2), *peers2 = mlt_comm_peer_group(comm2);
    if (mlt_map_equal(own1, own2) && mlt_map_equal(peers1, peers2))
        *result = MPI_CONGRUENT;
    else if (mlt_map_similar(own1, own2) && mlt_map_similar(peers1, peers2))
        *result = MPI_SIMILAR;
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_get_name(mlt_rank *me, mlt_comm *comm, char *comm_name, int *resultlen)
{
    const mlt_mpi *mpi = mlt_mpi_of(me);
    bool named =
        comm && ((comm->extra && comm->extra->name) || comm == &mpi->world || comm == mpi->self);
    const char *name = !comm ? "MPI_COMM_NULL" : named ? mlt_comm_name(me, comm) : "";
    *resultlen = (int)strlen(name);
    memcpy(comm_name, name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_set_name(mlt_rank *me, mlt_comm *comm, const char *comm_name)
{
    char *copy = strndup(comm_name, MPI_MAX_OBJECT_NAME - 1);
    if (!copy)
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_NO_MEM, MLT_NO_ROOM "a name");
    mlt_comm_extra *extra = mlt_comm_extra_of(comm);
    free(extra->name);
    extra->name = copy;
    if (comm->shared && comm->shared->team)
        mlt_team_rename(comm->shared->team, copy);
    if (extra->flat)
        mlt_team_rename(extra->flat, copy);
    return MPI_SUCCESS;
}
