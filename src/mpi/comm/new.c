// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing communicators: the objects, what their ranks share, and the agreements of all
// ranks of one.
#include "mpi/comm/new.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "boot/job.h"
#include "coll/team.h"
#include "host/own.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/device.h"
#include "mpi/coll/reduce_to.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/goal/goal.h"
#include "mpi/info/info.h"
#include "mpi/p2p/buffer.h"
#include "mpi/self.h"
#include "mpi/stream/stream.h"
#include "mpi/strict.h"
#include "mpi/topo/topo.h"
#include "wire/wire.h"

// ---- other jobs

static void hold_world(mlt_comm_shared *shared, mlt_world *world)
{
    for (uint32_t i = 0; i < shared->world_count; i++)
        if (shared->worlds[i] == world)
            return;
    shared->worlds =
        mlt_xrealloc(shared->worlds, shared->world_count + (size_t)1, sizeof *shared->worlds);
    shared->worlds[shared->world_count++] = world;
    mlt_world_hold(world);
}

static void hold_worlds(mlt_comm_shared *shared, mlt_worker *worker, const mlt_map *map)
{
    int32_t own = (int32_t)worker->boot->job->ranks;
    for (int32_t r = 0; map && r < map->size; r++) {
        int32_t world = mlt_map_world(map, r);
        if (world >= own)
            hold_world(shared, mlt_worlds_of_rank(worker->wire->worlds, world));
    }
}

static void find_worlds(mlt_comm_shared *shared, mlt_worker *worker)
{
    if (!worker->wire || !worker->wire->worlds)
        return;
    hold_worlds(shared, worker, shared->group[0]);
    hold_worlds(shared, worker, shared->group[1]);
    shared->foreign = shared->world_count > 0;
    worker->abroad += shared->foreign;
}

static void drop_worlds(mlt_comm_shared *shared)
{
    if (!shared->foreign)
        return;
    mlt_worker *worker = shared->id->worker;
    worker->abroad--;
    for (uint32_t i = 0; i < shared->world_count; i++)
        mlt_world_drop(worker->wire->worlds, shared->worlds[i]);
    free(shared->worlds);
}

// ---- objects

mlt_comm_shared *mlt_comm_shared_new(mlt_context *id, mlt_map *group0, mlt_map *group1)
{
    mlt_comm_shared *shared = mlt_xcalloc(1, sizeof *shared);
    shared->id = id;
    shared->context = id ? id->first : 0;
    shared->group[0] = group0;
    shared->group[1] = group1;
    mlt_list_init(&shared->agreements);
    if (id)
        find_worlds(shared, id->worker);
    return shared;
}

// A collective call that the user never completed is under way. Progress, even another rank's,
// still works on its memory, which is left as it is.
static inline bool is_busy(const mlt_team *team)
{
    return team && MLT_UNLIKELY(!mlt_team_is_idle(team));
}

void mlt_comm_shared_drop(mlt_comm_shared *shared)
{
    if (!shared || --shared->refs > 0 || is_busy(shared->team))
        return;
    mlt_assert(mlt_list_empty(&shared->agreements));
    mlt_map_drop(shared->group[0]);
    mlt_map_drop(shared->group[1]);
    mlt_members_drop(shared->members);
    mlt_topo_drop(shared->topo);
    mlt_team_free(shared->team);
    mlt_comm_sources_free(shared->sources);
    free(shared->locals);
    mlt_coll_hosts_free(shared->hosts);
    mlt_device_place_drop(shared->device, shared->id ? shared->id->worker : NULL);
    drop_worlds(shared);
    mlt_context_drop(shared->id);
    free(shared);
}

mlt_comm_shared *mlt_comm_shared_of(mlt_comm *comm)
{
    if (!comm->shared) { // MPI_COMM_SELF
        comm->shared = mlt_comm_shared_new(NULL, mlt_map_new_linear(1, comm->base, 1), NULL);
        comm->shared->context = comm->context;
        comm->shared->refs = 1;
    }
    return comm->shared;
}

