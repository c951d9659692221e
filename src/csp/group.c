// SPDX-License-Identifier: BSD-3-Clause
// The operations of groups: what a member brings becomes an arrival at the team, and it parks until
// the last one has come.
#include "csp/group.h"

#include <limits.h>
#include <string.h>

#include "base/export.h"
#include "base/log.h"
#include "coll/alg/op.h"
#include "coll/walk.h"
#include "csp/intercept.h"
#include "csp/wait.h"
#include "type/op.h"

// ---- operators

// The ready-made ones, which are kernels of the type layer. exact: no bit depends on brackets.
#define OPS(X)                                                                                     \
    X(sum, SUM, int, INT32, true)                                                                  \
    X(sum, SUM, long, INT64, true)                                                                 \
    X(sum, SUM, double, FLOAT64, false)                                                            \
    X(max, MAX, int, INT32, true)                                                                  \
    X(max, MAX, long, INT64, true)                                                                 \
    X(max, MAX, double, FLOAT64, true)                                                             \
    X(min, MIN, int, INT32, true)                                                                  \
    X(min, MIN, long, INT64, true)                                                                 \
    X(min, MIN, double, FLOAT64, true)

_Static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(double) == 8, "kernels by size");

#define DEFINE(NAME, OP, TYPE, KIND, EXACT)                                                        \
    static void NAME##_##TYPE(void *into, const void *with, size_t count)                          \
    {                                                                                              \
        mlt_op_kernels[MLT_OP_##OP][MLT_OP_##KIND](into, with, count);                             \
    }                                                                                              \
    MLT_EXPORT const csp_op csp_##NAME##_##TYPE = {NAME##_##TYPE, sizeof(TYPE), true};
OPS(DEFINE)
#undef DEFINE

typedef struct ready_made {
    void (*combine)(void *into, const void *with, size_t count);
    mlt_op op;
    mlt_op_type type;
    bool exact;
} ready_made;

static const ready_made table[] = {
#define ROW(NAME, OP, TYPE, KIND, EXACT) {NAME##_##TYPE, MLT_OP_##OP, MLT_OP_##KIND, EXACT},
    OPS(ROW)
#undef ROW
};

static void op_of(const csp_op *op, mlt_coll_op *out)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const ready_made *r = &table[i];
        if (r->combine != op->combine || op->size != mlt_op_type_bytes[r->type] || !op->commutes)
            continue;
        mlt_op_kernel *kernel = mlt_op_kernels[r->op][r->type];
        *out = (mlt_coll_op){
            .op = r->op,
            .type = r->type,
            .element = (uint32_t)op->size,
            .commutes = true,
            .exact = r->exact,
            .direct = true,
            .kernel = kernel,
            .same = (uintptr_t)kernel,
        };
        return;
    }
    mlt_coll_op_plain(out, op->combine, op, (uint32_t)op->size, op->commutes);
}

// ---- checks

static MLT_COLD void bad_member(const csp_group *g, const char *call, int me)
{
    if (!g->members)
        mlt_csp_fault(call, "me is %d, but group '%s' has no members on this node", me, g->name);
    mlt_csp_fault(call, "me is %d, but the members of group '%s' on this node are %u to %u", me,
                  g->name, g->first, g->first + g->members - 1);
}

_Noreturn void mlt_csp_group_fault(const csp_group *g, const char *call)
{
    if (!g)
        mlt_csp_fault(call, "the group is NULL");
    if (!g->csp)
        mlt_csp_fault(call, "the group was freed already");
    mlt_csp_fault(call, "group '%s' belongs to another worker", g->name);
}

static inline mlt_csp *enter(const csp_group *g, const char *call, int me)
{
    mlt_csp *csp = mlt_csp_enter(call);
    if (MLT_UNLIKELY(!g) || MLT_UNLIKELY(g->csp != csp))
        mlt_csp_group_fault(g, call);
    if (MLT_UNLIKELY((uint32_t)me - g->first >= g->members))
        bad_member(g, call, me);
    return csp;
}

static inline void check_root(const csp_group *g, const char *call, int root)
{
    if (MLT_UNLIKELY(root < 0 || (uint32_t)root >= g->size))
        mlt_csp_fault(call, "root is %d, but group '%s' has %u members", root, g->name, g->size);
}

// Bytes of `count` pieces of so many.
static inline size_t check_total(const csp_group *g, const char *call, size_t bytes, size_t count)
{
    size_t total;
    if (MLT_UNLIKELY(__builtin_mul_overflow(bytes, count, &total)) ||
        MLT_UNLIKELY(total > SIZE_MAX >> 4))
        mlt_csp_fault(call, "%zu times %zu bytes in group '%s' are more than 60 bits can count",
                      count, bytes, g->name);
    return total;
}

