// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/coll/reduce_to.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "coll/alg/reduce_to.h"
#include "mpi/coll/coll.h"
#include "mpi/coll/op.h"
#include "mpi/comm/group.h"
#include "mpi/comm/shared.h"
#include "mpi/error/error.h"
#include "mpi/handle.h"
#include "mpi/settings.h"

// Two each: ordinary, persistent.
enum { CONTEXTS = (MLT_CONTEXT_REDUCE_TO_LAST - MLT_CONTEXT_REDUCE_TO + 1) / 2 };

// A pair of sets. Ranks of the schedule are its members, in the order of the communicator.
typedef struct pair {
    struct pair *next;
    mlt_map *contributors, *receivers; // as they were given first
    uint64_t hash;
    uint32_t size;
    int32_t *ranks;                  // [size] members, in the communicator
    uint8_t *contributes, *receives; // [size]
    bool gives, gets;                // this rank
    mlt_map *world;                  // of the members
    mlt_team *team;
    uint32_t calls, fixed_calls;
} pair;

struct mlt_reduce_tos {
    pair *first;        // the one used last first
    uint32_t ranks;     // of the communicator
    uint32_t *in, *out; // [ranks] edges of the persistent ones; NULL: there are none
};

static void pair_free(pair *p)
{
    mlt_team_free(p->team);
    mlt_map_drop(p->world);
    mlt_map_drop(p->contributors);
    mlt_map_drop(p->receivers);
    free(p->ranks);
    free(p->contributes);
    free(p->receives);
    free(p);
}

void mlt_reduce_tos_free(struct mlt_reduce_tos *all)
{
    if (!all)
        return;
    for (pair *p = all->first, *next; p; p = next) {
        next = p->next;
        pair_free(p);
    }
    free(all->in);
    free(all->out);
    free(all);
}

void mlt_reduce_tos_each(struct mlt_reduce_tos *all, void (*tell)(mlt_team *team))
{
    for (pair *p = all ? all->first : NULL; p; p = p->next)
        tell(p->team);
}

// ---- sets

// The ranks of a group in the communicator, ascending; the caller frees them. NULL: one is none,
// raised.
static int32_t *ranks_of(mlt_rank *me, mlt_comm *comm, const mlt_map *group, const char *name,
                         int *code)
{
    int32_t *ranks = mlt_xcalloc((size_t)group->size, sizeof *ranks);
    for (int32_t i = 0; i < group->size; i++) {
        ranks[i] = mlt_map_rank(mlt_comm_group(comm), mlt_map_world(group, i));
        if (ranks[i] >= 0)
            continue;
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP,
                              "argument %s has rank %d of MPI_COMM_WORLD, which is not in %s", name,
                              mlt_map_world(group, i), mlt_comm_name(me, comm));
        free(ranks);
        return NULL;
    }
    qsort(ranks, (size_t)group->size, sizeof *ranks, mlt_map_by_rank);
    return ranks;
}

static bool has(const int32_t *ranks, int32_t count, int32_t rank)
{
    return bsearch(&rank, ranks, (size_t)count, sizeof rank, mlt_map_by_rank) != NULL;
}

// Members and what they do, from two ascending lists.
static void reduce_to_join(pair *p, const int32_t *from, int32_t froms, const int32_t *to,
                           int32_t tos)
{
    uint32_t n = 0;
    p->ranks = mlt_xcalloc((size_t)froms + (size_t)tos, sizeof *p->ranks);
    p->contributes = mlt_xcalloc((size_t)froms + (size_t)tos, 1);
    p->receives = mlt_xcalloc((size_t)froms + (size_t)tos, 1);
    for (int32_t f = 0, t = 0; f < froms || t < tos; n++) {
        bool gives = f < froms && (t == tos || from[f] <= to[t]);
        bool gets = t < tos && (f == froms || to[t] <= from[f]);
        p->ranks[n] = gives ? from[f] : to[t];
        p->contributes[n] = gives;
        p->receives[n] = gets;
        f += gives;
        t += gets;
    }
    p->size = n;
}

