// SPDX-License-Identifier: BSD-3-Clause
// Communicators of a part of the ranks: MPI_Comm_split, create, create_group, create_from_group.
//
// Split: each rank tells its colour and key, each worker sorts what all ranks told, and makes the
// communicators that its own ranks are in, with one map and one shared part for all of them. A rank
// that lets the hardware decide tells its instances instead of a colour; one without a colour tells
// nothing, whatever the others do, so that all of them meet in one exchange.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mpi/coll/change.h"
#include "mpi/comm/group.h"
#include "mpi/comm/shared.h"
#include "mpi/error/errhandler.h"
#include "mpi/error/error.h"
#include "mpi/info/info.h"
#include "mpi_bodies.h"

typedef struct choice {
    int32_t key;
    int32_t color[]; // one, or MLT_SPLIT_INSTANCES
} choice;

enum { NO_COLOR = -1, ONE_COLOR = sizeof(choice) + sizeof(int32_t) };

typedef struct split_participant {
    mlt_participant participant;
    mlt_comm *old, *new;
    int divided; // which of the instances became the colour
    bool no_context;
} split_participant;

// A rank that takes part, in the order of the new communicators.
typedef struct member {
    int32_t color;
    int32_t side; // of the old intercommunicator
    int32_t key;
    int32_t order;
} member;

static int split_compare(const void *left, const void *right)
{
    const member *a = left, *b = right;
    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->side != b->side)
        return a->side < b->side ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

// What a worker knows while it makes the new communicators.
typedef struct splitting {
    mlt_agreement *agreement;
    mlt_map *group[2]; // of the old communicator
    member *members;
    uint64_t count;
    split_participant **here; // [ranks] by order: the participant if it is of this worker
    int32_t *worlds;          // room for a group
    mlt_context *id;
} splitting;

// Which of the instances divides the ranks: the first of which not all ranks have the same, though
// some rank has one. NO_COLOR: none does, or the ranks gave colours.
static int find_divider(const mlt_agreement *agreement)
{
    bool any[MLT_SPLIT_INSTANCES] = {false}, differ[MLT_SPLIT_INSTANCES] = {false};
    const choice *first = NULL;
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(agreement, i));) {
        const choice *c = mlt_agreement_item_data(i);
        if (i->bytes == ONE_COLOR)
            continue;
        first = first ? first : c;
        for (int t = 0; t < MLT_SPLIT_INSTANCES; t++) {
            any[t] |= c->color[t] >= 0;
            differ[t] |= c->color[t] != first->color[t];
        }
    }
    for (int t = 0; t < MLT_SPLIT_INSTANCES; t++)
        if (any[t] && differ[t])
            return t;
    return NO_COLOR;
}

static int32_t color_of(const mlt_agreement_item *item, int divider)
{
    const choice *c = mlt_agreement_item_data(item);
    if (item->bytes == ONE_COLOR)
        return c->color[0];
    return divider >= 0 ? c->color[divider] : NO_COLOR;
}

static void read_choices(splitting *s)
{
    int divider = find_divider(s->agreement);
    uint64_t ranks = (uint64_t)s->agreement->place.members->ranks;
    int32_t first = s->group[0]->size;
    bool sorted = true;
    s->members = mlt_xrealloc(NULL, ranks + 1, sizeof *s->members);
    for (const mlt_agreement_item *i = NULL; (i = mlt_agreement_next(s->agreement, i));) {
        int32_t color = color_of(i, divider);
        if (color < 0)
            continue;
        const choice *c = mlt_agreement_item_data(i);
        member *m = &s->members[s->count++];
        *m = (member){color, i->order >= first, c->key, i->order};
        sorted = sorted && (s->count == 1 || split_compare(m - 1, m) < 0);
    }
    if (!sorted)
        qsort(s->members, s->count, sizeof *s->members, split_compare);
    s->here = mlt_xcalloc(ranks + 1, sizeof(split_participant *));
    for (mlt_participant *g = s->agreement->participants; g; g = g->next) {
        s->here[g->order] = (split_participant *)g;
        s->here[g->order]->divided = divider;
    }
    s->worlds = mlt_xrealloc(NULL, ranks + 1, sizeof *s->worlds);
}