mlt_comm *mlt_comm_new(mlt_rank *me, mlt_comm_shared *shared, int side, int32_t rank,
                       const mlt_comm *like)
{
    mlt_comm *comm = mlt_pool_take(&mlt_mpi_worker_of(me)->comms);
    const mlt_map *peers = shared->group[shared->group[1] ? !side : 0];
    bool linear = peers->kind == MLT_MAP_LINEAR;
    *comm = (mlt_comm){
        .magic = MLT_COMM_MAGIC,
        .context = shared->context,
        .rank = rank,
        .size = shared->group[side]->size,
        .peers = peers->size,
        .base = linear ? peers->base : 0,
        .stride = linear ? peers->stride : 0,
        .refs = 1,
        .errhandler = like ? like->errhandler : MPI_ERRORS_ARE_FATAL,
        .map = linear ? NULL : peers,
        .shared = shared,
        .owner = me,
        .inter = shared->group[1] != NULL,
        .side = (uint8_t)side,
    };
    shared->refs++;
    mlt_errhandler_hold(comm->errhandler);
    if (like && like->extra && like->extra->session)
        mlt_comm_extra_of(comm)->session = like->extra->session;
    mlt_list_push_back(&mlt_mpi_of(me)->comms, &comm->link);
    return comm;
}

void mlt_comm_extra_free(mlt_rank *me, mlt_comm_extra *extra)
{
    if (!extra)
        return;
    mlt_bsend_drop(me, &extra->buffer);
    mlt_attrs_forget(&extra->attrs); // those of a communicator that MPI_Finalize ends
    mlt_info_free(extra->info);
    mlt_goal_runs_drop(extra->goal);
    mlt_team_free(extra->flat);
    mlt_reduce_tos_free(extra->reduce_to);
    mlt_stream_drop(extra->stream);
    free(extra->name);
    free(extra);
}

// Everything except the memory of the object itself.
void mlt_comm_close(mlt_comm *comm)
{
    if (comm->extra && is_busy(comm->extra->flat)) {
        comm->magic = 0;
        return;
    }
    mlt_comm_extra_free(comm->owner, comm->extra);
    comm->extra = NULL;
    mlt_errhandler_drop(comm->errhandler);
    comm->errhandler = mlt_errhandler_initial(); // of MPI_COMM_SELF, after MPI_Finalize
    mlt_topo_drop(comm->topo);
    comm->topo = NULL;
    mlt_comm_shared_drop(comm->shared);
    comm->shared = NULL;
    comm->magic = 0;
}

void mlt_comm_release(mlt_comm *comm)
{
    mlt_mpi *mpi = mlt_mpi_of(comm->owner);
    if (comm == &mpi->world || comm == mpi->self)
        return; // MPI_Finalize closed it
    mlt_list_remove(&comm->link);
    mlt_comm_close(comm);
    mlt_pool_give_last(&mlt_mpi_worker_of(comm->owner)->comms, comm);
}

int mlt_comm_free(mlt_rank *me, mlt_comm *comm)
{
    if (comm->extra) {
        int code = mlt_attrs_delete_all(me, MLT_ATTR_COMM, comm, &comm->extra->attrs);
        if (code != MPI_SUCCESS)
            return code;
    }
    mlt_rank_own *own = me->own;
    if (own && own->parent == comm)
        own->parent = NULL;
    if (mlt_strict_on)
        mlt_strict_freed(me, MLT_STRICT_COMM, (uintptr_t)comm);
    comm->magic = 0;
    mlt_comm_drop(comm);
    return MPI_SUCCESS;
}

void mlt_comm_set_topo(mlt_comm *comm, struct mlt_topo *topo)
{
    mlt_comm_shared *shared = comm->shared;
    if (shared->topo && mlt_topo_equal(shared->topo, topo)) {
        mlt_topo_drop(topo);
        topo = mlt_topo_hold(shared->topo);
    } else {
        mlt_topo_drop(shared->topo);
        shared->topo = mlt_topo_hold(topo);
    }
    mlt_topo_drop(comm->topo);
    comm->topo = topo;
}

uint32_t mlt_comm_worker_of(const mlt_comm *comm, int rank)
{
    return mlt_worker_of_rank(comm->owner->worker, mlt_comm_world_rank(comm, rank));
}

// ---- agreements

mlt_members *mlt_comm_members(mlt_comm *comm)
{
    mlt_comm_shared *shared = mlt_comm_shared_of(comm);
    if (!shared->members)
        shared->members = mlt_members_new(comm->owner->worker, shared->group[0], shared->group[1]);
    return shared->members;
}

mlt_agreement_place mlt_comm_place(mlt_comm *comm, bool wants_id,
                                   void (*finish)(mlt_agreement *agreement))
{
    mlt_members *members = mlt_comm_members(comm);
    uint32_t call = comm->calls++;
    return (mlt_agreement_place){
        .list = &comm->shared->agreements,
        .group = {comm->shared->group[0], comm->shared->group[1]},
        .members = members,
        .context = comm->context + MLT_CONTEXT_COLLECTIVE,
        .tag = (int)(call & INT_MAX),
        .key = call,
        .by_place = true,
        .wants_id = wants_id,
        .finish = finish,
    };
}