static pair *reduce_to_pair_new(mlt_rank *me, mlt_comm *comm, mlt_map *contributors,
                                mlt_map *receivers, int *code)
{
    int32_t *from = ranks_of(me, comm, contributors, "contributors", code);
    if (!from)
        return NULL;
    int32_t *to = ranks_of(me, comm, receivers, "receivers", code);
    if (!to) {
        free(from);
        return NULL;
    }
    pair *p = mlt_xcalloc(1, sizeof *p);
    p->contributors = mlt_map_hold(contributors);
    p->receivers = mlt_map_hold(receivers);
    reduce_to_join(p, from, contributors->size, to, receivers->size);
    p->gives = has(from, contributors->size, comm->rank);
    p->gets = has(to, receivers->size, comm->rank);
    p->hash = mlt_comm_hash(comm->context, p->ranks, p->size * sizeof *p->ranks);
    p->hash = mlt_comm_hash(p->hash, p->contributes, p->size);
    p->hash = mlt_comm_hash(p->hash, p->receives, p->size);
    free(from);
    free(to);
    return p;
}

// ---- teams

// Of a rank that is no member: a team of its own, in which nothing is done.
static void make_team(mlt_rank *me, mlt_comm *comm, pair *p)
{
    bool member = p->gives || p->gets;
    uint32_t self = 0;
    int32_t *world = mlt_xcalloc(p->size, sizeof *world);
    for (uint32_t i = 0; i < p->size; i++) {
        world[i] = mlt_comm_world_rank(comm, p->ranks[i]);
        if (p->ranks[i] == comm->rank)
            self = i;
    }
    p->world = mlt_maps_get(&mlt_mpi_worker_of(me)->maps, world, (int32_t)p->size);
    free(world);
    mlt_team_facts f = {
        .ranks = member ? p->size : 1,
        .workers = member ? p->size : 1,
        .place = self,
        .contiguous = true,
        .flat = true,
    };
    mlt_comm_team_facts(comm, &f);
    f.ordinary = (mlt_run_place){
        .rank = me,
        .context = MLT_CONTEXT_REDUCE_TO + 2 * (uint32_t)(p->hash % CONTEXTS),
        .self = (int32_t)self,
        .world = mlt_map_member,
        .group = p->world,
    };
    f.fixed = f.ordinary;
    f.fixed.context++;
    p->team = mlt_team_new(&f);
}

static bool same_sets(const pair *a, const pair *b)
{
    return a->hash == b->hash && a->size == b->size &&
           memcmp(a->ranks, b->ranks, a->size * sizeof *a->ranks) == 0 &&
           memcmp(a->contributes, b->contributes, a->size) == 0 &&
           memcmp(a->receives, b->receives, a->size) == 0;
}

static struct mlt_reduce_tos *all_of(mlt_comm *comm)
{
    mlt_comm_extra *extra = mlt_comm_extra_of(comm);
    if (!extra->reduce_to) {
        extra->reduce_to = mlt_xcalloc(1, sizeof *extra->reduce_to);
        extra->reduce_to->ranks = (uint32_t)comm->size;
    }
    return extra->reduce_to;
}

static void to_front(struct mlt_reduce_tos *all, pair *p, pair *before)
{
    if (!before)
        return;
    before->next = p->next;
    p->next = all->first;
    all->first = p;
}

// The pair that has the sets of `new`, which is freed, or `new` itself. NULL: the hash of another
// one is the same, raised.
static pair *reduce_to_keep(mlt_rank *me, mlt_comm *comm, struct mlt_reduce_tos *all, pair *new,
                            int *code)
{
    for (pair *p = all->first; p; p = p->next) {
        bool same = same_sets(p, new);
        if (!same && p->hash % CONTEXTS != new->hash % CONTEXTS)
            continue;
        pair_free(new);
        if (same)
            return p;
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_OTHER,
                              "the sets have the same hash as two others of %s; use a duplicate of "
                              "the communicator",
                              mlt_comm_name(me, comm));
        return NULL;
    }
    make_team(me, comm, new);
    new->next = all->first;
    all->first = new;
    return new;
}

// The pair of these groups; NULL: there is none, raised.
static pair *reduce_to_find(mlt_rank *me, mlt_comm *comm, MPI_Group contributors,
                            MPI_Group receivers, int *code)
{
    const mlt_group *from = mlt_group_of(me, contributors), *to = mlt_group_of(me, receivers);
    if (MLT_UNLIKELY(!from || !to)) {
        *code = mlt_group_bad(me, comm, from ? "receivers" : "contributors",
                              from ? receivers : contributors);
        return NULL;
    }
    struct mlt_reduce_tos *all = all_of(comm);
    for (pair *p = all->first, *before = NULL; p; before = p, p = p->next)
        if (mlt_map_equal(p->contributors, from->map) && mlt_map_equal(p->receivers, to->map)) {
            to_front(all, p, before);
            return p;
        }
    if (!from->map->size || !to->map->size) {
        *code = mlt_mpi_raise(me, comm, me->fn, MPI_ERR_GROUP, "argument %s is an empty group",
                              from->map->size ? "receivers" : "contributors");
        return NULL;
    }
    pair *new = reduce_to_pair_new(me, comm, from->map, to->map, code);
    return new ? reduce_to_keep(me, comm, all, new, code) : NULL;
}

