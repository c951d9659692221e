// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: two groups that do not overlap, in one context. Which of them comes first is
// decided once, so that all ranks have the same order of both.
//
// MPI_Intercomm_create within a job: the leaders tell each other their groups, and one takes the context
// number; each leader tells its own group in an agreement of the local communicator; then all ranks of
// both groups meet, in the new context, and each worker makes the communicators of all its ranks.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/comm/group.h"
#include "mpi/comm/port.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/self.h"
#include "mpi_bodies.h"

typedef struct inter_participant {
    mlt_participant participant;
    mlt_map *group[2];
    int side;
    const mlt_comm *old; // NULL: none
    mlt_comm *new;
} inter_participant;

static void finish_inter(mlt_agreement *agreement)
{
    uint32_t context = agreement->context ? agreement->context : (uint32_t)agreement->place.key;
    if (agreement->place.wants_id && !agreement->context)
        return;
    const inter_participant *any = (inter_participant *)agreement->participants;
    mlt_comm_shared *shared =
        mlt_comm_shared_new(mlt_context_join(agreement->worker, context),
                            mlt_map_hold(any->group[0]), mlt_map_hold(any->group[1]));
    shared->members = mlt_members_hold(agreement->place.members);
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        inter_participant *participant = (inter_participant *)g;
        int32_t before = participant->side ? participant->group[0]->size : 0;
        participant->new =
            mlt_comm_new(g->rank, shared, participant->side, g->order - before, participant->old);
    }
}

// rank: in the group of that side.
static mlt_comm *agreement_both(mlt_rank *me, const mlt_agreement_place *place, mlt_map *group0,
                                mlt_map *group1, int side, int32_t rank, const mlt_comm *old)
{
    inter_participant g = {
        .participant = {.rank = me, .order = side ? group0->size + rank : rank},
        .group = {group0, group1},
        .side = side,
        .old = old,
    };
    mlt_agreement_come(&g.participant, place, NULL, 0);
    mlt_agreement_wait(&g.participant, place->context);
    return g.new;
}

mlt_comm *mlt_inter_make(mlt_rank *me, mlt_map *group0, mlt_map *group1, int side, int32_t rank,
                         uint32_t context, const mlt_comm *old)
{
    // Nobody else uses the context, and not each worker may know a rank of the other side by the
    // number that it has here.
    mlt_agreement_place place = mlt_group_place(
        me, group0, group1, context + MLT_CONTEXT_COLLECTIVE, 0, context, false, finish_inter);
    place.by_place = true;
    return agreement_both(me, &place, group0, group1, side, rank, old);
}

// True if no rank is in both.
static bool disjoint(mlt_map *a, mlt_map *b)
{
    for (int32_t r = 0; r < a->size; r++)
        if (mlt_map_rank(b, mlt_map_world(a, r)) >= 0)
            return false;
    return true;
}

// ---- leaders

// What a leader tells its own group; the world ranks of the remote group follow.
typedef struct tidings {
    int32_t failed; // a leader's error class; 0: all is well
    uint32_t context;
    int32_t first;  // its own group comes first
    int32_t remote; // BY_PORT: there are several jobs, and no ranks follow
} tidings;

enum { BY_PORT = -1 };

// Sends to and receives from the other leader.
static void comm_inter_exchange(mlt_rank *me, mlt_comm *peer, int leader, int tag, const void *out,
                                uint64_t out_bytes, void *in, uint64_t in_bytes)
{
    mlt_req send, recv;
    uint32_t context = peer->context + MLT_CONTEXT_LEADERS;
    mlt_req_init(&send, me, MLT_REQ_SEND);
    mlt_req_message(&send, out, out_bytes, MLT_TYPE_BYTE, context, peer->rank,
                    mlt_comm_world_rank(peer, leader), tag);
    mlt_req_init(&recv, me, MLT_REQ_RECV);
    mlt_req_message(&recv, in, in_bytes, MLT_TYPE_BYTE, context, peer->rank, leader, tag);
    mlt_p2p_recv(&recv);
    mlt_p2p_send(&send);
    mlt_req_wait(&send, mlt_mpi_call(me));
    mlt_req_wait(&recv, mlt_mpi_call(me));
}

static int32_t *worlds_of(const mlt_map *map)
{
    int32_t *worlds = mlt_xrealloc(NULL, (size_t)map->size, sizeof *worlds);
    for (int32_t r = 0; r < map->size; r++)
        worlds[r] = mlt_map_world(map, r);
    return worlds;
}