static mlt_map *map_of(const splitting *s, const member *from, const member *to)
{
    int32_t first = s->group[0]->size;
    for (const member *m = from; m < to; m++)
        s->worlds[m - from] =
            mlt_map_world(s->group[m->side], m->side ? m->order - first : m->order);
    return mlt_map_new(s->worlds, (int32_t)(to - from));
}

// The members [from, to) are one new communicator; [middle, to) are of the second group.
static void make_one(const splitting *s, const member *from, const member *middle, const member *to)
{
    bool inter = s->group[1] != NULL, any = false;
    if (inter && (from == middle || middle == to))
        return; // nobody on the other side: MPI_COMM_NULL
    for (const member *m = from; m < to && !any; m++)
        any = s->here[m->order] != NULL;
    if (!any)
        return;
    mlt_comm_shared *shared = mlt_comm_shared_new(mlt_context_hold(s->id), map_of(s, from, middle),
                                                  inter ? map_of(s, middle, to) : NULL);
    for (const member *m = from; m < to; m++) {
        split_participant *g = s->here[m->order];
        if (g)
            g->new = mlt_comm_new(g->participant.rank, shared, m->side,
                                  (int32_t)(m - (m->side ? middle : from)), g->old);
    }
}

static void finish_split(mlt_agreement *agreement)
{
    const mlt_comm_shared *old = ((split_participant *)agreement->participants)->old->shared;
    splitting s = {.agreement = agreement, .group = {old->group[0], old->group[1]}};
    if (!agreement->context) {
        for (mlt_participant *g = agreement->participants; g; g = g->next)
            ((split_participant *)g)->no_context = true;
        return;
    }
    s.id = mlt_context_join(agreement->worker, agreement->context);
    read_choices(&s);
    for (uint64_t i = 0, end; i < s.count; i = end) {
        uint64_t middle = i;
        for (end = i; end < s.count && s.members[end].color == s.members[i].color; end++)
            middle += s.members[end].side == 0;
        make_one(&s, &s.members[i], &s.members[middle], &s.members[end]);
    }
    mlt_context_drop(s.id);
    free(s.members);
    free(s.here);
    free(s.worlds);
}

static int split(mlt_rank *me, mlt_comm *comm, const int *words, uint64_t bytes, int *divided,
                 mlt_comm **out)
{
    split_participant s = {.old = comm};
    mlt_comm_meet(comm, &s.participant, true, finish_split, words, bytes);
    *out = s.new;
    *divided = s.divided;
    return s.no_context ? mlt_comm_no_context(me, comm) : MPI_SUCCESS;
}

int mlt_comm_split(mlt_rank *me, mlt_comm *comm, int color, int key, mlt_comm **out)
{
    int mine[] = {key, color}, divided;
    return split(me, comm, mine, color == MPI_UNDEFINED ? 0 : sizeof mine, &divided, out);
}

int mlt_comm_split_by(mlt_rank *me, mlt_comm *comm, const int instances[MLT_SPLIT_INSTANCES],
                      int key, int *divided, mlt_comm **out)
{
    int mine[1 + MLT_SPLIT_INSTANCES] = {key};
    memcpy(mine + 1, instances, MLT_SPLIT_INSTANCES * sizeof *instances);
    return split(me, comm, mine, sizeof mine, divided, out);
}

int mlt_mpi_Comm_split(mlt_rank *me, mlt_comm *comm, int color, int key, MPI_Comm *newcomm)
{
    if (color < 0 && color != MPI_UNDEFINED)
        return mlt_bad_value(me, comm, me->fn, MPI_ERR_ARG, "color", color,
                             "at least 0 or MPI_UNDEFINED");
    mlt_comm *new;
    int code = mlt_comm_split(me, comm, color, key, &new);
    *newcomm = new ? (MPI_Comm) new : MPI_COMM_NULL;
    return code;
}

// ---- create

static int bad_member(mlt_rank *me, mlt_comm *comm, int rank, const mlt_group *group)
{
    return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP,
                         "rank %d of argument group is rank %d of MPI_COMM_WORLD, which is not in "
                         "%s: the group should be a part of the communicator's",
                         rank, mlt_map_world(group->map, rank), mlt_comm_name(me, comm));
}