// ---- load

// How loaded the members are: what all of them know alike. It is the key of the schedule.
typedef struct duty {
    const pair *pair;
    mlt_reduce_to_load load;
    bool crowded;     // workers share cores
    uint32_t edges[]; // in, out
} duty;

static duty *duty_new(mlt_rank *me, const pair *p)
{
    duty *plan = mlt_coll_memory_take(me, sizeof *plan + 2ull * p->size * sizeof *plan->edges);
    plan->pair = p;
    plan->crowded = p->team->crowded;
    plan->load = (mlt_reduce_to_load){p->size, plan->edges, plan->edges + p->size};
    return plan;
}

// Of calls that only the members know of: the sets decide who has some load already, so that
// reductions between different sets choose different ranks for their work.
static void load_by_sets(duty *plan)
{
    const pair *p = plan->pair;
    for (uint32_t i = 0; i < p->size; i++) {
        uint64_t mixed = (p->hash ^ (uint32_t)p->ranks[i]) * UINT64_C(0x9e3779b97f4a7c15);
        plan->load.in[i] = mixed >> 63;
        plan->load.out[i] = mixed >> 62 & 1;
    }
}

// Of persistent ones: what all that were made so far do; this one's edges are added.
static void load_by_others(struct mlt_reduce_tos *all, duty *plan)
{
    const pair *p = plan->pair;
    if (!all->in) {
        all->in = mlt_xcalloc(all->ranks, sizeof *all->in);
        all->out = mlt_xcalloc(all->ranks, sizeof *all->out);
    }
    mlt_reduce_to_load *after = mlt_reduce_to_load_new(p->size);
    for (uint32_t i = 0; i < p->size; i++) {
        plan->load.in[i] = after->in[i] = all->in[p->ranks[i]];
        plan->load.out[i] = after->out[i] = all->out[p->ranks[i]];
    }
    mlt_coll_shape shape = {
        .ranks = p->size, .contributes = p->contributes, .receives = p->receives};
    mlt_reduce_to_load_add(after, &shape);
    for (uint32_t i = 0; i < p->size; i++) {
        all->in[p->ranks[i]] = after->in[i];
        all->out[p->ranks[i]] = after->out[i];
    }
    mlt_reduce_to_load_free(after);
}

// ---- calls

static void reduce_to_emit(const mlt_coll_what *what, mlt_goal_program *program, uint32_t rank)
{
    const duty *plan = what->custom;
    const pair *p = plan->pair;
    if (!p->gives && !p->gets)
        return;
    char why[128];
    bool ordered = !what->op->commutes || mlt_mpi_settings.reproducible;
    bool few = plan->crowded && p->size <= 64 && what->count * what->element <= 8192;
    const char *name = mlt_mpi_settings.reproducible ? "reduce_to.binomial"
                       : few                         ? "reduce_to.linear" // few switches
                       : ordered                     ? "reduce_to.binomial"
                                                     : "reduce_to.aspen";
    const mlt_coll_alg *alg = mlt_coll_find(name, why, sizeof why);
    if (!alg)
        mlt_fatal("%s", why);
    mlt_coll_shape shape = {
        .ranks = p->size,
        .count = what->count,
        .op = what->op->op,
        .type = what->op->op == MLT_OPS ? MLT_OP_UINT8 : what->op->type,
        .element = what->element,
        .contributes = p->contributes,
        .receives = p->receives,
        .user = &plan->load,
    };
    mlt_coll_emit(alg, &shape, program, rank);
}

// What the user gives, resolved.
typedef struct arguments {
    const void *sendbuf;
    void *recvbuf;
    MPI_Count count;
    const mlt_type *type;
    mlt_comm *comm;
    mlt_coll_op op;
    void *op_object;
    pair *pair;
} arguments;