static inline size_t check_op(const csp_group *g, const char *call, const csp_op *op, size_t count)
{
    if (MLT_UNLIKELY(!op) || MLT_UNLIKELY(!op->combine))
        mlt_csp_fault(call, "%s is NULL", op ? "op->combine" : "op");
    if (MLT_UNLIKELY(op->size == 0) || MLT_UNLIKELY(op->size > UINT32_MAX))
        mlt_csp_fault(call, "op->size is %zu", op->size);
    return check_total(g, call, op->size, count);
}

// ---- the way of all calls

static MLT_COLD void failed(const csp_group *g, const char *call, mlt_status status)
{
    const char *why = g->body->team->why;
    if (status == MLT_ERR_UNSUPPORTED)
        mlt_csp_fault(call, "group '%s': %s", g->name, why);
    mlt_csp_fault(call, "the members of group '%s' do not agree about the call: %s", g->name, why);
}

static inline csp_status group_meet(mlt_csp *csp, csp_group *g, const char *call, int me,
                                    const mlt_coll_what *what, const void *in, void *out)
{
    mlt_team *team = g->body->team;
    uint64_t number = g->calls[(uint32_t)me - g->first]++;
    g->inside++;
    mlt_status status =
        mlt_team_meet(team, number, (uint32_t)me - team->first, what, in, out, csp->sched->current);
    if (MLT_LIKELY(status == MLT_PENDING)) {
        mlt_csp_wait wait;
        mlt_fiber_park(csp->sched, mlt_csp_wait_for(&wait, call, MLT_CSP_GROUP, g, number));
        status = mlt_team_met(team, number);
    }
    g->inside--;
    if (MLT_UNLIKELY(status != MLT_OK))
        failed(g, call, status);
    return CSP_OK;
}

// Along the path that the job's rule book has for the team's calls (coll/path.h).
typedef struct along {
    mlt_req done; // of the walk
    mlt_sched *sched;
    mlt_fiber *waiting; // NULL: it does not
} along;

static void along_done(mlt_req *done)
{
    const along *a = mlt_container_of(done, along, done);
    if (a->waiting)
        mlt_fiber_wake(a->sched, a->waiting);
}

static MLT_COLD csp_status meet_along(mlt_csp *csp, csp_group *g, const char *call, int me,
                                      const mlt_coll_what *what, const void *in, void *out)
{
    mlt_team *team = g->body->team;
    uint64_t *calls = &g->calls[(uint32_t)me - g->first];
    uint32_t local = (uint32_t)me - team->first;
    bool checks = team->paths->checks; // with a call of its own
    mlt_walk_args args = {.team = team,
                          .level = checks ? team : NULL,
                          .check_number = checks ? (*calls)++ : 0,
                          .local = local,
                          .level_local = local,
                          .rank = (uint32_t)me,
                          .call = call};
    along a = {.sched = csp->sched};
    args.number = (*calls)++;
    mlt_req_init(&a.done, mlt_csp_rank(), MLT_REQ_OTHER);
    a.done.on_done = along_done;
    g->inside++;
    mlt_path_join(&args, what, in, out, &a.done);
    if (!a.done.done) {
        mlt_csp_wait wait;
        a.waiting = csp->sched->current;
        mlt_fiber_park(csp->sched, mlt_csp_wait_for(&wait, call, MLT_CSP_GROUP, g, args.number));
        mlt_assert(a.done.done);
    }
    g->inside--;
    if (MLT_UNLIKELY(a.done.status != MLT_OK))
        failed(g, call, a.done.status);
    return CSP_OK;
}

// Along the wrappers of its interceptor, then those of the path.
static MLT_COLD csp_status go_along(mlt_csp *csp, csp_group *g, const char *call, int me,
                                    const mlt_coll_what *what, const void *in, void *out)
{
    mlt_csp_walk walk;
    const mlt_intercept_event event = {
        .call = call, .peer = -1, .tag = -1, .bytes = what->count * what->element};
    g->inside++; // it is not freed meanwhile
    mlt_csp_intercept_begin(csp, &walk, MLT_INTERCEPT_CSP_GROUP, g->name, g->size, event);
    g->inside--;
    csp_status status = mlt_path_of(g->body->team, what)
                            ? meet_along(csp, g, call, me, what, in, out)
                            : group_meet(csp, g, call, me, what, in, out);
    mlt_csp_intercept_end(&walk, event.bytes);
    return status;
}

static inline csp_status go(mlt_csp *csp, csp_group *g, const char *call, int me,
                            const mlt_coll_what *what, const void *in, void *out)
{
    return MLT_UNLIKELY(g->wrapped) ? go_along(csp, g, call, me, what, in, out)
                                    : group_meet(csp, g, call, me, what, in, out);
}

// ---- operations

MLT_EXPORT int csp_group_size(const csp_group *group)
{
    if (!group || !group->csp)
        mlt_csp_group_fault(group, "csp_group_size");
    return (int)group->size;
}

MLT_EXPORT int csp_group_first(const csp_group *group)
{
    if (!group || !group->csp)
        mlt_csp_group_fault(group, "csp_group_first");
    return (int)group->first;
}