// Every member of the group is a rank of comm's own group.
static int check_members(mlt_rank *me, mlt_comm *comm, const mlt_group *group)
{
    mlt_comm_shared_of(comm);
    mlt_map *all = mlt_comm_group(comm), *part = group->map;
    if (all->kind == MLT_MAP_LINEAR && part->kind != MLT_MAP_DENSE && part->size > 2) {
        // A rule inside a rule: its ends, and one step, tell.
        int32_t step = mlt_map_world(part, 1) - mlt_map_world(part, 0);
        if (part->kind == MLT_MAP_LINEAR && step % all->stride == 0 &&
            mlt_map_rank(all, mlt_map_world(part, 0)) >= 0 &&
            mlt_map_rank(all, mlt_map_world(part, part->size - 1)) >= 0)
            return MPI_SUCCESS;
    }
    for (int32_t r = 0; r < part->size; r++)
        if (mlt_map_rank(all, mlt_map_world(part, r)) < 0)
            return bad_member(me, comm, r, group);
    return MPI_SUCCESS;
}

// Disjoint groups may be given by different ranks: each is told from the others by its first
// member. The groups of an intercommunicator's two sides belong together. A member that is no rank
// of comm is found to be missing afterwards. So no rank has to look at all members before the
// split, and none waits in vain for a rank that looked and gave up.
int mlt_mpi_Comm_create(mlt_rank *me, mlt_comm *comm, MPI_Group handle, MPI_Comm *newcomm)
{
    mlt_group *group = mlt_group_of(me, handle);
    if (!group)
        return mlt_group_bad(me, comm, "group", handle);
    *newcomm = MPI_COMM_NULL;
    bool inside = group->rank >= 0;
    int color = !inside ? MPI_UNDEFINED : comm->inter ? 0 : mlt_map_world(group->map, 0);
    if (inside && !comm->inter && mlt_comm_shared_of(comm)->foreign) {
        // Jobs number ranks differently.
        color = mlt_map_rank(mlt_comm_group(comm), color);
        color = color < 0 ? INT_MAX : color;
    }
    mlt_comm *new;
    int code = mlt_comm_split(me, comm, color, inside ? group->rank : 0, &new);
    if (code != MPI_SUCCESS || !new)
        return code;
    if (new->size != group->map->size) {
        int got = new->size;
        mlt_comm_drop(new);
        if ((code = check_members(me, comm, group)) != MPI_SUCCESS)
            return code;
        return mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP,
                             "argument group has %d ranks here, but %d ranks gave a group that "
                             "begins with the same rank: all members should give the same group",
                             group->map->size, got);
    }
    *newcomm = (MPI_Comm) new;
    return MPI_SUCCESS;
}

// ---- among the members only

typedef struct group_participant {
    mlt_participant participant;
    mlt_map *map;
    const mlt_comm *old; // NULL: none
    mlt_comm *new;
} group_participant;

static void finish_group(mlt_agreement *agreement)
{
    if (!agreement->context)
        return;
    mlt_map *map = ((group_participant *)agreement->participants)->map;
    mlt_comm_shared *shared = mlt_comm_shared_new(
        mlt_context_join(agreement->worker, agreement->context), mlt_map_hold(map), NULL);
    shared->members = mlt_members_hold(agreement->place.members);
    for (mlt_participant *g = agreement->participants; g; g = g->next) {
        group_participant *participant = (group_participant *)g;
        participant->new = mlt_comm_new(g->rank, shared, 0, g->order, participant->old);
    }
}

// By the ranks in the communicator: jobs number those of other jobs differently.
static uint64_t hash_in(const mlt_comm *comm, const mlt_group *group)
{
    uint64_t hash = 0;
    for (int32_t r = 0; r < group->map->size; r++) {
        int32_t rank = mlt_map_rank(mlt_comm_group(comm), mlt_map_world(group->map, r));
        hash = mlt_comm_hash(hash, &rank, sizeof rank);
    }
    return hash;
}