// What a leader says of its group first.
typedef struct leader_card {
    uint64_t identity; // of its job
    int32_t rank;      // its own there
    int32_t size;
    int32_t foreign; // its group has ranks of other jobs
    int32_t unused;
} leader_card;

static leader_card card_of(const mlt_rank *me, const mlt_comm *local_comm)
{
    return (leader_card){.identity = me->worker->boot->job->identity,
                         .rank = me->world,
                         .size = mlt_comm_group(local_comm)->size,
                         .foreign = local_comm->shared->foreign};
}

// The leader whose group comes first: the same answer on both sides, whatever they call each other.
static bool is_first(const leader_card *mine, const leader_card *theirs)
{
    return mine->identity != theirs->identity ? mine->identity < theirs->identity
                                              : mine->rank < theirs->rank;
}

// The number for the new communicator: the leader of the first group takes it, the other hears it.
static uint32_t agree_on_context(mlt_rank *me, mlt_comm *peer, int leader, int tag, bool first,
                                 const mlt_map *local, const mlt_map *remote)
{
    uint32_t mine = 0, theirs = 0;
    if (first) {
        mlt_members *members = mlt_members_new(me->worker, local, remote);
        uint32_t count;
        const uint32_t *used = mlt_context_abroad(me->worker, &count);
        mine = members->foreign ? mlt_context_draw(used, count)
                                : mlt_context_take(me->worker, members->workers);
        mlt_members_drop(members);
    }
    comm_inter_exchange(me, peer, leader, tag, &mine, sizeof mine, &theirs, sizeof theirs);
    return first ? mine : theirs;
}

// ---- several jobs
//
// Not each process of one group may have met the jobs of the other, and the numbers of ranks are a
// process's own. So the leaders only see that no rank is in both groups, and agree on a port, by
// which the two groups then connect.

typedef struct citizen {
    uint64_t identity; // of a job
    uint64_t rank;     // of it
} citizen;

