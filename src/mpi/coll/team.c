// SPDX-License-Identifier: BSD-3-Clause
// The teams of a communicator: which workers have which of its ranks.
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/where.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/shared.h"
#include "mpi/self.h"
#include "mpi/settings.h"

static int32_t speaker(const void *at, int32_t place)
{
    return ((const mlt_team_worker *)at)[place].speaker;
}

// ---- who is where

// The ranks of this worker, ascending.
static int32_t *find_locals(const mlt_worker *w, const mlt_map *map, uint32_t present)
{
    int32_t *locals = mlt_xcalloc(present, sizeof *locals);
    for (int32_t r = 0, n = 0; r < map->size; r++)
        if (mlt_worker_of_rank(w, mlt_map_world(map, r)) == w->index)
            locals[n++] = r;
    return locals;
}

// True if the speakers are base + place * stride.
static bool is_linear(const mlt_team_worker *at, uint32_t workers, int32_t *base, int32_t *stride)
{
    *base = at[0].speaker;
    *stride = workers > 1 ? at[1].speaker - at[0].speaker : 1;
    for (uint32_t w = 2; w < workers; w++)
        if (at[w].speaker != *base + (int32_t)w * *stride)
            return false;
    return true;
}

void mlt_comm_team_facts(mlt_comm *comm, mlt_team_facts *f)
{
    mlt_worker *w = comm->owner->worker;
    f->worker = w;
    f->watched = true;
    f->apart = mlt_mpi_settings.trace_ranks;
    f->crowded = !w->boot->job->membarrier;
    f->reads = w->reads;
    // Jobs may have different settings, and all ranks must choose alike.
    f->reproducible = mlt_mpi_settings.reproducible && !comm->shared->foreign;
    f->sources = mlt_comm_sources(comm);
    f->ledger = mlt_mpi_worker_of(comm->owner)->ledger;
    f->name = mlt_comm_name(comm->owner, comm);
}

static mlt_team *make_level(mlt_comm *comm)
{
    mlt_worker *w = comm->owner->worker;
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    mlt_map *map = mlt_comm_group(comm);
    const mlt_members *members = mlt_comm_members(comm);
    const mlt_team_worker *own = &members->at[members->place];
    bool solo = members->workers == (uint32_t)map->size;
    mlt_assert(!comm->inter);
    mlt_team_facts f = {.ranks = (uint32_t)map->size,
                        .workers = members->workers,
                        .place = members->place,
                        .at = solo ? NULL : members->at,
                        .contiguous = members->contiguous};
    mlt_comm_team_facts(comm, &f);
    f.ordinary = (mlt_run_place){
        .rank = &w->ranks[own->speaker - w->first_rank],
        .context = comm->context + MLT_CONTEXT_LEVEL,
        .self = (int32_t)members->place,
    };
    bool linear = is_linear(members->at, members->workers, &f.ordinary.base, &f.ordinary.stride);
    if (!linear) {
        f.ordinary.world = solo ? mlt_map_member : speaker;
        f.ordinary.group = map; // else the team's own
    }
    f.fixed = f.ordinary;
    f.fixed.context = comm->context + MLT_CONTEXT_LEVEL_FIXED;
    mlt_team *team = mlt_team_new(&f);
    if (!linear && !solo)
        team->ordinary.group = team->fixed.group = team->at;
    if (!members->contiguous)
        shared->locals = find_locals(w, map, own->present);
    return team;
}

mlt_team *mlt_comm_find_team(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    if (!shared->team)
        shared->team = make_level(comm);
    comm->team = shared->team;
    comm->local = mlt_comm_local_of(comm, shared->team, comm->rank);
    return comm->team;
}

uint32_t mlt_comm_local_of(const mlt_comm *comm, const mlt_team *team, int32_t rank)
{
    const int32_t *locals = comm->shared->locals;
    if (!locals)
        return team->at ? (uint32_t)rank - team->first : 0;
    const int32_t *own = bsearch(&rank, locals, team->present, sizeof *own, mlt_map_by_rank);
    mlt_assert(own);
    return (uint32_t)(own - locals);
}

// ---- a rank's own view

// Of an intercommunicator: the ranks of the first group, then those of the second.
static int32_t both_world(const void *shared_, int32_t rank)
{
    const mlt_comm_shared *shared = shared_;
    int32_t first = shared->group[0]->size;
    return rank < first ? mlt_map_world(shared->group[0], rank)
                        : mlt_map_world(shared->group[1], rank - first);
}

static uint32_t rank_worker(const void *facts, uint32_t rank)
{
    const mlt_team_facts *f = facts;
    const mlt_run_place *p = &f->ordinary;
    return mlt_worker_of_rank(f->worker, p->world ? p->world(p->group, (int32_t)rank)
                                                  : p->base + (int32_t)rank * p->stride);
}

// The ranks of a worker have many flat teams, but one map.
static void locate_ranks(mlt_comm_shared *shared, const mlt_team_facts *f)
{
    shared->located = true;
    shared->hosts = mlt_coll_locate(f->worker, f->ranks, rank_worker, f);
}

static mlt_team *make_flat(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    uint32_t ranks = (uint32_t)(comm->inter ? comm->size + comm->peers : comm->size);
    mlt_team_facts f = {
        .ranks = ranks,
        .workers = ranks,
        .place = (uint32_t)mlt_comm_order(comm),
        .contiguous = true,
        .flat = true,
    };
    mlt_comm_team_facts(comm, &f);
    f.ordinary = (mlt_run_place){
        .rank = comm->owner,
        .context = comm->context + MLT_CONTEXT_FLAT,
        .self = mlt_comm_order(comm),
        .base = comm->base,
        .stride = comm->stride,
        .world = comm->inter ? both_world
                 : comm->map ? mlt_map_member
                             : NULL,
        .group = comm->inter ? (const void *)shared : comm->map,
    };
    f.fixed = f.ordinary;
    f.fixed.context = comm->context + MLT_CONTEXT_FLAT_FIXED;
    if (!shared->located)
        locate_ranks(shared, &f);
    f.hosts = shared->hosts;
    return mlt_team_new(&f);
}

mlt_team *mlt_comm_flat(mlt_comm *comm)
{
    mlt_comm_extra *extra = mlt_comm_extra_of(comm);
    if (!extra->flat)
        extra->flat = make_flat(comm);
    return extra->flat;
}