static int reduce_to_check_buffers(mlt_rank *me, const arguments *a)
{
    const pair *p = a->pair;
    int code = MPI_SUCCESS;
    bool in_place = p->gives && mlt_coll_in_place(a->sendbuf);
    if (in_place && !p->gets)
        return mlt_coll_bad_in_place(me, a->comm, "sendbuf of a rank that does not receive");
    if (p->gives && !in_place)
        code = mlt_coll_check_data(me, a->comm,
                                   &(mlt_coll_data){"send", a->sendbuf, a->count, a->type});
    if (code == MPI_SUCCESS && p->gets)
        code = mlt_coll_check_data(me, a->comm,
                                   &(mlt_coll_data){"recv", a->recvbuf, a->count, a->type});
    return code;
}

static int reduce_to_check(mlt_rank *me, arguments *a, MPI_Datatype datatype, MPI_Op op,
                           MPI_Comm comm, const mlt_how *how)
{
    int code = MPI_SUCCESS;
    a->comm = mlt_comm_of(me, comm);
    if (!a->comm)
        return mlt_bad_handle(me, NULL, me->fn, MPI_ERR_COMM, "comm", "communicator",
                              (uintptr_t)comm);
    if (a->comm->inter)
        return mlt_mpi_raise(me, a->comm, me->fn, MPI_ERR_COMM,
                             "%s is an intercommunicator, but should be an intracommunicator",
                             mlt_comm_name(me, a->comm));
    code = mlt_coll_check_request(me, a->comm, how);
    if (code != MPI_SUCCESS)
        return code;
    a->type = mlt_type_mine(me, datatype);
    if (!a->type)
        return mlt_bad_type(me, a->comm, me->fn, "datatype", datatype);
    MPI_Count count = a->count < 0 ? a->count : 0;
    code = mlt_coll_check_data(me, a->comm, &(mlt_coll_data){"", NULL, count, a->type});
    if (code != MPI_SUCCESS || !mlt_op_of(me, a->comm, op, a->type, &a->op, &code))
        return code;
    a->op_object = mlt_op_object(op);
    mlt_comm_shared_of(a->comm);
    return MPI_SUCCESS;
}

static int reduce_to_go(mlt_rank *me, const arguments *a, const mlt_how *how)
{
    pair *p = a->pair;
    bool persistent = mlt_how_is_persistent(how);
    duty *plan = duty_new(me, p);
    if (persistent)
        load_by_others(all_of(a->comm), plan);
    else
        load_by_sets(plan);
    mlt_coll_side side = {
        .buf = a->recvbuf, .type = a->type, .blocks = 1, .count = (uint64_t)a->count};
    bool in_place = p->gives && mlt_coll_in_place(a->sendbuf);
    mlt_coll_job job = {
        .comm = a->comm,
        .op_object = a->op_object,
        .reads_out = in_place,
        .writes_out = true,
        .layout = !a->op.direct,
        .copies_in = in_place,
        .memory = plan,
        .what = {.collective = MLT_COLL_REDUCE_TO,
                 .kind = mlt_type_kind(a->type),
                 .kind_sent = mlt_type_kind(a->type),
                 .element = a->op.element,
                 .count = (uint64_t)a->count,
                 .emit = reduce_to_emit,
                 .custom = plan,
                 .key = plan->edges,
                 .key_bytes = 2ull * p->size * sizeof *plan->edges},
    };
    mlt_coll_op_copy(&job.op, &a->op);
    job.what.op = &job.op;
    if (p->gets)
        job.out = side;
    side.buf = (void *)(uintptr_t)a->sendbuf;
    if (p->gives && !in_place)
        job.in = side;
    return mlt_coll_go_on(me, &job, p->team, persistent ? p->fixed_calls++ : p->calls++, how);
}

int mlt_coll_reduce_to(mlt_rank *me, const void *sendbuf, void *recvbuf, MPI_Count count,
                       MPI_Datatype datatype, MPI_Op op, MPI_Group contributors,
                       MPI_Group receivers, MPI_Comm comm, const mlt_how *how)
{
    arguments a = {.sendbuf = sendbuf, .recvbuf = recvbuf, .count = count};
    int code = reduce_to_check(me, &a, datatype, op, comm, how);
    if (code != MPI_SUCCESS)
        return code;
    a.pair = reduce_to_find(me, a.comm, contributors, receivers, &code);
    if (!a.pair)
        return code;
    if (!a.pair->gives && !a.pair->gets && !mlt_how_is_persistent(how))
        return mlt_mpi_raise(me, a.comm, me->fn, MPI_ERR_GROUP,
                             "the caller, rank %d of %s, neither contributes nor receives",
                             a.comm->rank, mlt_comm_name(me, a.comm));
    code = reduce_to_check_buffers(me, &a);
    return code == MPI_SUCCESS ? reduce_to_go(me, &a, how) : code;
}