static int by_job(const void *a, const void *b)
{
    const citizen *x = a, *y = b;
    if (x->identity != y->identity)
        return x->identity < y->identity ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static citizen *citizens_of(const mlt_rank *me, const mlt_map *map)
{
    const mlt_worker *w = me->worker;
    citizen *all = mlt_xrealloc(NULL, (size_t)map->size, sizeof *all);
    for (int32_t r = 0; r < map->size; r++) {
        uint32_t rank;
        mlt_worlds_tell(w->wire ? w->wire->worlds : NULL, w->boot->job, mlt_map_world(map, r),
                        &all[r].identity, &rank);
        all[r].rank = rank;
    }
    qsort(all, (size_t)map->size, sizeof *all, by_job);
    return all;
}

static bool any_in_both(const citizen *a, int32_t a_count, const citizen *b, int32_t b_count)
{
    for (int32_t i = 0, k = 0; i < a_count && k < b_count;) {
        int order = by_job(&a[i], &b[k]);
        if (order == 0)
            return true;
        if (order < 0)
            i++;
        else
            k++;
    }
    return false;
}

// The leader's part there. *port: the name of the port, which the first leader has opened.
static tidings lead_jobs(mlt_rank *me, mlt_map *local, mlt_comm *peer, int leader, int tag,
                         const leader_card *mine, const leader_card *other,
                         char port[MPI_MAX_PORT_NAME])
{
    tidings t = {.first = is_first(mine, other), .remote = BY_PORT};
    citizen *own = citizens_of(me, local);
    citizen *theirs = mlt_xrealloc(NULL, (size_t)other->size, sizeof *theirs);
    comm_inter_exchange(me, peer, leader, tag, own, (uint64_t)local->size * sizeof *own, theirs,
                        (uint64_t)other->size * sizeof *theirs);
    char why[MLT_PORT_WHY], name[MPI_MAX_PORT_NAME] = "";
    if (any_in_both(own, local->size, theirs, other->size))
        t.failed = MPI_ERR_COMM;
    else if (t.first)
        (void)mlt_port_open(me, name, why);
    comm_inter_exchange(me, peer, leader, tag, name, sizeof name, port, MPI_MAX_PORT_NAME);
    if (t.first)
        memcpy(port, name, sizeof name);
    if (!t.failed && !port[0])
        t.failed = MPI_ERR_UNSUPPORTED_OPERATION;
    free(own);
    free(theirs);
    return t;
}

// All ranks of the local communicator: the intercommunicator, by the port; NULL: *code was raised.
static mlt_comm *connect_jobs(mlt_rank *me, mlt_comm *local_comm, int local_leader, bool first,
                              const char *port, int *code)
{
    mlt_port_result result;
    mlt_port_meet(me, local_comm, local_leader, first, port, NULL, &result);
    if (first && local_comm->rank == local_leader) {
        char why[MLT_PORT_WHY];
        (void)mlt_port_close(me, port, why);
    }
    if (result.error != MPI_SUCCESS)
        *code = mlt_mpi_raise(me, local_comm, me->fn, result.error, "%s", result.why);
    return result.comm;
}

// ---- the leaders of one job

// The leader's part. Returns what it tells its group, to be freed; *bytes is its length.
static tidings *lead(mlt_rank *me, mlt_comm *local_comm, mlt_comm *peer, int leader, int tag,
                     size_t *bytes, char port[MPI_MAX_PORT_NAME])
{
    mlt_map *local = mlt_comm_group(local_comm);
    leader_card mine = card_of(me, local_comm), other = {0};
    comm_inter_exchange(me, peer, leader, tag, &mine, sizeof mine, &other, sizeof other);
    int32_t count = other.size;
    bool jobs = mine.foreign || other.foreign || mine.identity != other.identity;
    *bytes = sizeof(tidings) + (jobs ? 0 : (size_t)count * sizeof(int32_t));
    tidings *t = mlt_xrealloc(NULL, 1, *bytes);
    if (jobs) {
        *t = lead_jobs(me, local, peer, leader, tag, &mine, &other, port);
        return t;
    }
    int32_t *own = worlds_of(local);
    int32_t *theirs = (int32_t *)(t + 1);
    comm_inter_exchange(me, peer, leader, tag, own, (uint64_t)local->size * sizeof *own, theirs,
                        (uint64_t)count * sizeof *theirs);
    mlt_map *remote = mlt_map_new(theirs, count);
    *t = (tidings){.first = is_first(&mine, &other), .remote = count};
    if (!disjoint(local, remote))
        t->failed = MPI_ERR_COMM;
    else
        t->context = agree_on_context(me, peer, leader, tag, t->first, local, remote);
    mlt_map_drop(remote);
    free(own);
    return t;
}

// The tidings reach every rank of the local communicator; the map is made once a worker.
typedef struct told_participant {
    mlt_participant participant;
    tidings told;
    mlt_map *remote;
} told_participant;

static void finish_telling(mlt_agreement *agreement)
{
    static const tidings silence = {.failed = MPI_ERR_ARG};
    const mlt_agreement_item *item = mlt_agreement_next(agreement, NULL);
    const tidings *t =
        item && !mlt_agreement_next(agreement, item) ? mlt_agreement_item_data(item) : &silence;
    bool ranks = !t->failed && t->remote != BY_PORT;
    mlt_map *remote = mlt_map_new((const int32_t *)(t + 1), ranks ? t->remote : 0);
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        ((told_participant *)g)->told = *t;
        ((told_participant *)g)->remote = mlt_map_hold(remote);
    }
    mlt_map_drop(remote);
}

// A leader whose own arguments are wrong tells it to its group, which would wait without end.
static int check_leader(mlt_rank *me, mlt_comm *local_comm, MPI_Comm peer_comm, int remote_leader,
                        mlt_comm **peer)
{
    *peer = mlt_comm_of(me, peer_comm);
    if (!*peer)
        return mlt_bad_handle(me, local_comm, me->fn, MPI_ERR_COMM, "peer_comm", "communicator",
                              (uintptr_t)peer_comm);
    if (mlt_comm_session(local_comm) != mlt_comm_session(*peer))
        return mlt_comm_two_sessions(me, local_comm, MPI_ERR_COMM, "local_comm", "peer_comm");
    if (remote_leader < 0 || remote_leader >= (*peer)->peers)
        return mlt_bad_rank(me, *peer, me->fn, MPI_ERR_RANK, "remote_leader", remote_leader, "");
    if (mlt_comm_world_rank(*peer, remote_leader) == me->world)
        return mlt_mpi_raise(me, *peer, me->fn, MPI_ERR_RANK,
                             "argument remote_leader is %d, which is the calling rank itself: the "
                             "groups must not overlap",
                             remote_leader);
    return MPI_SUCCESS;
}