// What an operation needs. Whoever is not asked for a buffer may have any.
typedef enum group_who { NOBODY, ROOT, ALL } group_who;
typedef struct group_kind {
    const char *call;
    const char *out_name; // in messages
    uint8_t in, out;      // group_who has that buffer
    bool rooted;
    uint8_t pieces; // one for each member; 2: and each of them has as many
} group_kind;

static const group_kind kinds[] = {
    [MLT_COLL_BARRIER] = {"csp_group_barrier", "", NOBODY, NOBODY, false, 0},
    [MLT_COLL_BCAST] = {"csp_group_bcast", "data", NOBODY, ALL, true, 0},
    [MLT_COLL_REDUCE] = {"csp_group_reduce", "out", ALL, ROOT, true, 0},
    [MLT_COLL_ALLREDUCE] = {"csp_group_allreduce", "out", ALL, ALL, false, 0},
    [MLT_COLL_GATHER] = {"csp_group_gather", "out", ALL, ROOT, true, 1},
    [MLT_COLL_ALLGATHER] = {"csp_group_allgather", "out", ALL, ALL, false, 1},
    [MLT_COLL_SCATTER] = {"csp_group_scatter", "out", ROOT, ALL, true, 1},
    [MLT_COLL_ALLTOALL] = {"csp_group_alltoall", "out", ALL, ALL, false, 2},
};

// The buffer, if this member has one.
static inline void *group_buffer(group_who who, bool root, const void *buffer, const char *call,
                                 const char *name, size_t bytes)
{
    if (who == NOBODY || (who == ROOT && !root))
        return NULL;
    if (MLT_UNLIKELY(!buffer) && bytes)
        mlt_csp_fault(call, "%s is NULL", name);
    return (void *)buffer;
}

// count: of values, if there is an operator, else of bytes.
// Inline, so that each operation has only the checks that it needs.
static MLT_INLINE csp_status group_run(mlt_collective collective, csp_group *g, int me,
                                       const void *in, void *out, size_t count, const csp_op *op,
                                       int root)
{
    const group_kind *kind = &kinds[collective];
    const char *call = kind->call;
    mlt_csp *csp = enter(g, call, me);
    bool reduces = collective == MLT_COLL_REDUCE || collective == MLT_COLL_ALLREDUCE;
    mlt_coll_op how;
    mlt_coll_what what = {
        .collective = collective, .root = (uint32_t)root, .element = 1, .count = count};
    if (kind->rooted)
        check_root(g, call, root);
    size_t bytes = reduces ? check_op(g, call, op, count) : check_total(g, call, count, 1);
    for (int i = 0; i < kind->pieces; i++)
        bytes = check_total(g, call, bytes, g->size);
    if (reduces) {
        op_of(op, &how);
        what.element = how.element;
        what.op = &how;
    }
    in = group_buffer(kind->in, me == root, in, call, "in", bytes);
    out = group_buffer(kind->out, me == root, out, call, kind->out_name, bytes);
    return go(csp, g, call, me, &what, reduces && in == out ? NULL : in, out);
}

MLT_EXPORT csp_status csp_group_barrier(csp_group *group, int me)
{
    return group_run(MLT_COLL_BARRIER, group, me, NULL, NULL, 0, NULL, 0);
}

MLT_EXPORT csp_status csp_group_bcast(csp_group *group, int me, void *data, size_t bytes, int root)
{
    return group_run(MLT_COLL_BCAST, group, me, NULL, data, bytes, NULL, root);
}

MLT_EXPORT csp_status csp_group_reduce(csp_group *group, int me, const void *in, void *out,
                                       size_t count, const csp_op *op, int root)
{
    return group_run(MLT_COLL_REDUCE, group, me, in, out, count, op, root);
}

MLT_EXPORT csp_status csp_group_allreduce(csp_group *group, int me, const void *in, void *out,
                                          size_t count, const csp_op *op)
{
    return group_run(MLT_COLL_ALLREDUCE, group, me, in, out, count, op, 0);
}

MLT_EXPORT csp_status csp_group_gather(csp_group *group, int me, const void *in, void *out,
                                       size_t bytes, int root)
{
    return group_run(MLT_COLL_GATHER, group, me, in, out, bytes, NULL, root);
}

MLT_EXPORT csp_status csp_group_allgather(csp_group *group, int me, const void *in, void *out,
                                          size_t bytes)
{
    return group_run(MLT_COLL_ALLGATHER, group, me, in, out, bytes, NULL, 0);
}

MLT_EXPORT csp_status csp_group_scatter(csp_group *group, int me, const void *in, void *out,
                                        size_t bytes, int root)
{
    return group_run(MLT_COLL_SCATTER, group, me, in, out, bytes, NULL, root);
}

MLT_EXPORT csp_status csp_group_alltoall(csp_group *group, int me, const void *in, void *out,
                                         size_t bytes)
{
    return group_run(MLT_COLL_ALLTOALL, group, me, in, out, bytes, NULL, 0);
}