void mlt_comm_meet(mlt_comm *comm, mlt_participant *participant, bool wants_id,
                   void (*finish)(mlt_agreement *agreement), const void *mine, uint64_t bytes)
{
    mlt_agreement_place place = mlt_comm_place(comm, wants_id, finish);
    participant->rank = comm->owner;
    participant->order = mlt_comm_order(comm);
    bool waits = !participant->heap;
    mlt_agreement_come(participant, &place, mine, bytes);
    if (waits)
        mlt_agreement_wait(participant, place.context);
}

mlt_agreement_place mlt_group_place(mlt_rank *me, mlt_map *group0, mlt_map *group1,
                                    uint32_t context, int tag, uint64_t key, bool wants_id,
                                    void (*finish)(mlt_agreement *agreement))
{
    mlt_mpi_worker *w = mlt_mpi_worker_of(me);
    return (mlt_agreement_place){
        .list = &w->agreements[(key ^ (uint32_t)tag) & w->agreement_mask],
        .group = {group0, group1},
        .context = context,
        .tag = tag,
        .key = key,
        .wants_id = wants_id,
        .finish = finish,
    };
}

int mlt_comm_no_context(mlt_rank *me, mlt_comm *comm)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_OTHER,
                         "there are too many communicators: no number is free for a new one; free "
                         "some with MPI_Comm_free");
}

uint64_t mlt_comm_hash(uint64_t seed, const void *bytes, size_t count)
{
    return mlt_hash_on(seed ^ MLT_HASH_FIRST, bytes, count);
}

uint64_t mlt_map_hash(uint64_t seed, mlt_map *map)
{
    uint64_t hash = mlt_map_own_hash(map); // all members of a group ask, and mostly have one map
    return mlt_comm_hash(seed, &hash, sizeof hash);
}

// ---- everybody's bytes to everybody

struct mlt_gathered_memory {
    uint32_t refs;
    unsigned char *data;
    uint64_t at[]; // [ranks + 1]
};

static void finish_gather(mlt_agreement *agreement)
{
    uint64_t ranks = (uint64_t)agreement->place.members->ranks, total = 0;
    struct mlt_gathered_memory *memory =
        mlt_xcalloc(1, sizeof *memory + (ranks + 1) * sizeof(uint64_t));
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(agreement, i));)
        memory->at[i->order + 1] = i->bytes;
    for (uint64_t r = 0; r < ranks; r++)
        memory->at[r + 1] = total += memory->at[r + 1];
    memory->data = mlt_xrealloc(NULL, total, 1);
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(agreement, i));)
        memcpy(memory->data + memory->at[i->order], mlt_agreement_item_data(i), i->bytes);
    memory->refs = agreement->came;
    for (mlt_participant *g = agreement->participants; g; g = g->next)
        *(mlt_gathered *)g->user =
            (mlt_gathered){.data = memory->data, .at = memory->at, .memory = memory};
}

int mlt_comm_gather(mlt_rank *me, mlt_comm *comm, const void *mine, size_t bytes, mlt_gathered *out)
{
    mlt_participant participant = {.user = out};
    mlt_comm_meet(comm, &participant, false, finish_gather, mine, bytes);
    return MPI_SUCCESS;
}

void mlt_gathered_free(mlt_gathered *gathered)
{
    struct mlt_gathered_memory *memory = gathered->memory;
    if (memory && --memory->refs == 0) {
        free(memory->data);
        free(memory);
    }
    *gathered = (mlt_gathered){0};
}

static void finish_nothing(mlt_agreement *agreement)
{
}

void mlt_comm_agree(mlt_rank *me, mlt_comm *comm)
{
    mlt_participant participant = {0};
    mlt_comm_meet(comm, &participant, false, finish_nothing, NULL, 0);
}

// The agreement is one of the workers' first ranks; any rank of a worker may come for it.
void mlt_agreement_workers(mlt_rank *me)
{
    mlt_job *job = me->worker->boot->job;
    int32_t *first = mlt_xcalloc(job->workers, sizeof *first);
    for (uint32_t w = 0; w < job->workers; w++)
        first[w] = (int32_t)mlt_job_location_at(job, w)->first_rank;
    mlt_map *map = mlt_map_new(first, (int32_t)job->workers);
    mlt_agreement_place place =
        mlt_group_place(me, map, NULL, MLT_CONTEXT_BARRIER, 0, 0, false, finish_nothing);
    mlt_participant participant = {.rank = me};
    mlt_agreement_come(&participant, &place, NULL, 0);
    mlt_agreement_wait(&participant, MLT_CONTEXT_WORLD);
    mlt_map_drop(map);
    free(first);
}