int mlt_mpi_Intercomm_create(mlt_rank *me, mlt_comm *local_comm, int local_leader,
                             MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *newintercomm)
{
    if (local_comm->inter)
        return mlt_comm_bad_inter(me, local_comm, "local_comm");
    if (local_leader < 0 || local_leader >= local_comm->size)
        return mlt_bad_rank(me, local_comm, me->fn, MPI_ERR_RANK, "local_leader", local_leader, "");
    mlt_comm_shared_of(local_comm);
    tidings bad = {.failed = MPI_ERR_OTHER}, *t = NULL;
    size_t bytes = 0;
    char port[MPI_MAX_PORT_NAME] = "";
    int code = MPI_SUCCESS;
    if (local_comm->rank == local_leader) {
        mlt_comm *peer;
        code = check_leader(me, local_comm, peer_comm, remote_leader, &peer);
        bytes = sizeof bad;
        if (code == MPI_SUCCESS)
            t = lead(me, local_comm, peer, remote_leader, tag, &bytes, port);
    }
    told_participant g = {.remote = NULL};
    mlt_comm_meet(local_comm, &g.participant, false, finish_telling, t ? t : &bad, bytes);
    free(t);
    uint32_t context = g.told.context;
    if (code == MPI_SUCCESS && g.told.failed == MPI_ERR_COMM)
        code = mlt_mpi_raise(me, local_comm, me->fn, MPI_ERR_COMM,
                             "the two groups overlap: no rank may be in both");
    else if (code == MPI_SUCCESS && g.told.failed == MPI_ERR_UNSUPPORTED_OPERATION)
        code = mlt_mpi_raise(me, local_comm, me->fn, MPI_ERR_UNSUPPORTED_OPERATION,
                             "the groups have ranks of several jobs, and a port to connect them "
                             "by cannot be opened: there is no agent of mpirun's");
    else if (code == MPI_SUCCESS && g.told.failed == MPI_ERR_ARG)
        code = mlt_mpi_raise(me, local_comm, me->fn, MPI_ERR_ARG,
                             "argument local_leader is %d here, but other ranks of %s gave "
                             "another one; it should be the same for all",
                             local_leader, mlt_comm_name(me, local_comm));
    else if (code == MPI_SUCCESS && g.told.failed)
        code = mlt_mpi_raise(me, local_comm, me->fn, g.told.failed,
                             "the leader, rank %d of %s, was called with wrong arguments",
                             local_leader, mlt_comm_name(me, local_comm));
    else if (code == MPI_SUCCESS && g.told.remote == BY_PORT)
        *newintercomm =
            (MPI_Comm)connect_jobs(me, local_comm, local_leader, g.told.first, port, &code);
    else if (code == MPI_SUCCESS && !context)
        code = mlt_comm_no_context(me, local_comm);
    if (code == MPI_SUCCESS && g.told.remote != BY_PORT) {
        mlt_map *local = mlt_comm_group(local_comm);
        mlt_map *group[] = {g.told.first ? local : g.remote, g.told.first ? g.remote : local};
        *newintercomm = (MPI_Comm)mlt_inter_make(me, group[0], group[1], !g.told.first,
                                                 local_comm->rank, context, local_comm);
    }
    mlt_map_drop(g.remote);
    return code;
}