int mlt_mpi_Comm_create_group(mlt_rank *me, mlt_comm *comm, MPI_Group handle, int tag,
                              MPI_Comm *newcomm)
{
    mlt_group *group = mlt_group_of(me, handle);
    if (!group)
        return mlt_group_bad(me, comm, "group", handle);
    if (comm->inter)
        return mlt_comm_bad_inter(me, comm, "comm");
    *newcomm = MPI_COMM_NULL;
    if (group->rank < 0)
        return MPI_SUCCESS;
    group_participant g = {
        .participant = {.rank = me, .order = group->rank}, .map = group->map, .old = comm};
    mlt_comm_shared_of(comm);
    uint64_t key = comm->shared->foreign ? hash_in(comm, group) : mlt_map_hash(0, group->map);
    mlt_agreement_place place = mlt_group_place(
        me, group->map, NULL, comm->context + MLT_CONTEXT_PART, tag, key, true, finish_group);
    int code = mlt_agreement_is_open(&place) ? MPI_SUCCESS : check_members(me, comm, group);
    if (code != MPI_SUCCESS)
        return code;
    mlt_agreement_come(&g.participant, &place, NULL, 0);
    mlt_agreement_wait(&g.participant, place.context);
    if (!g.new)
        return mlt_comm_no_context(me, comm);
    *newcomm = (MPI_Comm)g.new;
    return MPI_SUCCESS;
}

// ---- without a communicator

int mlt_comm_furnish(mlt_rank *me, mlt_comm *comm, const mlt_group *group, MPI_Info info,
                     MPI_Errhandler errhandler)
{
    mlt_errhandler_hold(errhandler);
    mlt_errhandler_drop(comm->errhandler);
    comm->errhandler = errhandler;
    struct mlt_info *hints = info == MPI_INFO_NULL ? NULL : mlt_comm_hints(mlt_info_of(info));
    int code = mlt_coll_info_check(me, comm, hints);
    if (code != MPI_SUCCESS) {
        mlt_info_free(hints);
        (void)mlt_comm_free(me, comm); // which has no attributes yet
        return code;
    }
    if (hints)
        mlt_comm_extra_of(comm)->info = hints;
    if (group->session)
        mlt_comm_extra_of(comm)->session = group->session;
    return MPI_SUCCESS;
}

int mlt_comm_check_from_groups(mlt_rank *me, const char *stringtag, MPI_Info info,
                               MPI_Errhandler errhandler, mlt_comm *nobody)
{
    const mlt_errhandler *e = mlt_errhandler_of(errhandler);
    *nobody = (mlt_comm){.errhandler = errhandler, .owner = me};
    if (!mlt_errhandler_is_predefined(errhandler) && !(e && e->kind == MLT_ERRHANDLER_COMM))
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_ERRHANDLER, "errhandler",
                              "error handler for communicators", (uintptr_t)errhandler);
    if (strlen(stringtag) >= MPI_MAX_STRINGTAG_LEN)
        return mlt_mpi_raise(me, nobody, me->fn, MPI_ERR_ARG,
                             "argument stringtag has %zu characters, but should have fewer than %d",
                             strlen(stringtag), MPI_MAX_STRINGTAG_LEN);
    if (info != MPI_INFO_NULL && !mlt_info_of(info))
        return mlt_bad_info(me, nobody, me->fn, info);
    return MPI_SUCCESS;
}

int mlt_mpi_Comm_create_from_group(mlt_rank *me, MPI_Group handle, const char *stringtag,
                                   MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    mlt_comm nobody;
    int code = mlt_comm_check_from_groups(me, stringtag, info, errhandler, &nobody);
    if (code != MPI_SUCCESS)
        return code;
    mlt_group *group = mlt_group_of(me, handle);
    if (!group)
        return mlt_group_bad(me, &nobody, "group", handle);
    *newcomm = MPI_COMM_NULL;
    if (group->map->size == 0)
        return MPI_SUCCESS;
    if (group->rank < 0)
        return mlt_mpi_raise(me, &nobody, me->fn, MPI_ERR_GROUP,
                             "argument group has %d ranks but not the caller, rank %d of the job: "
                             "only members call it",
                             group->map->size, me->world);
    if (mlt_group_is_foreign(me, group))
        return mlt_group_bad_foreign(me, &nobody, "group");
    uint64_t key = mlt_map_hash(mlt_comm_hash(1, stringtag, strlen(stringtag)), group->map);
    group_participant g = {.participant = {.rank = me, .order = group->rank}, .map = group->map};
    mlt_agreement_place place = mlt_group_place(me, group->map, NULL, MLT_CONTEXT_GROUPS,
                                                (int)(key >> 33), key, true, finish_group);
    mlt_agreement_come(&g.participant, &place, NULL, 0);
    mlt_agreement_wait(&g.participant, place.context);
    if (!g.new)
        return mlt_comm_no_context(me, &nobody);
    *newcomm = (MPI_Comm)g.new;
    return mlt_comm_furnish(me, g.new, group, info, errhandler);
}