int mlt_mpi_Intercomm_create_from_groups(mlt_rank *me, MPI_Group local_group, int local_leader,
                                         MPI_Group remote_group, int remote_leader,
                                         const char *stringtag, MPI_Info info,
                                         MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    mlt_group *local = mlt_group_of(me, local_group), *remote = mlt_group_of(me, remote_group);
    mlt_comm nobody;
    int code = mlt_comm_check_from_groups(me, stringtag, info, errhandler, &nobody);
    if (code != MPI_SUCCESS)
        return code;
    if (!local)
        return mlt_group_bad(me, &nobody, "local_group", local_group);
    if (!remote)
        return mlt_group_bad(me, &nobody, "remote_group", remote_group);
    if (local->rank < 0)
        return mlt_mpi_raise(me, &nobody, me->fn, MPI_ERR_GROUP,
                             "argument local_group does not contain the caller, rank %d of the job",
                             me->world);
    if (local_leader < 0 || local_leader >= local->map->size)
        return mlt_bad_value(me, &nobody, me->fn, MPI_ERR_RANK, "local_leader", local_leader,
                             "a rank of local_group");
    if (remote->map->size == 0)
        return mlt_mpi_raise(me, &nobody, me->fn, MPI_ERR_GROUP,
                             "argument remote_group is empty, but should have a rank at least");
    if (local_leader == local->rank && (remote_leader < 0 || remote_leader >= remote->map->size))
        return mlt_bad_value(me, &nobody, me->fn, MPI_ERR_RANK, "remote_leader", remote_leader,
                             "a rank of remote_group");
    if (mlt_group_is_foreign(me, local))
        return mlt_group_bad_foreign(me, &nobody, "local_group");
    if (mlt_group_is_foreign(me, remote))
        return mlt_group_bad_foreign(me, &nobody, "remote_group");
    bool first = mlt_map_world(local->map, 0) < mlt_map_world(remote->map, 0);
    mlt_map *group[] = {first ? local->map : remote->map, first ? remote->map : local->map};
    uint64_t key = mlt_comm_hash(2, stringtag, strlen(stringtag));
    key = mlt_map_hash(mlt_map_hash(key, group[0]), group[1]);
    mlt_agreement_place place = mlt_group_place(me, group[0], group[1], MLT_CONTEXT_GROUPS,
                                                (int)(key >> 33), key, true, finish_inter);
    if (!mlt_agreement_is_open(&place) && !disjoint(local->map, remote->map))
        return mlt_mpi_raise(me, &nobody, me->fn, MPI_ERR_GROUP,
                             "the two groups overlap: no rank may be in both");
    mlt_comm *new = agreement_both(me, &place, group[0], group[1], !first, local->rank, NULL);
    if (!new)
        return mlt_comm_no_context(me, &nobody);
    *newintercomm = (MPI_Comm) new;
    return mlt_comm_furnish(me, new, local, info, errhandler);
}

// ---- merging

typedef struct merge_participant {
    mlt_participant participant;
    mlt_comm *old, *new;
    bool mixed; // ranks of one group disagree about `high`
} merge_participant;

static void finish_merge(mlt_agreement *agreement)
{
    const mlt_comm_shared *old = ((merge_participant *)agreement->participants)->old->shared;
    int high[2] = {-1, -1};
    bool mixed = false;
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(agreement, i));) {
        int side = i->order >= old->group[0]->size, told;
        memcpy(&told, mlt_agreement_item_data(i), sizeof told);
        mixed |= high[side] >= 0 && high[side] != told;
        high[side] = told;
    }
    bool turned = high[0] > high[1]; // the second group comes first
    mlt_comm_shared *shared = NULL;
    if (agreement->context && !mixed)
        shared = mlt_comm_shared_new(mlt_context_join(agreement->worker, agreement->context),
                                     mlt_map_union(old->group[turned], old->group[!turned]), NULL);
    else if (agreement->context)
        mlt_context_drop(mlt_context_join(agreement->worker, agreement->context));
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        merge_participant *participant = (merge_participant *)g;
        participant->mixed = mixed;
        int32_t before = participant->old->side == (turned ? 0 : 1) ? old->group[turned]->size : 0;
        if (shared)
            participant->new =
                mlt_comm_new(g->rank, shared, 0, before + participant->old->rank, participant->old);
    }
}

int mlt_mpi_Intercomm_merge(mlt_rank *me, mlt_comm *intercomm, int high, MPI_Comm *newintracomm)
{
    if (!intercomm->inter)
        return mlt_mpi_raise(me, intercomm, me->fn, MPI_ERR_COMM,
                             "argument intercomm is %s, but should be an intercommunicator",
                             mlt_comm_name(me, intercomm));
    merge_participant g = {.old = intercomm};
    int mine = high != 0;
    mlt_comm_meet(intercomm, &g.participant, true, finish_merge, &mine, sizeof mine);
    if (g.mixed)
        return mlt_mpi_raise(me, intercomm, me->fn, MPI_ERR_ARG,
                             "argument high is %d here, but differs between ranks of one group; it "
                             "should be the same for all of them",
                             high);
    if (!g.new)
        return mlt_comm_no_context(me, intercomm);
    *newintracomm = (MPI_Comm)g.new;
    return MPI_SUCCESS;
}
